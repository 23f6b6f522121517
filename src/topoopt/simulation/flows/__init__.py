"""Flows on links: the form of communication tasks in every simulator, and the links they use."""
