"""The analytic simulator, and where a run of a task graph stands between two events."""
