"""Lengths of prompts and answers: all the same, uniform between two, or lognormal by mean and spread."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput, shown

FORM = "TOKENS|uniform:LOW:HIGH|lognormal:MEAN:SPREAD"
MOST_TOKENS = 10_000_000


@dataclass(frozen=True, slots=True)
class Lengths:
    """How many tokens prompts, or answers, have.

    Attributes
    ----------
    mean : float
    low, high : int
        Of the uniform ones; else 0.
    spread : float
        Standard deviation over mean of the lognormal ones; else 0.
    """

    mean: float
    low: int = 0
    high: int = 0
    spread: float = 0.0

    def draw(self, count: int, rng: np.random.Generator) -> Ints:
        """Return so many lengths, at least 1 each."""
        if self.high:
            return rng.integers(self.low, self.high, count, np.int64, endpoint=True)
        if not self.spread:
            return np.full(count, round(self.mean), np.int64)
        variance = np.log1p(self.spread**2)
        drawn = rng.lognormal(np.log(self.mean) - variance / 2, np.sqrt(variance), count)
        return np.clip(np.rint(drawn), 1, MOST_TOKENS).astype(np.int64)


def parse_lengths(text: str | float, word: str) -> Lengths:
    """Return the lengths that a word says.

    Raises
    ------
    InvalidInput
        With what is allowed.

    Examples
    --------
    >>> parse_lengths("1024", "isl").mean, parse_lengths("uniform:512:1536", "isl").mean
    (1024.0, 1024.0)
    >>> parse_lengths("lognormal:256:0.5", "osl")
    Lengths(mean=256.0, low=0, high=0, spread=0.5)
    """
    kind, *numbers = str(text).split(":")
    try:
        if not numbers:
            return Lengths(_within(float(kind), text, word))
        first, second = map(float, numbers)
    except ValueError:
        raise _wrong(text, word) from None
    if kind == "uniform" and first <= second:
        low, high = (round(_within(number, text, word)) for number in (first, second))
        return Lengths((low + high) / 2, low, high)
    if kind == "lognormal" and 0 < second <= 100:
        return Lengths(_within(first, text, word), spread=second)
    raise _wrong(text, word)


def _within(number: float, text: str | float, word: str) -> float:
    if not 1 <= number <= MOST_TOKENS:
        raise _wrong(text, word)
    return number


def _wrong(text: str | float, word: str) -> InvalidInput:
    return InvalidInput(f"{word}: expected {FORM} of 1 to {MOST_TOKENS:,} tokens, got {shown(text)}")
