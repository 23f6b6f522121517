"""The words of interleaving: the link, how finely it is looked at, and what looks."""

from typing import Annotated, TypedDict

from topoopt.schema.words.word import Amount, Word


class InterleaveWords(TypedDict, total=False):
    """All words that :func:`topoopt.interleave` takes beside the jobs and the capacity of their link."""

    step: Annotated[float, Word("DEG", 5.0)]
    """Degrees between two angles of the circle, at most."""
    solver: Annotated[str, Word("auto|fft|grid|descent|milp", "auto")]
    """What finds the rotations. auto: fft for two jobs, grid while it takes seconds, milp, descent for many."""
    quantum: Annotated[Amount, Word("TIME", "1ms")]
    """Iteration times are rounded to multiples of this, for a common multiple of them to be a short one."""
    seed: Annotated[int, Word("N", 0)]
    """Of the starts of descent."""
