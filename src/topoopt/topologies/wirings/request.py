"""The noun WiringRequest: for which servers and interfaces a wiring is looked for, and by what it is judged."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from topoopt.base.errors import Infeasible, InvalidInput, check_known
from topoopt.base.limits import finite
from topoopt.catalog import ClusterSpec
from topoopt.topologies.families.regular import WIRING_FAMILIES

BEST = "best"
LIFTED = "lifted"
OBJECTIVES = ("hops", "balanced")
"""What the chosen wiring has least of: mean hops, or hops as the fullest link of an all-to-all has them."""
_QUICK_S, _LONGER_QUICK_S, _FEW = 0.5, 1.0, 1000
_LONGEST_SEARCH_S = 86_400
_SEARCH_S, _LONGER_SEARCH_S, _MANY, _LARGE = 3.0, 10.0, 512, 8192


@dataclass(frozen=True, slots=True)
class WiringRequest:
    """What is asked.

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
        if self.seed < 0:
            raise InvalidInput(f"seed: must be >= 0, got {self.seed}")
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
        longer = _MANY < self.servers <= _LARGE  # above, judging what is found takes the rest of the time
        return self.budget_s or (_LONGER_SEARCH_S if longer else _SEARCH_S)


def quick_search_s(servers: int, degree: int) -> float:
    """Return seconds of search after which a lifted wiring has about 1 % more hops than after 10 s.

    Measured at 17 sizes of 20 to 3,000 servers with 3, 4, 6 and 8 interfaces, none of them usual: at most 0.9 % more
    (2,003 servers of 4: 0.85 %; 998 of 3: 0.77 %; 331 of 4: 0.81 %), 0.4 % in the mean.
    """
    return _LONGER_QUICK_S if degree % 2 or servers > _FEW else _QUICK_S


FAMILY_NAMES = tuple(sorted((*WIRING_FAMILIES, LIFTED)))
"""All families, that of the search among them."""
_FARTHEST = 4096  # servers more or fewer
_MORE_PORTS = 16


def exists(family: str, servers: int, degree: int, links: str) -> bool:
    """Return whether the family has a wiring in which every server uses all its interfaces."""
    if family == LIFTED:
        odd = links == "duplex" and degree % 2
        return (3 if odd else 2 if links == "duplex" else 1) <= degree < servers and not (odd and servers % 2)
    return WIRING_FAMILIES[family].exists(servers, degree, links)


def families_of(request: WiringRequest, word: str = "family") -> tuple[str, ...]:
    """Return the families to look at; ``word`` is what the one who asks calls a family.

    Raises
    ------
    InvalidInput
        For an unknown name.
    Infeasible
        If the one that is asked for does not exist, with the nearest numbers at which it does.
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
    """Yield the nearest servers of the nearest degree at which there are any, both others than those asked for."""
    for more in range(1, _MORE_PORTS):
        for ports in (request.degree - more, request.degree + more):
            for other in _nearest(replace(request, degree=ports)) if 0 < ports < request.servers else ():
                if other[1] == ports:
                    yield other
                    return
