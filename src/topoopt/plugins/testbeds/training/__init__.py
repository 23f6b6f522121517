"""Training on a testbed: a process on each server, what it does of an iteration, and what was measured."""
