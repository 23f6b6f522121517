"""Strategy search, alternating optimization, stopping rules and bounds."""
