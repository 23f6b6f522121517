"""How a search tells what it is doing."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
