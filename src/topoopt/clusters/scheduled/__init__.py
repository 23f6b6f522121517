"""The course of a cluster whose workers a scheduler gives out: allocations, placements, time shifts, stretches."""
