"""How a verb tells how far it is."""

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is (0: nobody knows)."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
