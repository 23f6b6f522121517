"""Lower bounds of the iteration time of a strategy on any topology of these ports."""
