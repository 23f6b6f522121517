"""How a budget is spent on lifted unions of cycles: some groups and seeds, and then the best of them longer."""

from collections.abc import Iterator

from topoopt.topologies.direct_wiring import DirectWiring
from topoopt.topologies.families.lifted import LiftShape, Tick, lifted
from topoopt.topologies.moore import moore_average_hops
from topoopt.topologies.wiring_hops import wiring_hops
from topoopt.topologies.wirings.request import WiringRequest

_MOST_ORBITS = 64  # one word of bits a server
_LARGEST_PLAIN = 256  # servers: without symmetry a step costs more than it gains above
_MOST_GROUPS = 6
_FIRST_SHARE = 0.3
_LATER = ((0, 0.2), (0, 0.2), (1, 0.15), (2, 0.15))
"""Place of a group by its first trial, and the share of the budget of its next one."""


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
    """Return divisors of the servers: those that leave about 8 orbits first, or 16 where servers are many."""
    servers = request.servers
    if request.ring_group or (request.links == "duplex" and request.degree % 2):
        return [1]
    fits = [servers // m for m in range(2, min(_MOST_ORBITS, servers // 2) + 1) if servers % m == 0]
    wanted = 8 if servers <= 512 else 16 if servers <= 8192 else 64
    fits.sort(key=lambda group: abs(servers // group - wanted))
    plain = [1] if servers <= _LARGEST_PLAIN or not fits else []
    return [*fits[: _MOST_GROUPS - len(plain)], *plain]
