"""Constants of the law of steps: those that are shipped, those fitted to a few rows of one's own, and their errors."""
