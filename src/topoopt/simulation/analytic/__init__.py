"""The analytic simulator, and the state of a run of a task graph between two events."""
