"""One pool of strategies per job, on which every network, bandwidth, degree, wiring, seed and budget is evaluated.

A search on one network may miss a strategy that a search on another network finds: a plan with faster ports could
then be slower, and one switch slower than the cables that it replaces. So strategies are searched on networks that do
not depend on the question: switches of many bandwidths, with and without servers that relay, laid out by their ports in
a millisecond (:mod:`topoopt.search.port_estimate`). On each, shapes descend from data parallelism, one coordinate
after the other, and a chain of a fixed seed refines the best of them.
"""

from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.catalog import ClusterSpec
from topoopt.jobs import AUTO_BUCKET, Job, JobSettings, operators_of
from topoopt.search.options import LARGEST_FOR_ALL, MANY_STARTS, SearchOptions
from topoopt.search.port_estimate import PortNetwork, port_problem
from topoopt.search.proposals.mcmc import SearchProblem, busiest_server_s, evaluated_s, search_strategy
from topoopt.search.proposals.problem_tables import MAX_CHANNEL_DEGREE
from topoopt.search.starting_strategies import (
    DEGREES,
    LAYER_DIMS,
    Shape,
    fits,
    layers_of,
    plain_shape,
    split_layers,
    split_tables,
)
from topoopt.workloads import ParallelStrategy, data_parallel

SERVER_BPS = (25e9, 50e9, 100e9, 200e9, 400e9, 800e9, 1600e9)
"""Bandwidths per server of the switches."""
RELAYED_BPS, RELAYED_HOPS = (100e9, 400e9), 2.0
"""The same of networks on which servers relay, and the links that a byte takes there."""
MOST = 64
"""Strategies in a pool."""
SHARE, WORK = 3, 4_000_000
"""Proposals of each chain over those of the search, and the most of these times servers times operators."""
MANY = 64
"""Servers above which every second network is left out."""
LARGE = 256
"""Servers above which nothing is searched."""
SHARPNESS = 200.0
"""Inverse of the relative slowdown that a chain accepts with probability 1/e."""
NEXT_BEST = 4
"""Shapes of each network beside the best of its chain."""
HOPELESS = 1.2
"""Computation of a shape's busiest server over the best time so far above which its exchanges are not timed."""
KEPT = 16
"""Pools that are kept."""
_Made = tuple[
    ParallelStrategy, Ints, float
]  # of a shape: its configuration, and seconds of its busiest server


def strategy_pool(job: Job, options: SearchOptions) -> tuple[ParallelStrategy, ...]:
    """Return strategies that are good on some network, the best of each network first; none where few are wanted.

    It depends on the model, its batch, the accelerators, the number of servers and the budget.
    """
    if options.mode != "alternating" or options.starts != MANY_STARTS or not options.budget:
        return ()
    if job.work.kind != "operators":
        return ()
    if job.cluster.servers > LARGE:
        return _usual(job)
    settings: JobSettings = replace(job.settings, bucket_bytes=AUTO_BUCKET, collective="stepped")
    plain = replace(job, settings=settings)
    problems = [port_problem(plain, network) for network in _networks(job.cluster)]
    key = sha256(str(options.budget).encode())
    for problem in problems:
        for array in problem.arrays:
            key.update(np.asarray(array).tobytes())
    found = _KEPT.pop(key.digest(), None) or _searched(plain, problems, options.budget)
    _KEPT[key.digest()] = found  # the latest is at the end
    if len(_KEPT) > KEPT:
        del _KEPT[next(iter(_KEPT))]
    return tuple(row for row in found if fits(job, row))


_KEPT: dict[bytes, tuple[ParallelStrategy, ...]] = {}


def _networks(cluster: ClusterSpec) -> list[PortNetwork]:
    latency_s = cluster.link_latency_s
    switches = [PortNetwork(1, 1, bps, latency_s, 2) for bps in SERVER_BPS]
    relayed = [PortNetwork(1, 1, bps, latency_s, 1, RELAYED_HOPS, 1.0, 1.0) for bps in RELAYED_BPS]
    return [*switches, *relayed][:: 1 if cluster.servers <= MANY else 2]


def _usual(job: Job) -> tuple[ParallelStrategy, ...]:
    """Return tables in columns beside layers split alike; of very many servers only the columns."""
    servers, layers = job.cluster.servers, layers_of(job)
    plain = data_parallel(operators_of(job).graph, servers)
    tables = [split_tables(job, plain, k) for k in (1, *DEGREES, MAX_CHANNEL_DEGREE) if servers % k == 0]
    if servers > LARGEST_FOR_ALL:
        return tuple(dict.fromkeys(tables))
    degrees = [k for k in DEGREES if servers % k == 0]
    whole = [split_layers(job, row, k, dim, layers) for row in tables for k in degrees for dim in LAYER_DIMS]
    return tuple(row for row in dict.fromkeys((*tables, *whole)) if fits(job, row))


def _searched(job: Job, problems: Sequence[SearchProblem], budget: int) -> tuple[ParallelStrategy, ...]:
    """Return the pool: the best of every network in turn, until there are enough."""
    made: dict[Shape, _Made] = {}
    descents = [_Descent(job, problem, made) for problem in problems]
    shapes, found = [plain_shape(job)], list[ParallelStrategy]()
    for descent in descents:
        shapes += [descent.from_(shapes[0], -1), descent.from_(shapes[-1])]
    for descent in descents:
        descent.from_(min(shapes, key=descent.time_s))
        best, *others = sorted(descent.tried, key=descent.tried.__getitem__)
        found += list(dict.fromkeys(made[shape][0] for shape in (best, *others)))[:NEXT_BEST]
        found += refined(descent.problem, found[-NEXT_BEST:], budget)
    ranked = []
    for descent in descents:
        times_s = {strategy: descent.problem.iteration_time_s(strategy) for strategy in dict.fromkeys(found)}
        ranked.append(sorted(times_s, key=times_s.__getitem__))
    return tuple(dict.fromkeys(chain.from_iterable(zip(*ranked, strict=True))))[:MOST]


def refined(
    problem: SearchProblem, starts: Sequence[ParallelStrategy], budget: int
) -> list[ParallelStrategy]:
    """Return the strategy that a chain of a fixed seed finds from the best start; none for many servers.

    Raises
    ------
    KeyboardInterrupt
        If the chain was interrupted: nothing is known yet that could be kept.
    """
    job = problem.job
    if job.cluster.servers > LARGE:
        return []
    proposals = min(SHARE * budget, WORK // (job.cluster.servers * len(operators_of(job).graph.operators)))
    times_s = {strategy: problem.iteration_time_s(strategy) for strategy in starts}
    best = min(starts, key=times_s.__getitem__)
    alpha, rng = SHARPNESS / max(times_s[best] * 1e3, 1e-9), np.random.default_rng(0)
    answer = search_strategy(problem, best, proposals, rng, alpha_per_ms=alpha)
    if answer.stopped_because == "interrupted":
        raise KeyboardInterrupt
    return [answer.strategy]


class _Descent:
    """Descent over shapes on one network, with the times of all that it tried; all networks share ``made``."""

    def __init__(self, job: Job, problem: SearchProblem, made: dict[Shape, _Made]) -> None:
        self.job, self.problem, self.made = job, problem, made
        self.tried: dict[Shape, float] = {}
        self.best_s = np.inf

    def time_s(self, shape: Shape) -> float:
        """Return the estimate of a shape; infinity where it does not fit in memory or computes for far too long."""
        if shape not in self.tried:
            if shape not in self.made:
                strategy = shape.of(self.job)
                config = self.problem.config(strategy)
                self.made[shape] = strategy, config, busiest_server_s(self.problem.arrays, config)
            strategy, config, least_s = self.made[shape]
            if least_s > HOPELESS * self.best_s or not fits(self.job, strategy):
                return np.inf
            accelerators = self.job.cluster.accelerators_per_server
            self.tried[shape] = evaluated_s(self.problem.arrays, config, accelerators)
            self.best_s = min(self.best_s, self.tried[shape])
        return self.tried[shape]

    def from_(self, first: Shape, step: int = 1) -> Shape:
        """Return a shape of which no change of one coordinate is faster; a step of -1 takes these in reverse."""
        best, before = first, None
        while best != before:
            before = best
            for others in list(best.neighbours(self.job))[::step]:
                best = min([best, *others(best)], key=self.time_s)
        return best
