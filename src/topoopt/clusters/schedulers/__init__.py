"""Who gets how many workers: one scheduler a file, one table."""
