"""Wirings that long searches found, for usual numbers of servers and interfaces: recipes, and how good each one is.

The rows are made by ``python -m benchmarks.known_wirings``. Cycles are divided by ``|``; a cycle ``in order`` visits
0, 1, 2, …, and one voltage stands for all of a cycle.
"""

from collections.abc import Mapping
from functools import cache

from topoopt.schema.files import packaged_rows
from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.families.lifted import lifted_of
from topoopt.topologies.wiring_hops import wiring_hops
from topoopt.topologies.wirings.judged import JudgedWiring

IN_ORDER = "in order"


def known_wirings(servers: int, degree: int, links: str = "duplex") -> tuple[DirectWiring, ...]:
    """Return what is known to be good: by hops, and then by how even a uniform all-to-all loads the links.

    Empty for numbers that are not usual. The last may have more hops than the first: no one is best in everything.

    Examples
    --------
    >>> [wiring.group for wiring in known_wirings(129, 4)]
    []
    """
    return tuple(_wiring(row) for row in _rows().get((servers, degree, links), ()))


def known_judged(servers: int, degree: int, links: str = "duplex") -> tuple[JudgedWiring, ...]:
    """Return the same with the figures that were found when they were searched; only hops are counted again."""
    found = zip(known_wirings(servers, degree, links), _rows().get((servers, degree, links), ()), strict=True)
    return tuple(
        JudgedWiring(
            wiring, wiring_hops(wiring), _figure(row["balanced_hops"]), _figure(row["broadcast_messages"])
        )
        for wiring, row in found
    )


@cache
def _rows() -> Mapping[tuple[int, int, str], tuple[dict[str, str], ...]]:
    """Return all rows by servers, degree and kind of link."""
    found: dict[tuple[int, int, str], tuple[dict[str, str], ...]] = {}
    for row in packaged_rows("topologies.wirings", "known_wirings"):
        key = int(row["servers"]), int(row["degree"]), row["links"]
        found[key] = (*found.get(key, ()), row)
    return found


def _wiring(row: Mapping[str, str]) -> DirectWiring:
    servers = int(row["servers"])
    orbits = servers // int(row["group"])
    orders = [
        list(range(orbits)) if cycle == IN_ORDER else _numbers(cycle) for cycle in row["orbits"].split("|")
    ]
    voltages = [_numbers(cycle) for cycle in row["voltages"].split("|")]
    spread = [steps * orbits if len(steps) == 1 else steps for steps in voltages]
    return lifted_of(servers, orders, spread, row["links"], _numbers(row["matching"]))


def _numbers(cell: str) -> list[int]:
    return [int(number) for number in cell.split()]


def _figure(cell: str) -> float | None:
    return float(cell) if cell else None
