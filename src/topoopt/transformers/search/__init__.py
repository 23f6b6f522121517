"""All configurations that are valid, and the fastest of those that fit."""
