"""The search for the best wiring: all families that exist, judged, beside lifted unions of cycles.

Wirings found by long searches, for common numbers of servers and interfaces: recipes and figures.

The rows are made by ``python -m benchmarks.known_wirings``. Cycles are divided by `` ``; a cycle ``in order``
visits 0, 1, 2, …, and a single voltage applies to all of a cycle.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import Infeasible, InvalidInput, check_known, check_least
from topoopt.base.limits import finite
from topoopt.catalog import ClusterSpec
from topoopt.schema.files import packaged_rows
from topoopt.topologies.direct_wiring import DirectWiring, wiring_of_arcs
from topoopt.topologies.families.lifted import LiftShape, SearchInterrupted, Tick, lifted, lifted_of
from topoopt.topologies.families.regular import WIRING_FAMILIES
from topoopt.topologies.metrics import moore_average_hops, wiring_hops
from topoopt.topologies.wirings.answer import JudgedWiring, best_of, frontier, judged

BEST = "best"
LIFTED = "lifted"
OBJECTIVES = ("hops", "balanced")
"""Objectives to minimize: mean hops, or mean hops weighted by the fullest link of an all-to-all."""
_QUICK_S, _LONGER_QUICK_S, _FEW = 0.5, 1.0, 1000
_LONGEST_SEARCH_S = 86_400
_SEARCH_S, _LONGER_SEARCH_S, _REQUEST_MANY, _LARGE = 3.0, 10.0, 512, 8192


@dataclass(frozen=True, slots=True)
class WiringRequest:
    """Parameters of a search for a wiring.

    Attributes
    ----------
    family : str
        A name of :data:`FAMILY_NAMES`, or ``best`` of all.
    budget_s : float
        Seconds of search on one core, counted in work done; 0 chooses.
    ring_group : int
        Servers of a group, by number, that a factor of rings joins; 0 for none.
    """

    servers: int
    degree: int
    links: str = "duplex"
    family: str = BEST
    objective: str = "hops"
    seed: int = 0
    budget_s: float = 0.0
    ring_group: int = 0

    def __post_init__(self) -> None:
        ClusterSpec(self.servers, self.degree, 1e9, links=self.links)  # refuses what cannot be wired
        check_known("objective", self.objective, OBJECTIVES)
        if not 0 <= finite("budget", self.budget_s) <= _LONGEST_SEARCH_S:
            raise InvalidInput(
                f"budget: expected seconds >= 0, a day ({_LONGEST_SEARCH_S:,}) at most, got {self.budget_s:g}"
            )
        check_least(self, seed=0)
        if self.degree >= self.servers:
            raise InvalidInput(
                f"degree: {self.servers - 1} interfaces reach every other of {self.servers} servers, got "
                f"{self.degree}; ask for fewer, or for strides"
            )
        if self.ring_group and (
            self.links != "duplex" or self.degree < 4 or self.degree % 2 or not self.ring_group >= 3
            or self.servers % self.ring_group or self.servers < 2 * self.ring_group
        ):  # fmt: skip
            raise InvalidInput(
                f"ring_group: expected 3 or more servers, a divisor of {self.servers} below it, with duplex links and "
                f"an even degree from 4 on, got {self.ring_group} with {self.links} degree {self.degree}"
            )

    @property
    def search_s(self) -> float:
        """Seconds to spend on the search."""
        longer = (
            _REQUEST_MANY < self.servers <= _LARGE
        )  # above, judging what is found takes the rest of the time
        return self.budget_s or (_LONGER_SEARCH_S if longer else _SEARCH_S)


FAMILY_NAMES = tuple(sorted((*WIRING_FAMILIES, LIFTED)))
"""All families, that of the search among them."""
_FARTHEST = 4096  # servers more or fewer
_MORE_PORTS = 16
IN_ORDER = "in order"
_MOST_ORBITS = 64  # one word of bits a server
_LARGEST_PLAIN = 256  # servers: without symmetry a step costs more than it gains above
_MOST_GROUPS = 6
_FIRST_SHARE = 0.3
_LATER = ((0, 0.2), (0, 0.2), (1, 0.15), (2, 0.15))
"""Place of a group by its first trial, and the share of the budget of its next one."""
_DRAWS, _MANY = 8, 512  # matchings to choose from; servers from which on one is enough
_LARGEST_UNASKED = 8192
"""Servers: of more, families without symmetry are considered only on request."""


@dataclass(frozen=True, eq=False)
class FoundWirings:
    """Result of a search.

    Attributes
    ----------
    chosen : JudgedWiring
        The best by the objective.
    frontier : tuple of JudgedWiring
        Wirings of all families that are best in some figure, by hops.
    looked_at : tuple of str
        Names of the families.
    interrupted : bool
        Whether it was ended by a Ctrl-C.
    known : int
        Wirings that were known already, of longer searches.
    search_s : float
        Seconds of search that there were, on one core; 0 where the known ones were enough.
    """

    request: WiringRequest
    chosen: JudgedWiring
    frontier: tuple[JudgedWiring, ...]
    looked_at: tuple[str, ...]
    interrupted: bool = False
    known: int = 0
    search_s: float = 0.0

    @property
    def moore_average_hops(self) -> float:
        """Moore bound: no wiring with these interfaces has less."""
        return moore_average_hops(self.request.servers, self.request.degree, self.request.links)


def search_wirings(
    request: WiringRequest, on_progress: Progress = silent, word: str = "family"
) -> FoundWirings:
    """Return the best wiring found, and those best in another figure; ``word`` is used in messages.

    Seed 0 begins with the known results of longer searches, and searches on only with an explicit budget; another
    seed begins from scratch. Equal requests give equal answers; an interrupted search gives the best so far, if
    there is one.

    Raises
    ------
    InvalidInput
        For an unknown family.
    Infeasible
        If the requested family does not exist; with the nearest servers and interfaces.
    """
    asked = _even(request) if request.family in (BEST, LIFTED) else request
    names = families_of(asked, word) if not request.ring_group else (LIFTED,)
    known = _known(asked, names) if asked == request else ()
    searches = LIFTED in names and not _is_enough(request, known)
    rows = list(known)
    interrupted = False
    try:
        for wiring in _wirings(asked, names, searches, on_progress):
            rows.append(judged(_whole(wiring, request)))
    except SearchInterrupted as stopped:
        rows.append(judged(_whole(stopped.wiring, request)))
        interrupted = True
    except KeyboardInterrupt:
        if not rows:
            raise
        interrupted = True
    chosen, best = best_of(rows, request.objective), frontier(rows)
    search_s = request.search_s if searches else 0.0
    return FoundWirings(request, chosen, best, names, interrupted, len(known), search_s)


def _known(request: WiringRequest, names: tuple[str, ...]) -> tuple[JudgedWiring, ...]:
    """Return the known wirings to start from; other seeds are for users who want another wiring."""
    if LIFTED not in names or request.seed or request.ring_group:
        return ()
    return known_judged(request.servers, request.degree, request.links)


def _is_enough(request: WiringRequest, known: tuple[JudgedWiring, ...]) -> bool:
    """Return whether a search is pointless: the known wiring took longer than the default budget, or is optimal."""
    if not known or not request.budget_s:
        return bool(known)
    least = moore_average_hops(request.servers, request.degree, request.links)
    place = 0 if request.objective == "hops" else 2
    return min(row.figures[place] for row in known) <= least + 1e-12


def _even(request: WiringRequest) -> WiringRequest:
    """Return the request without the odd interface of an odd number of servers, which one of them cannot use."""
    idle = request.links == "duplex" and request.degree % 2 == 1 and request.servers % 2 == 1
    return replace(request, degree=request.degree - 1) if idle else request


def _whole(wiring: DirectWiring, request: WiringRequest) -> DirectWiring:
    return wiring if wiring.degree == request.degree else with_odd_interface(wiring, request.seed)


def _wirings(
    request: WiringRequest, names: tuple[str, ...], searches: bool, on_progress: Progress
) -> Iterator[DirectWiring]:
    for index, name in enumerate(names):
        on_progress(f"looking at {name} wirings", index, len(names))
        if name == LIFTED or (request.servers > _LARGEST_UNASKED and request.family == BEST):
            continue
        yield from WIRING_FAMILIES[name].build(request.servers, request.degree, request.links)
    if searches:
        spent_s = 0.0

        def tick(more_s: float) -> None:
            nonlocal spent_s
            spent_s += more_s
            done = min(int(100 * spent_s / request.search_s), 100)
            on_progress("searching unions of Hamiltonian cycles", done, 100)

        yield from lifted_trials(request, tick)


def with_odd_interface(wiring: DirectWiring, seed: int) -> DirectWiring:
    """Return the wiring with one interface more of every server but one, joined at random; of some the fewest hops.

    Servers and interfaces are both odd, so that there is one end too many: one interface of one server is idle. The
    matching has no symmetry, but all rings stay.
    """
    rng = np.random.default_rng((seed, wiring.servers, wiring.degree))
    src, dst = wiring.arcs
    drawn = []
    for _ in range(_DRAWS if wiring.servers < _MANY else 1):
        order = rng.permutation(wiring.servers)[: wiring.servers - 1]
        a, b = order[::2], order[1::2]
        arcs = np.concatenate([src, a, b]), np.concatenate([dst, b, a])
        recipe = {**wiring.recipe, "matching": np.stack([a, b], axis=1).tolist()}
        drawn.append(
            wiring_of_arcs(wiring.family, wiring.links, wiring.servers, wiring.degree + 1, arcs, recipe)
        )
    best = min(drawn, key=lambda one: wiring_hops(one).average_hops)
    return replace(best, rings=wiring.rings)


def lifted_trials(request: WiringRequest, tick: Tick) -> Iterator[DirectWiring]:
    """Yield the wiring of each trial; end early where Moore's bound is reached."""
    least = moore_average_hops(request.servers, request.degree, request.links)
    shapes = tuple(
        LiftShape(request.servers, request.degree, request.links, group, request.ring_group)
        for group in _groups(request)
    )
    found: list[tuple[float, int, LiftShape]] = []
    for index, shape in enumerate(shapes):
        wiring = lifted(shape, request.seed, request.search_s * _FIRST_SHARE / len(shapes), tick)
        hops = wiring_hops(wiring).average_hops
        found.append((hops, index, shape))
        yield wiring
        if hops <= least + 1e-12:
            return
    ranked = sorted(found)
    for trial, (place, share) in enumerate(_LATER, start=1):
        shape = ranked[min(place, len(ranked) - 1)][2]
        wiring = lifted(shape, request.seed + trial, request.search_s * share, tick)
        yield wiring
        if wiring_hops(wiring).average_hops <= least + 1e-12:
            return


def _groups(request: WiringRequest) -> list[int]:
    """Return divisors of the servers: first those for about 8 orbits, or 16 for many servers."""
    servers = request.servers
    if request.ring_group or (request.links == "duplex" and request.degree % 2):
        return [1]
    fits = [servers // m for m in range(2, min(_MOST_ORBITS, servers // 2) + 1) if servers % m == 0]
    wanted = 8 if servers <= 512 else 16 if servers <= 8192 else 64
    fits.sort(key=lambda group: abs(servers // group - wanted))
    plain = [1] if servers <= _LARGEST_PLAIN or not fits else []
    return [*fits[: _MOST_GROUPS - len(plain)], *plain]


def known_wirings(servers: int, degree: int, links: str = "duplex") -> tuple[DirectWiring, ...]:
    """Return known good wirings: by hops, then by how evenly a uniform all-to-all loads the links.

    Empty for uncommon numbers. The last may have more hops than the first: no one is best in everything.

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


def quick_search_s(servers: int, degree: int) -> float:
    """Return seconds of search after which a lifted wiring has about 1 % more hops than after 10 s.

    Measured at 17 sizes of 20 to 3,000 servers with 3, 4, 6 and 8 interfaces, none of them common: at most 0.9 % more
    (2,003 servers of 4: 0.85 %; 998 of 3: 0.77 %; 331 of 4: 0.81 %), 0.4 % in the mean.
    """
    return _LONGER_QUICK_S if degree % 2 or servers > _FEW else _QUICK_S


def exists(family: str, servers: int, degree: int, links: str) -> bool:
    """Return whether the family has a wiring in which every server uses all its interfaces."""
    if family == LIFTED:
        odd = links == "duplex" and degree % 2
        return (3 if odd else 2 if links == "duplex" else 1) <= degree < servers and not (odd and servers % 2)
    return WIRING_FAMILIES[family].exists(servers, degree, links)


def families_of(request: WiringRequest, word: str = "family") -> tuple[str, ...]:
    """Return the families to search; ``word`` is the caller's term for a family in messages.

    Raises
    ------
    InvalidInput
        For an unknown name.
    Infeasible
        If the requested wiring does not exist, with the nearest numbers at which it does.
    """
    servers, degree, links = request.servers, request.degree, request.links
    if request.family == BEST:
        return tuple(family for family in FAMILY_NAMES if exists(family, servers, degree, links))
    check_known(word, request.family, (BEST, *FAMILY_NAMES))
    if exists(request.family, servers, degree, links):
        return (request.family,)
    near = [f"{n} servers of {d} interfaces" for n, d in (*_nearest(request),) or _other_in_both(request)]
    there = " and ".join(near) if near else f"none near; use {word}={LIFTED}"
    raise Infeasible(
        f"{word} {request.family}: there is none for {servers} servers of {degree} {links} interfaces; nearest: {there}"
    )


def _nearest(request: WiringRequest) -> Iterator[tuple[int, int]]:
    """Yield the nearest servers below and above for the degree, and the nearest degree for the servers."""
    family, servers, degree, links = request.family, request.servers, request.degree, request.links
    for way in (-1, 1):
        for more in range(1, _FARTHEST):
            if servers + way * more > 1 and exists(family, servers + way * more, degree, links):
                yield servers + way * more, degree
                break
    for more in range(1, _MORE_PORTS):
        for ports in (degree - more, degree + more):
            if ports > 0 and exists(family, servers, ports, links):
                yield servers, ports
                return


def _other_in_both(request: WiringRequest) -> Iterator[tuple[int, int]]:
    """Yield the nearest servers at the nearest degree with any, where both differ from those requested."""
    for more in range(1, _MORE_PORTS):
        for ports in (request.degree - more, request.degree + more):
            for other in _nearest(replace(request, degree=ports)) if 0 < ports < request.servers else ():
                if other[1] == ports:
                    yield other
                    return
