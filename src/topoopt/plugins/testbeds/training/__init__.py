"""Training on a testbed: a process on each server, its part of an iteration, and the measurements."""
