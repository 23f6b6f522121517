"""A served model on every fabric: splits, wirings and pairings tried, priced, and confirmed by the simulator."""
