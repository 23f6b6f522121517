"""Counters of links read over time: what each link of a simulation had sent by when."""
