"""Schedulers that allocate workers to jobs: one per file, in one table."""
