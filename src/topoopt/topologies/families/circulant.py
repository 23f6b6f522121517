"""The circulant family, built by TopologyFinder: every server has a link along the same strides."""

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np

from topoopt.base.arrays import Ints, Ints32
from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import DEFAULT_LATENCY_S
from topoopt.topologies.direct_wiring import DirectWiring, WiredRing
from topoopt.topologies.families.lifted_kernel import best_circulant
from topoopt.topologies.topology import Topology, check_numbers, topology_from_arrays

LINK_MODELS = ("duplex", "directed")


def circulant(
    servers: int,
    strides: Sequence[int],
    bandwidth_bps: float,
    latency_s: float = DEFAULT_LATENCY_S,
    links: str = "duplex",
) -> Topology:
    """Return the graph in which server i has a link to i + p for each stride p.

    In ``duplex`` mode every stride is a cable between i and i + p, so it is used as +p and as -p and
    takes two interfaces of a server, except p = n/2, which takes one. In ``directed`` mode a stride is a
    fiber one way and takes one interface. A repeated stride gives parallel links.

    Raises
    ------
    InvalidInput
        If a stride is a multiple of ``servers``, or there is none.

    Examples
    --------
    >>> circulant(12, (1, 5), 25e9).offsets
    (1, 5, 7, 11)
    """
    check_numbers("circulant", servers, 1, bandwidth_bps, latency_s)
    offsets = np.array(stride_offsets(servers, strides, links), np.int64)
    src = np.tile(np.arange(servers), len(offsets))
    dst = (src + np.repeat(offsets, servers)) % servers
    steps = tuple(np.unique(offsets).tolist())
    return topology_from_arrays("circulant", servers, src, dst, bandwidth_bps, latency_s, offsets=steps)


def stride_offsets(servers: int, strides: Sequence[int], links: str) -> list[int]:
    """Return the steps in 1..n-1 along which a server has a link out; repeats are parallel links.

    Examples
    --------
    >>> stride_offsets(12, (1, 6), "duplex"), stride_offsets(12, (1, 6), "directed")
    ([1, 11, 6], [1, 6])
    """
    check_known("links", links, LINK_MODELS)
    if not strides:
        raise InvalidInput("circulant: no stride given; give at least one, such as 1")
    offsets = []
    for stride in strides:
        if stride % servers == 0:
            raise InvalidInput(
                f"circulant: stride {stride} joins a server to itself; use 1..{servers - 1} for n={servers}"
            )
        if not 0 < stride < servers:
            raise InvalidInput(f"circulant: stride {stride} for {servers} servers; use 1..{servers - 1}")
        offsets.append(stride)
        if links == "duplex" and 2 * stride != servers:
            offsets.append(servers - stride)
    return offsets


def links_along(topology: Topology, steps: Sequence[int]) -> Ints:
    """Return the link along each step out of each server, shape (servers, steps); -1 where there is none."""
    src = np.arange(topology.servers)[:, None]
    return topology.link_ids(src, (src + np.array(steps, np.int64)) % topology.servers)


def circulant_offsets(topology: Topology) -> tuple[int, ...]:
    """Return the offsets of a topology that happens to be a circulant, otherwise an empty tuple.

    Every server must have equally many ports and equal bandwidth along each offset, and no switch exists.
    """
    servers = topology.servers
    if topology.nodes != servers or not len(topology):
        return ()
    step = (topology.dst.astype(np.int64) - topology.src) % servers
    order = np.argsort(step, kind="stable")
    offsets, counts = np.unique(step, return_counts=True)
    if (counts != servers).any():
        return ()
    runs = [values[order].reshape(-1, servers) for values in (topology.ports, topology.bandwidth_bps)]
    alike = all((run == run[:, :1]).all() for run in runs)
    return tuple(offsets.tolist()) if alike else ()


_VISITS = 20_000_000
"""Links that the search may look at, 0.1 s or so; for many servers, a few hundred for each."""
_VISITS_PER_SERVER = 500


def circulants_exist(servers: int, degree: int, links: str) -> bool:
    """Return whether there are enough different strides; an odd cable is the one halfway around."""
    if links == "directed":
        return 1 <= degree < servers
    return (2 if servers > 2 else 1) <= degree < servers and (degree % 2 == 0 or servers % 2 == 0)


def circulants(servers: int, degree: int, links: str) -> Iterator[DirectWiring]:
    """Yield the circulant of least diameter, and among those of least average hops, that was found.

    Strides need not be coprime to the servers: a connected one of two strides is two Hamiltonian cycles [1]_.

    References
    ----------
    .. [1] J.-C. Bermond, O. Favaron, M. Maheo, "Hamiltonian decomposition of Cayley graphs of degree 4", Journal of
       Combinatorial Theory B 46, 1989.
    """
    yield circulant_wiring(servers, best_of_all_strides(servers, degree, links), links)


def circulant_wiring(servers: int, strides: tuple[int, ...], links: str) -> DirectWiring:
    """Return the circulant; strides coprime to the servers are its rings."""
    offsets = np.array(stride_offsets(servers, strides, links), np.int64)
    rings = [
        WiredRing(np.arange(servers) * stride % servers)
        for stride in strides
        if math.gcd(stride, servers) == 1 and (links == "directed" or 2 * stride != servers)
    ]
    near = np.zeros((1, len(offsets)), np.int64)
    return DirectWiring(
        "circulant",
        links,
        servers,
        near,
        -offsets[None, :] % servers,
        {"strides": list(strides)},
        tuple(rings),
    )


@lru_cache(maxsize=1024)
def best_of_all_strides(servers: int, degree: int, links: str) -> tuple[int, ...]:
    """Return the strides, ascending.

    One stride is a divisor of the servers without loss of generality: multiplying all by a unit renumbers the
    servers. Sets of few are all tried; of more, strides are replaced one by one, from random starts.

    Examples
    --------
    >>> best_of_all_strides(12, 4, "duplex"), best_of_all_strides(16, 4, "duplex")
    ((2, 3), (1, 6))
    """
    search = _Search(servers, degree, links)
    if search.count:
        sets = search.everything()
        return search.found(search.all_of(sets) if sets is not None else search.descended())
    return search.found(np.empty(0, np.int32))


class _Search:
    def __init__(self, servers: int, degree: int, links: str) -> None:
        self.servers, self.duplex = servers, links == "duplex"
        self.also = [servers // 2] if self.duplex and degree % 2 else []
        self.count = degree // 2 if self.duplex else degree
        self.steps = np.arange(1, (servers + 1) // 2 if self.duplex else servers, dtype=np.int32)
        self.visits = max(_VISITS, _VISITS_PER_SERVER * servers)
        self.best: tuple[int, int] = (servers, servers * servers)

    def everything(self) -> Ints32 | None:
        """Return every set that has a divisor of the servers, None where these are too many."""
        divisors = [step for step in self.steps.tolist() if self.servers % step == 0]
        sets = len(divisors) * math.comb(len(self.steps) - 1, self.count - 1)
        if sets * self.servers * self.count > 4 * self.visits:
            return None
        rest = {
            tuple(sorted((divisor, *others)))
            for divisor in divisors
            for others in itertools.combinations(self.steps.tolist(), self.count - 1)
            if divisor not in others
        }
        return np.array(sorted(rest), np.int32)

    def all_of(self, sets: Ints32) -> Ints32:
        best: Ints32 = sets[max(self.better(sets), 0)]
        return best

    def descended(self) -> Ints32:
        """Return the best result of replacing one stride at a time, from repeated random starts."""
        rng = np.random.default_rng((self.servers, self.count))
        answer = np.array(self.steps[: self.count])
        self.better(answer[None, :])
        while self.visits > 0:
            here: Ints32 = rng.choice(self.steps, self.count, replace=False).astype(np.int32)
            before = self.best
            self.best = (self.servers, self.servers * self.servers)
            self.better(here[None, :])
            position = in_vain = 0
            while in_vain < self.count and self.visits > 0:
                others = np.setdiff1d(self.steps, here)
                if len(others) > 512:
                    others = rng.choice(others, 512, replace=False)
                moves = np.repeat(here[None, :], len(others), axis=0)
                moves[:, position] = others
                row = self.better(moves) if len(moves) else -1
                here, in_vain = (moves[row], 0) if row >= 0 else (here, in_vain + 1)
                position = (position + 1) % self.count
            if self.best < before:
                answer = here
            self.best = min(self.best, before)
        return answer

    def better(self, sets: Ints32) -> int:
        """Return the row of the best set that is better than any so far, -1 for none."""
        mirrored = [self.servers - sets] if self.duplex else []
        also = np.broadcast_to(np.array(self.also, np.int32), (len(sets), len(self.also)))
        offsets = np.ascontiguousarray(np.concatenate([sets, *mirrored, also], axis=1), np.int32)
        self.visits -= len(sets) * self.servers * offsets.shape[1] // 2
        met_by, queue = np.full((2, self.servers), -1, np.int32)
        row, diameter, total = best_circulant(offsets, *self.best, met_by, queue)
        if row >= 0:
            self.best = (diameter, total)
        return int(row)

    def found(self, strides: Ints32 | Ints) -> tuple[int, ...]:
        return (*sorted(strides.tolist()), *self.also)
