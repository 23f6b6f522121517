"""All valid configurations, and the fastest of those that fit."""
