"""Flows on links: what communication tasks become in every simulator, and which links they use."""
