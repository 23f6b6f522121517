"""From one wiring to the next with the fewest moved fibers, and in which order."""
