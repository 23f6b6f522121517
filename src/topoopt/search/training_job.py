"""Jobs from requests: operators and traffic as they are, a transformer with the layouts to be wired.

Layouts of a small job that the closed form ranks too low: where simulation is cheap, more of them are wired.

The closed form models one switch, or the mean distance of servers. It ignores the contention of links, so that it may
rank the best layout of a small job behind those with a network of their own. Layouts much slower in closed form than
the best other one on its own network are skipped.

The closed form is also an estimate of a transformer's iteration before anything is wired, by which networks to plan are
selected: the fastest configuration on one switch of as much bandwidth per server.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, replace
from functools import partial
from math import inf

import numpy as np

from topoopt.base.answers import Progress, silent
from topoopt.base.arrays import Floats
from topoopt.catalog import ClusterSpec
from topoopt.finder import USUAL_RULES, find_topology, layout_splits
from topoopt.jobs import (
    ORDER,
    Job,
    JobRequest,
    Layout,
    TransformerWork,
    in_its_place,
    refuse_too_many_servers,
    requested_job,
    scale_up_bandwidth_bps,
    training_job,
)
from topoopt.search.bounds.transfer_windows import moore_hops
from topoopt.search.candidates.candidate import with_rings
from topoopt.search.training_request import CANDIDATES, TrainingRequest, is_transformer, training_request
from topoopt.simulation import (
    analytic_flows,
    chakra_recording,
    free_time_s,
    is_chakra,
    pipeline_task_graph,
    read_chakra,
    simulate,
    simulated_flows,
)
from topoopt.transformers import (
    Calibration,
    Configuration,
    ConfigurationSearch,
    ConfigurationTable,
    ExpertLoads,
    SearchRequest,
    System,
    calibration_quality,
    estimate,
    find_loads,
    make_pipelined_step,
    named_calibration,
    published_layouts,
    search_configurations,
    system_of,
    untried_schedule,
    weighed_s,
    without_overlap,
)
from topoopt.workloads.pipelined_step import PipelinedStep
from topoopt.workloads.transformer import count_parameters

MOST_FLOWS = 1_000_000
"""Most flows simulated to search further, a few seconds of CPU time; larger jobs are not searched further."""
BETTER = 0.999
"""Fraction of the best time below which a layout is added to the chosen ones."""
TOO_SLOW = 1.6
"""Multiple of the best closed-form time up to which a layout is considered: in 30 small jobs with all layouts
simulated, the closed form of the best was at most 1.57 times the least."""
MOST_WIRED = 32
"""Layouts that are wired to look further."""
OTHER_ORDER = "tp-cp-ep-pp-dp"
"""Stages next to each other rather than replicas: another placement where a server holds several workers."""
SLOWER = (4.0, 16.0)
"""Slow-downs of the network at which configurations are ranked, too: some may win where links are shared or relay."""
ACCELERATOR_BPS = tuple(3.125e9 * 2**k for k in range(9))
"""Bandwidths per accelerator of one switch, up to 800 Gb/s, whose fastest configurations are laid out on every network:
those that win with few ports are then tried with more of them."""
DIVERSE = ("tp", "pp", "dp", "cp", "ep")
"""Fields in which configurations agree that would be wired alike; the fastest of them represents all."""
MOST_SIMULATED = 6_000_000
"""Flows of all layouts together after which no further one is tried, unless their number is given: they are simulated
on ten networks, in some minutes of CPU time at worst."""
MOST_LOOKED_AT = 1_000
"""Further configurations of a small job to consider."""


def job_of(request: JobRequest, on_progress: Progress = silent) -> Job:
    """Return the job of a request.

    For a transformer, all configurations are ranked in closed form, on one switch and where others relay, and the best
    ones that differ in their degrees become the layouts of the job.

    Raises
    ------
    InvalidInput
        If anything in the request is unknown, out of range, or does not go together.
    Infeasible
        If no configuration of a transformer fits in memory.
    """
    with in_its_place(request):
        return _job_of(request, on_progress)


def _job_of(request: JobRequest, on_progress: Progress) -> Job:
    if not is_transformer(request):
        if request.traffic or request.program:
            on_progress("reading", 0, 0)
        return requested_job(with_traces_read(request))
    on_progress("ranking configurations", 0, 0)
    training = training_request(request)
    refuse_too_many_servers(training.cluster)
    ranked = ranked_configurations(training)
    system, loads = ranked.request.system, ranked.request.loads
    calibration = ranked.calibration  # with what the framework does whole or one by one
    slower = (
        replace(system, network_bandwidth_bps=system.network_bandwidth_bps / factor)
        for factor in (_fewest_hops(training.cluster), *SLOWER)
    )

    def weighed(one: System) -> Floats:
        times = estimate(training.model, ranked.table, one, calibration, loads)
        return weighed_s(times.iteration_time_s, ranked.memory.total, ranked.memory.capacity_bytes)

    times_s = weighed(system), *map(weighed, slower)
    places = diverse(ranked.table, times_s, training.candidates or CANDIDATES)
    if not training.candidates:
        usual = (weighed(replace(system, network_bandwidth_bps=bps)) for bps in ACCELERATOR_BPS)
        for column in usual:
            places += _unlike(ranked.table, places, int(column.argmin()))
    lay_out = partial(_layouts, training, system, calibration, ranked, loads)
    layouts: list[Layout] = []
    for index, place in enumerate(places):
        on_progress("laying out configurations", index, len(places))
        layouts += lay_out(place)
        simulated = sum(simulated_flows(layout.step) for layout in layouts)
        if not training.candidates and simulated > MOST_SIMULATED:
            break
    if not training.candidates:
        on_progress("looking further", 0, 0)
        layouts += _overlooked(training, layouts, ranked, times_s, places, lay_out)
        layouts.sort(key=lambda layout: layout.estimated_s)
    return training_job(
        TransformerWork(
            training.model,
            tuple(layouts),
            training.global_batch,
            training.model.sequence,
            float(ranked.times.model_flops[0]) * training.cluster.total_accelerators,
            calibration.name,
            ranked.feasible,
            count_parameters(training.model).total,
            ranked.memory.capacity_bytes,
            published_layouts(ranked),
            calibration_quality(calibration).interval_share,
            **untried_schedule(ranked),
        ),
        training.cluster,
        training.precision,
    )


def ranked_configurations(training: TrainingRequest, system: System | None = None) -> ConfigurationSearch:
    """Return all configurations of a training that fit, ranked in closed form on one switch or on another system.

    Raises
    ------
    InvalidInput
        If no configuration is valid.
    Infeasible
        If none fits in memory.
    """
    own = named_calibration(training.calibration or None, training.cluster.accelerator)
    calibration = without_overlap(own.with_one_attention(training.attention), training.no_overlap)
    loads = find_loads(training.loads, training.model) if training.loads else None
    return search_configurations(
        SearchRequest(
            training.model,
            training.cluster.total_accelerators,
            system or system_of(training.cluster),
            training.global_batch,
            training.model.sequence,
            training.fixed,
            training.limits,
            training.precision,
            calibration.attention,
            training.framework,
            loads,
        ),
        calibration,
    )


def diverse(table: ConfigurationTable, times_s: tuple[Floats, ...], most: int) -> list[int]:
    """Return the places of configurations that differ in a degree, at most ``most``.

    The degrees alternate between the fastest by each of the times; of equal degrees the fastest by the first times is
    used, and the result is in their order.
    """
    keys = [tuple(row) for row in np.stack([getattr(table, name) for name in DIVERSE], axis=1).tolist()]
    ranked = [np.argsort(column, kind="stable").tolist() for column in times_s]
    first: dict[tuple[int, ...], int] = {}
    for place in ranked[0]:
        first.setdefault(keys[place], place)
    turns = zip(*(dict.fromkeys(keys[place] for place in order) for order in ranked), strict=True)
    chosen = dict.fromkeys(key for turn in turns for key in turn)
    places = [first[key] for key in chosen][:most]
    return sorted(places, key=lambda place: float(times_s[0][place]))


def _unlike(table: ConfigurationTable, places: Sequence[int], place: int) -> list[int]:
    """Return the place, if its degrees and micro-batches are those of no other place."""
    rows = np.stack([getattr(table, name) for name in (*DIVERSE, "vpp", "micro_batch")], axis=1)
    alike = np.equal(rows[list(places)], rows[place]).all(axis=1)
    return [] if alike.any() else [place]


def _fewest_hops(cluster: ClusterSpec) -> float:
    """Return the mean distance of two servers in the best graph of this degree.

    The closed form assumes one switch. Between servers without a direct link the bandwidth is lower, since others
    relay; layouts with little such traffic rank first after the correction.
    """
    return float(moore_hops(cluster.servers, cluster.degree, cluster.links).mean())


def _layouts(
    training: TrainingRequest,
    system: System,
    calibration: Calibration,
    ranked: ConfigurationSearch,
    loads: ExpertLoads | None,
    place: int,
) -> list[Layout]:
    """Return layouts of a configuration with ranks in the default order, and in another where placement differs."""
    one = ranked.table.row(place)
    memory_bytes = ranked.memory.row(place)
    return [
        Layout(
            asdict(one),
            order,
            float(ranked.times.iteration_time_s[place]),
            {cause: size for cause, size in memory_bytes.items() if cause != "total"},
            make_pipelined_step(training.model, one, system, calibration, loads, order),
        )
        for order in _orders(one, system)
    ]


def _overlooked(
    training: TrainingRequest,
    chosen: Sequence[Layout],
    ranked: ConfigurationSearch,
    times_s: tuple[Floats, ...],
    places: Sequence[int],
    lay_out: Callable[[int], list[Layout]],
) -> list[Layout]:
    """Return the layouts of an unchosen configuration that is the fastest on its own network."""
    capacity = ranked.memory.capacity_bytes
    return overlooked(
        training.cluster,
        chosen,
        (
            (float(times_s[0][place]), partial(lay_out, place))
            for place in diverse(ranked.table, times_s, MOST_LOOKED_AT)
            if place not in places
        ),
        lambda layout, seconds: float(weighed_s(seconds, layout.total_memory_bytes, capacity)),
    )


def _orders(one: Configuration, system: System) -> tuple[str, ...]:
    """Return the orders of ranks to try.

    One where workers are whole servers, and where the other order would tear experts apart that fit into a server.
    """
    per_server = system.accelerators_per_server
    alone = one.tp * one.cp % per_server == 0 or 1 in (one.pp, one.dp)
    together = one.ep > 1 and one.ep * one.etp <= per_server
    return (ORDER,) if alone or together else (ORDER, OTHER_ORDER)


def with_traces_read(request: JobRequest) -> JobRequest:
    """Return the request with the traffic of Chakra traces, if it has any; otherwise unchanged.

    Raises
    ------
    InvalidInput
        If a rank is missing, a file is damaged, or a node lacks its bytes.
    """
    if not request.traffic or request.described is not None or not is_chakra(request.traffic):
        return request
    bandwidth_bps = scale_up_bandwidth_bps(request.cluster)
    return replace(request, described=chakra_recording(read_chakra(request.traffic), bandwidth_bps))


def overlooked(
    cluster: ClusterSpec,
    chosen: Sequence[Layout],
    others: Iterable[tuple[float, Callable[[], Sequence[Layout]]]],
    weight: Callable[[Layout, float], float],
) -> list[Layout]:
    """Return the layouts, in all their orders, of the configuration that is faster than all chosen; none if none is.

    Parameters
    ----------
    others : iterable of (seconds in closed form, function that lays it out)
        Configurations that were not chosen, the fastest first.
    weight : function of a layout and its seconds
        Returns the weight by which layouts are compared.
    """
    left = MOST_FLOWS - sum(analytic_flows(layout.step) for layout in chosen)
    if left <= 0:
        return []
    best_s = min(weight(layout, wired_time_s(cluster, layout.step)) for layout in chosen)
    found, wired = list[Layout](), 0
    for closed_form_s, laid_out in others:
        if closed_form_s >= TOO_SLOW * best_s or wired >= MOST_WIRED:
            break
        layouts = [layout for layout in laid_out() if free_time_s(layout.step) < BETTER * best_s]
        left -= sum(analytic_flows(layout.step) for layout in layouts)
        wired += len(layouts)
        if left < 0:
            break
        times_s = [weight(layout, wired_time_s(cluster, layout.step)) for layout in layouts]
        time_s = min(times_s, default=inf)
        if time_s < BETTER * best_s:
            best_s, found = time_s, list(layouts)
    return found


def wired_time_s(cluster: ClusterSpec, step: PipelinedStep) -> float:
    """Return the time of a step on the best network wired for it."""
    graph, times_s = pipeline_task_graph(step), list[float]()
    for split in layout_splits(step.traffic, cluster.degree):
        fabric = find_topology(
            step.traffic,
            degree=cluster.degree,
            bandwidth_bps=cluster.link_bandwidth_bps,
            latency_s=cluster.link_latency_s,
            links=cluster.links,
            rules=replace(USUAL_RULES, degree_split=split),
            seed=0,
        )
        ready = with_rings(fabric, step.traffic, cluster.degree, 0)
        times_s.append(simulate("analytic", graph, ready).iteration_time_s)
    return min(times_s)


def closed_form_s(request: JobRequest) -> float:
    """Return the iteration time of a transformer's fastest configuration in closed form, on one switch.

    Raises
    ------
    InvalidInput
        If anything in the request is unknown, out of range, or does not go together.
    Infeasible
        If no configuration fits in memory.
    """
    ranked = ranked_configurations(training_request(request))
    return float(ranked.times.iteration_time_s.min())
