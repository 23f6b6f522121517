"""The noun Check: one thing that was proved of a plan or wiring, or where it fails."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

MOST_NAMED = 20
"""Failures of a check that are said with their place; of more it is said how many there are."""


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes
    ----------
    name : str
        Name in the table of checks.
    looked_at : str
        How many of what: ``1,728 cables``.
    failures : tuple of str
        The first of what is wrong, each with its place.
    failed : int
        How much is wrong.
    skipped : str
        Why it was not looked at; empty if it was.
    note : str
        What is to be known beside it.
    """

    name: str
    looked_at: str = ""
    failures: tuple[str, ...] = ()
    failed: int = 0
    skipped: str = ""
    note: str = ""

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong; also where nothing was looked at."""
        return not self.failed


def checked(name: str, looked_at: str, failures: Iterable[str], note: str = "") -> Check:
    """Return the check of these failures, all of which are counted and the first named."""
    wrong = iter(failures)
    named = tuple(islice(wrong, MOST_NAMED))
    return Check(name, looked_at, named, len(named) + sum(1 for _ in wrong), note=note)


def counted(count: int, one: str, many: str = "") -> str:
    """Return ``1 cable``, ``1,728 cables``."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
