"""The noun ResponseLengths: how many tokens the answers of a step have, from a law or from a file."""

import math
import os
from dataclasses import dataclass

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import LARGEST
from topoopt.schema.files import read_text

USUAL_SPREAD = 0.9
"""Standard deviation of the logarithm of lengths where nobody says; chosen on measured steps, see ``constants.csv``."""

ALWAYS_LONGEST = 0.999
"""A mean above this share of the limit: nearly every answer is cut off."""

MOST_ANSWERS = 2**20
"""Of a step: what is played one by one."""

GOLDEN = (math.sqrt(5) - 1) / 2


@dataclass(frozen=True, slots=True, eq=False)
class ResponseLengths:
    """Lengths of the answers of one step, the longest first.

    Attributes
    ----------
    tokens : array (samples,) of int, descending, at least 1
    """

    tokens: Ints

    def __post_init__(self) -> None:
        assert len(self.tokens) > 0
        assert self.tokens[-1] >= 1
        assert (np.diff(self.tokens) <= 0).all()

    @property
    def longest(self) -> int:
        """Tokens of the longest."""
        return int(self.tokens[0])

    @property
    def mean(self) -> float:
        """Tokens of an average one."""
        return float(self.tokens.mean())

    @property
    def spread(self) -> float:
        """Standard deviation over the mean."""
        return float(self.tokens.std()) / self.mean

    def of_replica(self, replicas: int) -> "ResponseLengths":
        """Return those of the replica that has the most to do when they are dealt out, the longest first."""
        return ResponseLengths(self.tokens[::replicas])

    def in_order_of_arrival(self) -> Ints:
        """Return them mixed, long and short, the same way each time: nobody knows a length beforehand."""
        places = np.argsort((np.arange(len(self.tokens)) * GOLDEN) % 1.0, kind="stable")
        return self.tokens[places]


def check_answers(answers: int) -> None:
    """Refuse more answers than can be played one by one.

    Raises
    ------
    InvalidInput
        With the largest number.
    """
    if answers > MOST_ANSWERS:
        raise InvalidInput(
            f"prompts: times samples is {answers:,} answers of a step; expected at most {MOST_ANSWERS:,}"
        )


def lognormal_lengths(
    samples: int, mean: float, maximum: int, spread: float = USUAL_SPREAD
) -> ResponseLengths:
    """Return the quantiles of a lognormal law whose answers are cut off at a limit.

    Parameters
    ----------
    mean
        Tokens of an average answer, those that are cut off included.
    spread
        Standard deviation of the logarithm before anything is cut off.

    Raises
    ------
    InvalidInput
        If the mean is not between 1 and the limit.

    Examples
    --------
    >>> found = lognormal_lengths(1000, 3154, 4096)
    >>> found.longest, round(found.mean / 3154, 2)
    (4096, 1.0)
    """
    check_answers(samples)
    if not 1 <= mean <= maximum:
        raise InvalidInput(f"mean_length: expected tokens from 1 to max_length {maximum}, got {mean:g}")
    if not 0 <= spread <= 5:
        raise InvalidInput(f"length_spread: expected a number from 0 to 5, got {spread:g}")
    if mean >= ALWAYS_LONGEST * maximum:
        return ResponseLengths(np.full(samples, maximum, np.int64))
    if spread == 0:
        return ResponseLengths(np.full(samples, round(mean), np.int64))
    center = brentq(
        lambda mu: _mean_cut_off(mu, spread, maximum) - mean, -1.0, math.log(maximum) + 10 * spread + 1
    )
    shares = (np.arange(samples, 0, -1) - 0.5) / samples
    tokens = np.exp(center + spread * ndtri(shares)).round().clip(1, maximum)
    return ResponseLengths(tokens.astype(np.int64))


def _mean_cut_off(center: float, spread: float, maximum: int) -> float:
    """Return the mean of min(X, maximum) of a lognormal X."""
    most = math.log(maximum)
    below = math.exp(center + spread * spread / 2) * float(ndtr((most - center) / spread - spread))
    return below + maximum * float(ndtr((center - most) / spread))


def read_lengths(path: str | os.PathLike[str], samples: int) -> ResponseLengths:
    """Return as many lengths as there are samples, spread evenly over those of a file: a number of tokens a line.

    Raises
    ------
    InvalidInput
        If the file cannot be read, is empty, or a line is no number of tokens.
    """
    check_answers(samples)
    place, found = os.fspath(path), []
    for number, line in enumerate(read_text(place).splitlines(), 1):
        text = line.strip()
        if not text or (number == 1 and not text[0].isdigit()):
            continue
        try:
            tokens = int(text)
        except ValueError:
            tokens = 0
        if not 1 <= tokens <= LARGEST:
            raise InvalidInput(
                f'{place}: line {number}: expected tokens of an answer, an integer >= 1, got "{text[:40]}"'
            )
        found.append(tokens)
    if not found:
        raise InvalidInput(f"{place}: has no lengths; write the tokens of an answer on each line")
    ordered = np.sort(np.asarray(found, np.int64))[::-1]
    places = ((np.arange(samples) + 0.5) * len(ordered) / samples).astype(np.int64)
    return ResponseLengths(np.ascontiguousarray(ordered[places]))
