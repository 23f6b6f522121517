"""Progress of a computation: the callable that a user passes as ``on_progress``."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with the stage, how much of it is done, and how much there is (0: unknown)."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
