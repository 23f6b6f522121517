"""Models that are served on servers of a cluster: what they send, for how long, and how training slows that down."""
