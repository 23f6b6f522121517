"""Measured runs: reading them, predicting them, and fitting constants to them."""
