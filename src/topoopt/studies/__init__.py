"""Tables of plans: sweeps, choices, failures, and proofs of what is wired."""
