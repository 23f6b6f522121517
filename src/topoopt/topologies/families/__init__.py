"""The wirings that are known by name."""
