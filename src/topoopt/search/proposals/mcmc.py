"""A Markov chain over strategies on a fixed fabric, and the job on that fabric as plain arrays for its kernel.

The chain starts from a given strategy and re-draws, copies, exchanges or spreads operators. It keeps changes that
are not slower, and others with probability exp(-alpha·Δms). Every hundredth part of the budget it returns to the
best strategy seen (TopoOpt section 4.2; spec of the release).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.workers import wait_for
from topoopt.catalog import find_accelerator
from topoopt.finder import FinderRules
from topoopt.jobs import Job, operators_of
from topoopt.routing import Fabric, all_pair_links, next_links, pair_links
from topoopt.search.proposals import problem_tables as tables
from topoopt.search.proposals.arrays import BACKWARD_S, FORWARD_S, Problem, State, new_state
from topoopt.search.proposals.mcmc_kernel import run_chain
from topoopt.search.proposals.problem_tables import coin_of_link, is_shiftable, link_of_coin
from topoopt.search.proposals.timeline_kernel import walk_fan_out
from topoopt.simulation import FIRST_BUCKET_BYTES
from topoopt.topologies import hops_from
from topoopt.workloads import OperatorSplit, ParallelStrategy

LARGEST_TO_LIST = 512
"""Servers up to which the search uses all links of every pair. Above, those of a torus of 1,024 servers alone take
2 GB and a minute of CPU time; there the search assumes one shortest path of each pair, drawn by a hash."""
MAX_FAN_OUT_BYTES = 256e6
"""Largest table of fan-out loads that is kept; 128 servers of degree 4 need 1 MB."""


@dataclass(frozen=True, eq=False)
class SearchProblem:
    """A job on a fabric, ready for the kernel."""

    job: Job
    fabric: Fabric
    arrays: Problem

    def config(self, strategy: ParallelStrategy) -> Ints:
        """Return the strategy as the kernel's configuration array, shape (operators, 4)."""
        return config_of(self.arrays.divisors, strategy)

    def strategy(self, config: Ints) -> ParallelStrategy:
        """Return the configuration array as a strategy."""
        divisors = self.arrays.divisors
        splits = [
            OperatorSplit(int(divisors[b]), int(start), int(divisors[c]), tables.CHANNEL_DIMS[dim])
            for b, c, dim, start in config
        ]
        return ParallelStrategy(self.job.cluster.servers, tuple(splits))

    def state(self, strategy: ParallelStrategy) -> State:
        """Return fresh kernel state for a strategy, evaluated."""
        accelerators = self.job.cluster.accelerators_per_server
        state = new_state(self.arrays, self.config(strategy), accelerators)
        self.evaluate(state)
        return state

    def evaluate(self, state: State) -> float:
        """Fill a state's caches from its configuration alone; return the kernel's estimate, in seconds."""
        return _filled_s(self.arrays, state)

    def iteration_time_s(self, strategy: ParallelStrategy) -> float:
        """Return the kernel's estimate for a strategy, in seconds."""
        return float(self.state(strategy).times_s[0])


RESET_EVERY = 20
"""Proposals after which a chain returns to its best strategy; they do not depend on the budget, so that a search with
more of it begins like one with less."""
SLICE = 250
"""Proposals between two looks at the clock, the progress bar and Ctrl-C."""


@dataclass(frozen=True, eq=False)
class ChainAnswer:
    """The best strategy of a chain, and its fabric; ``rules`` are those that wired it, if known."""

    strategy: ParallelStrategy
    fabric: Fabric
    time_s: float
    proposals: int
    stopped_because: str
    convergence: tuple[tuple[int, float], ...]
    rules: FinderRules | None = None


def search_strategy(
    problem: SearchProblem,
    start: ParallelStrategy,
    budget: int,
    rng: np.random.Generator,
    *,
    alpha_per_ms: float = 1.0,
    own_moves: bool = True,
    on_progress: Callable[[int], None] = lambda proposals: None,
) -> ChainAnswer:
    """Return the best strategy that ``budget`` proposals find on the problem's fabric.

    The chain keeps its best on Ctrl-C, and ends when the iteration takes no time.
    """
    state = problem.state(start)
    times_s = state.times_s
    state.random[:] = rng.integers(1, 2**63, size=1, dtype=np.uint64)
    convergence, made, because = [(0, float(times_s[0]))], 0, "budget"
    while made < budget and times_s[1] > 0.0:
        try:
            step = min(SLICE, budget - made)
            made += run_chain(problem.arrays, state, made, step, alpha_per_ms, own_moves, RESET_EVERY, False)
            on_progress(step)
        except KeyboardInterrupt:
            because = "interrupted"
            break
        if times_s[1] < convergence[-1][1]:
            convergence.append((made, float(times_s[1])))
    best = problem.strategy(state.best_config)
    return ChainAnswer(best, problem.fabric, float(times_s[1]), made, because, tuple(convergence))


BEHIND = 1.01
"""Factor above the best of all chains at which a chain restarts from the best.

Measured on 16, 32, 128 servers with 4 ports, and NCF on 128 with 8, seeds 0 to 2: plans of DLRM, NCF and CANDLE become
0.16 % faster on the average, up to 1.3 %, one of 24 0.5 % slower, in the same time. The best strategy on a chain's own
wirings, in place of that which it is for, gains less, and loses up to 3 %."""


@dataclass(frozen=True, eq=False)
class Chain:
    """A chain between two rounds.

    Attributes
    ----------
    strategy : ParallelStrategy
        Start of the next round.
    budget : int
        Proposals of all rounds.
    wirings : tuple of FinderRules
        Rules that rounds use in turn; none: the options' rules.
    rounds : tuple of ChainAnswer
        Results of the rounds so far.
    idle : int
        Rounds, up to the last, that gained nothing.
    over : str
        Reason why there is no further round; empty while there may be one.
    cpu_s : float
        CPU time of all rounds so far.
    """

    strategy: ParallelStrategy
    budget: int
    rng: np.random.Generator
    wirings: tuple[FinderRules, ...] = ()
    rounds: tuple[ChainAnswer, ...] = ()
    idle: int = 0
    over: str = ""
    cpu_s: float = 0.0

    @property
    def made(self) -> int:
        """Proposals so far."""
        return sum(row.proposals for row in self.rounds)

    @property
    def best(self) -> ChainAnswer:
        """The best round."""
        return min(self.rounds, key=lambda row: row.time_s)

    @property
    def answer(self) -> ChainAnswer:
        """The best of all rounds, with the totals of all of them."""
        points, made = list[tuple[int, float]](), 0
        for row in self.rounds:
            points += [(made + proposals, time_s) for proposals, time_s in row.convergence]
            made += row.proposals
        kept: list[tuple[int, float]] = []
        for proposals, time_s in points:
            if not kept or time_s < kept[-1][1]:
                kept.append((proposals, time_s))
        descending = tuple(kept)
        return replace(
            self.best, proposals=made, stopped_because=self.over or "budget", convergence=descending
        )


def exchanged(chains: Sequence[Chain]) -> list[Chain]:
    """Return the chains, those well behind with the best strategy of all and its wiring.

    A converged chain can then use the rest of its budget. Each continues with its own random numbers.
    """
    best = min((chain.best for chain in chains), key=lambda row: row.time_s)
    wirings = () if best.rules is None else (best.rules,)
    return [
        replace(chain, strategy=best.strategy, wirings=wirings, idle=0, over="")
        if chain.over in ("", "converged")
        and chain.made < chain.budget
        and chain.best.time_s >= BEHIND * best.time_s
        else chain
        for chain in chains
    ]


def config_of(divisors: Ints, strategy: ParallelStrategy) -> Ints:
    """Return a strategy as the kernel's array, shape (operators, 4), its degrees as places in ``divisors``."""
    index = {int(degree): place for place, degree in enumerate(divisors)}
    rows = [
        (index[s.batch_degree], index[s.channel_degree], tables.CHANNEL_DIMS.index(s.channel_dim), s.start)
        for s in strategy.splits
    ]
    return np.array(rows, np.int64)


def evaluated_s(arrays: Problem, config: Ints, accelerators: int) -> float:
    """Return the kernel's estimate of a configuration, in seconds; ``accelerators`` is the number in a server."""
    return _filled_s(arrays, new_state(arrays, config, accelerators))


def busiest_server_s(arrays: Problem, config: Ints) -> float:
    """Return the seconds for which a configuration keeps its busiest server computing: less than any estimate."""
    servers, work = arrays.servers, np.zeros(arrays.servers)
    seconds = arrays.cost[np.arange(len(config)), config[:, 0], config[:, 1]][:, [FORWARD_S, BACKWARD_S]].sum(
        axis=1
    )
    parts = arrays.divisors[config[:, 0]] * arrays.divisors[config[:, 1]]
    for start, count, one in zip(config[:, 3].tolist(), parts.tolist(), seconds.tolist(), strict=True):
        work[start :: servers // count][:count] += one
    return float(work.max())


def _filled_s(arrays: Problem, state: State) -> float:
    wait_for("chain")
    state.times_s[:] = -1.0
    run_chain(arrays, state, 0, 0, 0.0, False, 1, False)
    return float(state.times_s[0])


def make_problem(job: Job, fabric: Fabric, *, measured_only: bool = False, seed: int = 0) -> SearchProblem:
    """Lay out a job and a fabric as arrays.

    ``measured_only`` restricts operators to the data-parallel degrees that were profiled and forbids channel
    splits: the search space of the authors' release.
    """
    cluster, topology = job.cluster, fabric.topology
    routes = route_tables(fabric)
    most_rings = tables.most_rings_of(cluster, topology)
    groups = tables.group_tables(fabric, divisors_of(cluster.servers), most_rings, seed, routes["next_link"])
    return problem_of(
        job,
        fabric,
        measured_only,
        hop_overhead_s=tables.hop_overhead_s(topology),
        **routes,
        seconds_per_byte=8.0 / topology.bandwidth_bps,
        fan_out=fan_out_table(job, fabric, routes),
        fan_hops=fan_hops(fabric, routes),
        **groups,
    )


def problem_of(job: Job, fabric: Fabric, measured_only: bool, **network: Any) -> SearchProblem:
    """Return the problem of a job on a network that is laid out; the fabric is the one that answers name."""
    limit = np.inf
    if job.settings.memory_check == "enforce":
        limit = find_accelerator(job.cluster.accelerator).usable_memory_bytes
    arrays = Problem(
        servers=job.cluster.servers,
        global_batch=job.global_batch,
        memory_limit_bytes=float(limit),
        bucket_bytes=float(job.settings.as_run.bucket_bytes),
        first_bucket_bytes=float(FIRST_BUCKET_BYTES),
        divisors=divisors_of(job.cluster.servers),
        **_job_tables(job, measured_only, int(network["group_rings"].max())),
        **network,
    )
    return SearchProblem(job, fabric, arrays)


@lru_cache(maxsize=4)
def _job_tables(job: Job, measured_only: bool, most_rings: int) -> dict[str, Any]:
    """Return the arrays that are a job's on every fabric; a plan puts one job on a dozen."""
    divisors = divisors_of(job.cluster.servers)
    choices = tables.candidate_splits(job, divisors, measured_only)
    return {
        "operator": tables.operator_table(job, choices),
        **tables.cost_tables(job, divisors, choices, most_rings),
        "candidate": tables.candidate_table(choices),
        **tables.edge_tables(job),
    }


def divisors_of(servers: int) -> Ints:
    """Return the divisors, ascending."""
    return np.array([k for k in range(1, servers + 1) if servers % k == 0], np.int64)


def route_tables(fabric: Fabric) -> dict[str, Any]:
    """Return every pair's links; for a circulant only those of server 0, the others are shifts of them."""
    topology, servers = fabric.topology, fabric.topology.servers
    nothing = {
        "link_of": np.zeros((1, 1), np.int32),
        "next_link": np.zeros((1, 1), np.int32),
        "link_dst": topology.dst,
    }
    if is_shiftable(fabric):
        destinations = np.arange(1, servers, dtype=np.int64)
        links = pair_links(topology, fabric.routes, np.zeros_like(destinations), destinations)
        node = topology.src[links.link]
        return nothing | {
            "row_first": np.concatenate([[0], links.pair_first]).astype(np.int64),
            "entry": np.stack([node, coin_of_link(topology)[links.link]], axis=1).astype(np.int32),
            "entry_share": links.share,
            "row_hops": np.concatenate([[0.0], links.mean_hops()]),
            "link_of": link_of_coin(topology),
        }
    if servers > LARGEST_TO_LIST:
        return nothing | {
            "row_first": np.zeros(1, np.int64),
            "entry": np.zeros((0, 2), np.int32),
            "entry_share": np.zeros(0),
            "row_hops": np.zeros(0),
            "next_link": next_links(topology),
        }
    links = all_pair_links(topology, fabric.routes)
    return nothing | {
        "row_first": links.pair_first.astype(np.int64),
        "entry": np.stack([links.link, np.zeros_like(links.link)], axis=1).astype(np.int32),
        "entry_share": links.share,
        "row_hops": links.mean_hops(),
    }


def fan_out_table(job: Job, fabric: Fabric, routes: Mapping[str, Any]) -> Floats:
    """Return the seconds on each link when a server sends one byte to every other one, and the reverse.

    Shape (servers, 2, links); (1, 1, 1) for models without tables and where it would not fit :data:`MAX_FAN_OUT_BYTES`.
    """
    topology, servers = fabric.topology, fabric.topology.servers
    has_tables = any(op.is_embedding for op in operators_of(job).graph.operators)
    if not has_tables or servers * 2 * len(topology) * 8 > MAX_FAN_OUT_BYTES:
        return np.zeros((1, 1, 1))
    table = np.zeros((servers, 2, len(topology)))
    if is_shiftable(fabric):
        _shift_fan_out(routes, table)
    elif len(routes["next_link"]) > 1:
        walk_fan_out(routes["next_link"], topology.dst, table)
    else:
        rows = np.repeat(np.arange(len(routes["row_first"]) - 1), np.diff(routes["row_first"]))
        link, share = routes["entry"][:, 0], routes["entry_share"]
        for way, end in enumerate((rows // servers, rows % servers)):
            cells = np.bincount(end * len(topology) + link, share, minlength=servers * len(topology))
            table[:, way] = cells.reshape(servers, len(topology))
    return table * (8.0 / topology.bandwidth_bps)


def _shift_fan_out(routes: Mapping[str, Any], table: Floats) -> None:
    """Fill a circulant's table with the link loads of server 0, rotated."""
    (node, coin), link_of = routes["entry"].T.astype(np.int64), routes["link_of"]
    servers, coins = link_of.shape
    rows = np.repeat(np.arange(servers), np.diff(routes["row_first"]))
    sent, got = node * coins + coin, (node - rows) % servers * coins + coin
    of_first = [np.bincount(at, routes["entry_share"], servers * coins) for at in (sent, got)]
    for server in range(servers):
        links = np.roll(link_of, -server, axis=0).ravel()
        table[server, :, links] = np.array(of_first).T


def fan_hops(fabric: Fabric, routes: Mapping[str, Any]) -> Floats:
    """Return the mean hops of the farthest pair that each server is an end of, shape (servers,)."""
    servers = fabric.topology.servers
    if is_shiftable(fabric):
        return np.full(servers, routes["row_hops"].max())
    if len(routes["next_link"]) > 1:
        links = hops_from(fabric.topology, np.arange(servers))[:, :servers]
        return np.asarray(np.maximum(links.max(axis=0), links.max(axis=1)), np.float64)
    hops: Floats = routes["row_hops"].reshape(servers, servers)
    farthest: Floats = np.maximum(hops.max(axis=0), hops.max(axis=1))
    return farthest
