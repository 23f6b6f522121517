"""Studies over many plans: sweeps, choices, failures, and verification."""
