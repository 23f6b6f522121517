"""The table of collective algorithms: the files of ``collectives/algorithms``, and additions by plug-ins."""

import pkgutil
from functools import lru_cache
from importlib import import_module

import numpy as np

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.plugins import COLLECTIVES, with_added
from topoopt.collectives import algorithms
from topoopt.collectives.algorithms.ring import RING_MODELS
from topoopt.collectives.schedule import MOST_RANKS, Algorithm, Moves, Schedule, merged, pipelined
from topoopt.topologies import Topology

_MODULES = (
    import_module(f"{algorithms.__name__}.{one.name}") for one in pkgutil.iter_modules(algorithms.__path__)
)
_OWN = {module.__name__.rpartition(".")[2].replace("_", "-"): module.ALGORITHM for module in _MODULES}
_FOUND, _ERRORS = with_added(_OWN, COLLECTIVES, Algorithm)
_SORTED = sorted(_FOUND.items(), key=lambda item: (item[1].order, item[0]))
ALGORITHMS = {name: one for name, one in _SORTED if one.schedules}
"""Algorithms that work for any number of ranks."""
ON_WIRINGS = {name: one.on_links for name, one in _SORTED if one.on_links is not None}
"""AllReduces that are made for the links among a group of servers; see :attr:`Algorithm.on_links`."""
QUICK_ON_WIRINGS = tuple(name for name, one in _SORTED if one.on_links is not None and one.compared)
"""Those of :data:`ON_WIRINGS` that ``auto`` compares."""
COLLECTIVE_ALIASES = {alias: name for name, one in _SORTED for alias in one.aliases}
PIPELINES = (1, 2, 4, 8)
"""Parts of a message that follow each other one step apart, such that uneven steps fill each other's gaps."""
RING = "ring"
"""Algorithm that every simulator models as a whole, and the default of a collective."""
QUICKEST = "auto"
"""Name of the choice by closed form among the algorithms."""
COLLECTIVE_NAMES = (*RING_MODELS, *ALGORITHMS, *ON_WIRINGS, QUICKEST)
"""All values of the collective option: a ring by one of its models, an algorithm, or the fastest."""


def collective_name(text: str, kind: str = "collective") -> str:
    """Return the name in :data:`COLLECTIVE_NAMES` for a name or an alias.

    Raises
    ------
    InvalidInput
        If it is neither, or that of a plug-in that cannot be used.

    Examples
    --------
    >>> collective_name("dbt"), collective_name("auto")
    ('tree', 'auto')
    """
    name = COLLECTIVE_ALIASES.get(text, text)
    if name in _ERRORS:
        raise _ERRORS[name]
    check_known(kind, name, COLLECTIVE_NAMES)
    return name


@lru_cache(maxsize=64)
def rank_moves(algorithm: str, ranks: int) -> tuple[Moves, ...]:
    """Return the transfers between ranks of each schedule of an algorithm.

    Raises
    ------
    InvalidInput
        For more than :data:`MOST_RANKS` ranks.
    """
    if ranks > MOST_RANKS:
        raise InvalidInput(
            f"collective: only a ring is simulated among more than {MOST_RANKS} servers, this has {ranks}"
        )
    return tuple(_between_ranks(make(ranks)) for make in ALGORITHMS[algorithm].schedules)


@lru_cache(maxsize=64)
def moves_on_links(algorithm: str, topology: Topology, members: tuple[int, ...]) -> tuple[Moves, ...]:
    """Return the transfers of an algorithm of :data:`ON_WIRINGS` between servers, in one part or several.

    None where the group's own links do not join it.
    """
    whole = ON_WIRINGS[algorithm](topology, members)
    if whole is None:
        return ()
    server = np.array(members, np.int64)
    once = merged(Moves(whole.step, server[whole.src], server[whole.dst], whole.count, whole.chunks))
    return tuple(pipelined(once, parts) for parts in PIPELINES)


def _between_ranks(schedule: Schedule) -> Moves:
    rows = [(step, send.src, send.dst) for step, sends in enumerate(schedule.steps) for send in sends]
    step, src, dst = np.array(rows, np.int64).T
    return merged(Moves(step, src, dst, np.ones(len(rows), np.int64), schedule.pieces))
