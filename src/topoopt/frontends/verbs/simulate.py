"""``topoopt.simulate``: a plan once more, or an authors' task graph, at a fidelity and on a fabric of choice."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from topoopt.base.answers import Progress, silent
from topoopt.base.errors import InvalidInput
from topoopt.frontends.verbs.simulation_settings import (
    SPLIT_OF,
    begins_s,
    chosen_simulator,
    fabric_choice,
    fabric_of_plan,
    link_aggressiveness,
    link_failures,
    packet_options,
    plan_of_fabric,
    workload_cluster,
)
from topoopt.jobs import expecting
from topoopt.plans import Plan, read_plan
from topoopt.routing import Fabric
from topoopt.schema.words import SimulationWords, TogetherWords, checked_arguments, checked_words
from topoopt.search import task_graph_of
from topoopt.simulation import (
    Placement,
    SimulatedJob,
    Simulation,
    SimulationOptions,
    collective_options,
    is_chakra,
    is_fbuf,
    job_of_chakra,
    job_of_fbuf,
    job_of_workload,
    named_fabric,
    own_fabric,
    place_jobs,
    placed_groups,
    simulate_job,
    simulate_jobs,
)
from topoopt.workloads.recorded import is_simai_workload

STEADY_ITERATIONS = 4
MOST_LOGGED = 300_000
"""Connections up to which each one is kept for percentiles by default; more would take much memory."""

Simulated = Plan | str | os.PathLike[str]


@checked_arguments
def simulate(
    plan: Simulated | Sequence[Simulated],
    *,
    simulator: str | None = None,
    steady_state: bool = False,
    collective: str | None = None,
    seed: int = 0,
    log_flows: bool | None = None,
    on_progress: Progress = silent,
    **words: Unpack[SimulationWords],
) -> Simulation:
    """Simulate a plan or a task graph. Bytes are per iteration, also in the steady state.

    Parameters
    ----------
    plan
        A plan or its file, a FlexNet task graph (``.fbuf``, ``.fbuf.xz``), or Chakra's execution traces: a folder of
        ``PREFIX.RANK.et``, one of them, or the prefix. Several run at once, as jobs on one fabric.
    simulator
        ``analytic``, ``flow``, ``packet``, or ``auto``: analytic without contention, else flow, with the expected
        error. By default packet for a ``.fbuf`` or with a packet option, auto for a plan.
    steady_state
        Mean of the middle ones of four overlapping iterations of a plan.
    collective
        ``stepped`` (rings in rounds that wait for each other), ``bulk`` (one flow for all rounds), an algorithm, or
        ``auto``. By default that of the plan or its traces; ``stepped`` for several that differ, and for a
        ``.fbuf``.
    seed
        Random seed of paths, ties between ready tasks, and wiring.
    log_flows
        Whether to log every packet connection, for completion times; by default unless there are too many.
    on_progress
        Progress callback: stage, items done, and total.
    **words
        The flags of ``topoopt simulate`` about the fabric (``fabric``, ``bandwidth``, ``strides`` …) and about packets
        (``transport``, ``mark``, ``fail_link`` …), with underscores. ``fabric`` may be a plan's file: its network.

    Returns
    -------
    Simulation

    Raises
    ------
    InvalidInput
        For an unknown option or name, a number out of range, or options that exclude each other.

    Examples
    --------
    >>> import topoopt
    >>> plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=0)
    >>> again = topoopt.simulate(plan, simulator="analytic")
    >>> again.iteration_time_s == plan.iteration_time_s
    True
    """
    checked_words(words, SimulationWords)
    sources = (plan,) if isinstance(plan, (Plan, str, os.PathLike)) else tuple(plan)
    if not sources:
        raise InvalidInput("plan: expected a plan or a task graph, got nothing")
    all_graphs = all(not isinstance(one, Plan) and is_fbuf(os.fspath(one)) for one in sources)
    used = chosen_simulator(simulator, words, all_graphs)
    _options(used, words, "stepped" if collective is None else collective, seed)
    iterations = STEADY_ITERATIONS if steady_state else 1
    on_progress("reading", 0, 0)
    cluster = workload_cluster(words)
    jobs = [_job(one, iterations, cluster) for one in sources]
    options = _options(used, words, _own_collective(jobs) if collective is None else collective, seed)
    fabric, placement = _fabric(jobs, words, seed, used == "packet" or "path_choice" in words)
    kept = _connections(jobs, fabric) <= MOST_LOGGED if log_flows is None else log_flows
    failures = link_failures(words.get("fail_link", ()), fabric.topology)
    options = replace(options, packet=replace(options.packet, log_flows=kept, failures=failures))
    if len(jobs) > 1:
        options = replace(options, aggressiveness=link_aggressiveness(words.get("sharing", "fair"), used))
        begins = begins_s(words.get("begin", ()))
        return simulate_jobs(
            jobs, fabric, placement, used, options, on_progress, words.get("iterations"), begins
        )
    for word in TogetherWords.__annotations__:
        if word in words:
            raise InvalidInput(f"{word}: is for several jobs; one job runs alone, once, or with steady_state")
    return simulate_job(jobs[0], fabric, used, options, iterations, on_progress)


def _options(simulator: str, words: Mapping[str, Any], collective: str, seed: int) -> SimulationOptions:
    packet, split = packet_options(words), "spread"
    if simulator != "packet" and "path_choice" in words:
        split = SPLIT_OF[packet.path_choice]
    tolerance = words.get("tolerance")
    if tolerance is not None and simulator not in ("flow", "auto"):
        raise InvalidInput(f"tolerance: is for the flow simulator, and {simulator} is none; leave it out")
    options = collective_options(collective)
    return replace(options, split=split, tolerance=tolerance, seed=seed, packet=packet)


def _own_collective(jobs: Sequence[SimulatedJob]) -> str:
    """Return the collective algorithm of all plans, if it is the same."""
    ways = {job.collective if job.plan is None else job.plan.job.settings.collective for job in jobs}
    return ways.pop() if len(ways) == 1 else "stepped"


def _job(source: Simulated, iterations: int, cluster: Mapping[str, Any]) -> SimulatedJob:
    """Return a job; for a plan, with the given number of overlapping iterations."""
    if isinstance(source, Plan):
        graph = task_graph_of(source.job, source.strategy, iterations)
        return SimulatedJob("plan", source.job.name, graph, plan=source)
    path = os.fspath(source)
    if not path:
        raise InvalidInput("PLAN|GRAPH: expected a file name, got nothing")
    if is_simai_workload(path) and iterations == 1:
        return job_of_workload(path, cluster)
    if cluster:
        word = next(iter(cluster)).removesuffix("_bps")
        raise InvalidInput(f"{word}: is for a workload of SimAI, and {path} is none")
    known = (is_fbuf, is_chakra, is_simai_workload, os.path.isdir)
    for recognizes, job_of in zip(known, (job_of_fbuf, *(job_of_chakra,) * 3), strict=True):
        if recognizes(path):
            if iterations > 1:
                raise InvalidInput(f"steady_state: {path} holds one iteration; it is for plans")
            with expecting(path, "task-graph", "chakra", "simai-workload"):
                return job_of(path)
    if not os.path.exists(path):
        raise InvalidInput(
            f"{path}: no such file; expected a plan of topoopt plan --out, a .fbuf task graph, or Chakra's traces"
        )
    with expecting(path, "plan", "task-graph", "chakra"):
        return replace(_job(read_plan(path), iterations, cluster), path=path)


def _fabric(
    jobs: Sequence[SimulatedJob], words: Mapping[str, Any], seed: int, switches: bool
) -> tuple[Fabric, Placement]:
    """Return the fabric and the servers of each job; a job that is alone has the first ones."""
    if (plan := plan_of_fabric(words)) is not None:
        return fabric_of_plan(plan, jobs, words)
    choice, placed = fabric_choice(words), words.get("placement")
    sizes = [job.graph.servers for job in jobs]
    if len(jobs) > 1:
        servers = sum(sizes) if choice.servers is None else choice.servers
        placement = place_jobs(sizes, servers, placed or "contiguous", seed)
        groups = placed_groups([job.graph for job in jobs], placement)
        return named_fabric(jobs, groups, choice, seed, switches), placement
    if placed is not None:
        raise InvalidInput("placement: is for several jobs; one job has the first servers")
    own = own_fabric(jobs[0], choice)
    if own is None:
        own = named_fabric(jobs, jobs[0].graph.groups, choice, seed, switches)
    return own, (tuple(range(sizes[0])),)


def _connections(jobs: Sequence[SimulatedJob], fabric: Fabric) -> int:
    """Return about how many connections one run opens: one for each transfer, ring, round and member."""
    most = max((len(rings) for rings in fabric.rings.values()), default=1)
    return sum(
        len(job.graph) + int((2 * np.diff(job.graph.member_first).astype(np.float64) ** 2).sum()) * most
        for job in jobs
    )
