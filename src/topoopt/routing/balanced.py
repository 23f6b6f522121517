"""Balanced routes: the weights of candidate paths shifted so that the fullest link of a job is less full."""

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.errors import InvalidInput
from topoopt.routing.coin_change import ranges
from topoopt.routing.pair_links import TurnedRoutes, steps_of_paths
from topoopt.routing.path_weights_kernel import Options, shift_weights
from topoopt.routing.routes import PathArrays, Routes, path_arrays, paths_of_pair, paths_of_rows, used_paths
from topoopt.topologies import LinkOrbits, Topology, places_of

# HiGHS takes 0.5 s for 3,000 paths on 512 links; the kernel 0.02 s, for an answer at most 0.5 % worse.
_LARGEST_LP = 1_500
_SHARPNESS = 10.0, 2000.0
# Pairs above which their paths are kept beside the weights, 50 bytes a path of some links.
_PAIRS_TO_KEEP = 1 << 16
# Sweeps get fewer where there is much to look at: 5 s of CPU time or so.
_MOST_SWEEPS, _LEAST_SWEEPS, _STEPS_LOOKED_AT = 120, 16, 400_000_000
# Weights are kept as written into a plan file, so that a plan read back loads links alike.
_DIGITS = 6


@dataclass(frozen=True, eq=False)
class BalancedRoutes:
    """Candidate routes with weights of its own for some pairs; all others keep theirs.

    Attributes
    ----------
    candidates : Routes
        Gives the paths.
    src, dst : int64 arrays, shape (pairs,)
        The pairs with weights of their own, in order of (src, dst).
    weight_first : int64 array, shape (pairs+1,)
    weight : float64 array, shape (weights,)
        One for each path of the candidates, in their order; sums to 1 over a pair. Zero drops a path.
    known : PathArrays, optional
        The paths of these pairs that have weight, in their order, where they are kept: finding them again takes longer
        than all else where pairs are many.
    """

    topology: Topology
    candidates: Routes
    src: Ints
    dst: Ints
    weight_first: Ints
    weight: Floats
    known: PathArrays | None = field(default=None, repr=False)
    method: ClassVar[str] = "balanced"

    def __post_init__(self) -> None:
        key = self._key(self.src, self.dst)
        if (np.diff(key) <= 0).any():
            raise InvalidInput("routes: balanced pairs must be in order of (src, dst), each once")

    paths = paths_of_pair

    def path_arrays(self, src: Ints, dst: Ints) -> PathArrays:
        """Return the paths of many pairs."""
        row = places_of(self._key(src, dst), self._key(self.src, self.dst))
        if self.known is not None and (row >= 0).all():
            return paths_of_rows(self.known, row)
        paths = path_arrays(self.candidates, src, dst)
        own = np.flatnonzero(row >= 0)
        begin, end = self.weight_first[row[own]], self.weight_first[row[own] + 1]
        counts = np.diff(paths.path_first)[own]
        for wrong in np.flatnonzero(end - begin != counts)[:1]:
            raise InvalidInput(
                f"routes: pair {src[own[wrong]]}->{dst[own[wrong]]}: "
                f"{end[wrong] - begin[wrong]} weights for {counts[wrong]} candidate paths"
            )
        weight = paths.weight.copy()
        weight[ranges(paths.path_first[own], paths.path_first[own + 1])] = self.weight[ranges(begin, end)]
        return used_paths(replace(paths, weight=weight))

    def _key(self, src: Ints, dst: Ints) -> Ints:
        return src * self.topology.nodes + dst


def balanced_routes(
    topology: Topology,
    demand: Floats,
    candidates: Routes,
    background_bytes: Floats | None = None,
    step: int | None = None,
) -> Routes:
    """Return the candidates with weights that lower the highest link load of a demand.

    Small cases (up to 1,500 candidate paths) are solved exactly over these paths by HiGHS, larger ones by
    shifting weight along exponential prices, measured within 0.5 % of that. The answer is never worse
    than the candidates as they are: if nothing is gained they are returned themselves.

    Parameters
    ----------
    demand : float64 array, shape (servers, servers)
        Bytes of each ordered pair; the diagonal is ignored.
    candidates : Routes
        Several paths a pair, e.g. coin change or k-shortest. ECMP works too, with the paths it lists.
    background_bytes : float64 array, shape (links,), optional
        Bytes that cross each link anyway, e.g. those of AllReduce rings.
    step : int, optional
        Rotation in servers under which links and demand are the same (:func:`topoopt.topologies.turn_of`). Then only
        the pairs of the first ``step`` servers are considered, and the others' routes are rotated copies: the highest
        load is convex in the weights, so that the best of all routes are among them.

    Raises
    ------
    InvalidInput
        If an array has the wrong shape.
    NoRoute
        If a pair with demand cannot be reached.
    """
    n, links = topology.servers, len(topology)
    before = np.zeros(links) if background_bytes is None else np.asarray(background_bytes, np.float64)
    if demand.shape != (n, n) or before.shape != (links,):
        raise InvalidInput(
            f"balanced routes: expected demand {n}×{n} and {links} background numbers, "
            f"got {demand.shape} and {before.shape}"
        )
    orbits = None if step in (None, n) else TurnedRoutes(topology, candidates, step or n).orbits
    sources = n if orbits is None else orbits.step
    src, dst = np.nonzero(demand[:sources] * (1 - np.eye(sources, n)))
    if not len(src):
        return candidates
    case = _case(topology, path_arrays(candidates, src, dst), demand[src, dst], before, orbits)
    weight, old = _rounded(case.paths.path_first, _lowest_weights(case)), case.paths.weight
    if case.highest(weight) >= case.highest(old):
        return candidates
    size = np.diff(case.paths.path_first)
    pair = np.repeat(np.arange(len(src)), size)
    keeps = len(src) > _PAIRS_TO_KEEP
    moved = np.full(len(src), keeps) | (np.bincount(pair, np.abs(weight - old)) > 0)
    first = np.concatenate(([0], np.cumsum(size[moved])))
    known = used_paths(replace(case.paths, weight=weight)) if keeps else None
    own = BalancedRoutes(topology, candidates, src[moved], dst[moved], first, weight[moved[pair]], known)
    return own if orbits is None else TurnedRoutes(topology, own, orbits.step)


@dataclass(frozen=True, slots=True)
class _Case:
    """Paths of the sending pairs, and their shares, in units of the largest pair's bytes and the fastest link.

    ``before`` crosses each link anyway.
    """

    paths: PathArrays
    steps: Options
    before: Floats

    def highest(self, weight: Floats) -> float:
        """Return the highest load of a link under other weights of the paths."""
        return self.shifted(weight.copy(), np.zeros(0))

    def shifted(self, weight: Floats, sharpness: Floats) -> float:
        """Shift the weights, a sweep for each sharpness; return the highest load."""
        load, best = self.before.copy(), np.empty(len(weight))
        price, best_load = np.empty((2, len(load)))
        return float(shift_weights(self.steps, None, load, weight, sharpness, price, best_load, best))


def _case(
    topology: Topology, paths: PathArrays, pair_bytes: Floats, before: Floats, orbits: LinkOrbits | None
) -> _Case:
    """Return the case; with orbits its links are those of all turns together, each as full as the fullest of them.

    The load of a path on one link of an orbit is that of the rotated paths on the others.
    """
    unit = float(pair_bytes.max())
    speed = topology.bandwidth_bps / topology.bandwidth_bps.max()
    step_first, link = steps_of_paths(topology, paths)
    if orbits is not None:
        link = orbits.code[link] % np.int32(orbits.orbits)
        speed = speed[orbits.link[: orbits.orbits]]
        before = before[orbits.link].reshape(-1, orbits.orbits).max(axis=0)
    return _Case(paths, Options(paths.path_first, step_first, link, pair_bytes / unit, speed), before / unit)


def _lowest_weights(case: _Case) -> Floats:
    steps, paths = case.steps, len(case.paths.weight)
    if paths <= _LARGEST_LP:
        pair_of = np.repeat(np.arange(len(steps.amount)), np.diff(steps.option_first))
        path_of = np.repeat(np.arange(paths), np.diff(steps.entry_first))
        amount = steps.amount[pair_of[path_of]]
        return _path_lp(pair_of, path_of, steps.resource, amount, steps.capacity, case.before)
    sweeps = int(np.clip(_STEPS_LOOKED_AT / max(len(steps.resource), 1), _LEAST_SWEEPS, _MOST_SWEEPS))
    weight = case.paths.weight.copy()
    case.shifted(weight, np.geomspace(*_SHARPNESS, sweeps).round(9))
    return weight


def _path_lp(
    pair_of: Ints, path_of: Ints, link: Ints32, amount: Floats, speed: Floats, before: Floats
) -> Floats:
    """Return the weights of the paths that minimise the highest load, exactly."""
    from scipy import sparse  # noqa: PLC0415 - slow to import
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to import

    paths, links, pairs = len(pair_of), len(speed), int(pair_of[-1]) + 1
    # Column ``paths`` is the highest load.
    row = np.concatenate((link, np.arange(links)))
    column = np.concatenate((path_of, np.full(links, paths)))
    # The stubs of linprog know no sparse arrays.
    busy: Any = sparse.csr_array((np.concatenate((amount, -speed)), (row, column)), shape=(links, paths + 1))
    whole: Any = sparse.csr_array((np.ones(paths), (pair_of, np.arange(paths))), shape=(pairs, paths + 1))
    cost = np.zeros(paths + 1)
    cost[-1] = 1.0
    optimum = linprog(cost, busy, -before, whole, np.ones(pairs), method="highs")
    assert optimum.status == 0, optimum.message
    return np.asarray(optimum.x, np.float64)[:paths]


def _rounded(first: Ints, weight: Floats) -> Floats:
    """Round to the digits of a plan file; the heaviest path of a pair takes the remainder."""
    rounded = np.asarray(np.round(np.maximum(weight, 0.0), _DIGITS), np.float64)
    pair = np.repeat(np.arange(len(first) - 1), np.diff(first))
    heaviest = np.lexsort((-rounded, pair))[first[:-1]]
    rounded[heaviest] += 1.0 - np.bincount(pair, rounded)
    return np.asarray(np.round(rounded, _DIGITS), np.float64)
