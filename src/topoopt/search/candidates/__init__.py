"""Candidates: a strategy on a network wired for it, simulated; wirings to try, and the gap to the bound."""
