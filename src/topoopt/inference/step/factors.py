"""Factors on a base of constants, and the constants that they make for a stack."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.inference.step.constants import Constants

CONSTANTS = tuple(one.name for one in fields(Constants))

FRACTIONS = (
    "dense_memory",
    "expert_memory",
    "cache_memory",
    "dense_compute",
    "expert_compute",
    "pair_compute",
    "link",
    "network",
)
"""Constants that are at most 1."""


@dataclass(frozen=True, slots=True)
class Factors:
    """Fitted constants.

    Attributes
    ----------
    base : array (constants,), logarithms for all
    names : list of (level, name), in the order of ``logs``
    logs : array (names, constants), logarithms of factors
    """

    base: Floats
    names: Sequence[tuple[str, str]]
    logs: Floats


def row_logs(here: Factors, members: Ints) -> Floats:
    """Return logarithms of constants, array (n, constants), of runs with these names."""
    if not members.shape[1]:
        return np.tile(here.base, (len(members), 1))
    return np.asarray(here.base + np.where(members[..., None] >= 0, here.logs[members], 0.0).sum(axis=1))


def constants_of_logs(logs: Floats) -> Constants:
    """Return columns of constants from logarithms, array (n, constants)."""
    columns = {name: np.exp(logs[:, place]) for place, name in enumerate(CONSTANTS)}
    return Constants(
        **{name: np.minimum(value, 1.0) if name in FRACTIONS else value for name, value in columns.items()}
    )


def members_of(names: Sequence[tuple[str, str]], rows: Sequence[Mapping[str, str]]) -> Ints:
    """Return which names runs have, array (n, levels); -1 for one that is not among them."""
    place = {name: index for index, name in enumerate(names)}
    return np.array([[place.get(one, -1) for one in row.items()] for row in rows], np.int64)
