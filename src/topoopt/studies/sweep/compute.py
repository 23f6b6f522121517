"""A task computed: its plan once, then every requested fabric and simulator."""

import time
import traceback
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from topoopt.base.answers import fields_of
from topoopt.base.errors import TopoOptError
from topoopt.catalog import NETWORKS, OWN, Sizing
from topoopt.finder import WIRING_NAMES
from topoopt.jobs import Job, JobRequest, training_of_text
from topoopt.plans import Baseline, GradientChoice, Plan
from topoopt.pricing import Pricing, known_price, pricing_of
from topoopt.search import (
    Fidelity,
    as_settled,
    baseline_row,
    compare_job,
    fabric_of_baseline,
    is_transformer,
    job_of,
    job_of_baseline,
    make_plan,
    outcome,
    simulated,
    starting_strategy,
    task_graph_of,
    tried_elsewhere,
)
from topoopt.simulation import SimulationOptions, collective_options, simulate
from topoopt.studies.sweep.axes import request_of
from topoopt.studies.sweep.point import FAILED, INFEASIBLE, OK, Answer, Point, Task, layout_values
from topoopt.workloads import OperatorSplit, ParallelStrategy

MOST_KEPT = 48
"""Jobs, and as many plans, of few servers; of many the last one."""
FEW_SERVERS = 64
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Made:
    """Results computed so far, by key: the settings of a plan, and the folder of its files."""

    jobs: OrderedDict[tuple[str, str], Job | TopoOptError] = field(default_factory=OrderedDict)
    plans: OrderedDict[tuple[str, str], Plan | TopoOptError] = field(default_factory=OrderedDict)

    def job(self, point: Point, folder: str) -> Job:
        """Return the point's job.

        Raises
        ------
        TopoOptError
            If it cannot be, also where that was found before.
        """
        return _once(self.jobs, point, folder, lambda: _job(point, folder))

    def plan(self, point: Point, folder: str) -> Plan:
        """Return the point's plan, beside the other wirings of its ports.

        Raises
        ------
        TopoOptError
            As :meth:`job`.
        """

        def make() -> Plan:
            options = point.options()
            wired = NETWORKS.that(lambda one: one.name in WIRING_NAMES and not one.own_ports)
            beside = (
                wired if options.any_wiring else ()
            )  # a plan is never slower than other wirings of its ports
            return make_plan(self.job(point, folder), options, fabrics=beside, weigh_routes=False)

        return _once(self.plans, point, folder, make)

    def known_plan(self, point: Point, folder: str) -> Plan | None:
        """Return the point's plan if it was made."""
        found = self.plans.get((point.plan_digest, folder))
        return None if isinstance(found, TopoOptError) else found


def solve(task: Task, made: Made | None = None) -> Iterator[Answer]:
    """Yield the answers of a task's points, in order.

    A point's answer depends on its own settings alone: it is that of ``topoopt plan`` with ``--fabrics
    expander,torus`` and, for another fabric, of ``topoopt compare --fabrics`` with that fabric alone, with the
    same settings.

    Parameters
    ----------
    made
        Jobs and plans of earlier tasks, which are taken from there; and where those of this one go.
    """
    made = Made() if made is None else made
    for point in task.points:
        began = time.process_time()
        status, error, values = _attempt(partial(_values, point, made, task.folder))
        yield Answer(point, status, error, values, time.process_time() - began)


def _attempt(compute: Callable[[], dict[str, Any]]) -> tuple[str, str, dict[str, Any]]:
    try:
        return OK, "", compute()
    except TopoOptError as error:
        return INFEASIBLE, str(error), {}
    except Exception as error:  # one broken point must not take the others with it
        last = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(last.filename).name}:{last.lineno}"
        return FAILED, " ".join(f"{type(error).__name__}: {error} ({where})".split()), {}


def _values(point: Point, made: Made, folder: str) -> dict[str, Any]:
    prices = pricing_of(point.prices, point.accounting, folder=folder)
    rule = NETWORKS.sizings().get(point.fabric)
    own = rule is None
    # one duplex port joins servers in pairs: other fabrics, which want it no less, stand beside a plan of one-way links
    wired = point if own or point.degree > 1 else replace(point, links="directed")
    job = made.job(wired, folder)
    # of a transformer every layout is tried on every fabric, with a plan beside it or without one
    needed = own or not job.work.choices(point.servers)
    plan = made.plan(wired, folder) if needed else made.known_plan(wired, folder)
    if rule is None:
        assert plan is not None
        job, row = plan.job, _own(point, plan, prices)
    else:
        job = job if plan is None else plan.job
        row = _baseline(point, job, plan, rule, prices)
    cluster = job.cluster
    bound_s = plan.bounds.lower_bound_s if own and plan else None
    layout = layout_values(job, row.strategy, row.outcome.iteration_time_s)
    return {
        "variant": job.name,
        "accelerators": cluster.total_accelerators,
        "global_batch": job.global_batch,
        "simulated_by": row.outcome.simulator,
        **fields_of(
            row.outcome,
            "iteration_time_s",
            "compute_time_s",
            "exposed_communication_s",
            "bandwidth_tax",
            "link_bytes_max",
        ),
        "lower_bound_s": bound_s,
        "gap": row.outcome.iteration_time_s / bound_s - 1 if bound_s else None,
        "data_parallel_time_s": plan.data_parallel.iteration_time_s if own and plan and not layout else None,
        **fields_of(row, "server_bandwidth_bps", "cost_usd", "power_w"),
        "strategy": job.work.strategy_name(row.strategy) or split_words(row.strategy),
        "plan_strides": list(plan.strides) if own and plan else None,
        "proposals": row.proposals,
        **layout,
    }


def _own(point: Point, plan: Plan, prices: Pricing) -> Baseline:
    result = plan.outcome
    if point.simulator != result.simulator:
        options = as_settled(_simulation(point), result)
        result = outcome(simulated(plan.job, plan.strategy, plan.fabric, point.simulator, options))
    found = result, plan.strategy, plan.search.proposals, plan.fabric
    return baseline_row(plan.job, Sizing(OWN, ""), prices, *found)


def _baseline(point: Point, job: Job, plan: Plan | None, rule: Sizing, prices: Pricing) -> Baseline:
    if plan is not None and point.simulator == "analytic":
        for beside in plan.baselines:  # what the plan itself was compared with is not searched again
            if beside.rule == rule.key:
                price = known_price(rule.fabric, point.servers, *rule.interfaces(job.cluster, prices), prices)
                return replace(beside, **price.columns)
    options = _simulation(point)
    # A search with packets would take too long: it is made with flows, and its answer simulated with packets.
    quick = "flow" if point.simulator == "packet" else point.simulator
    starts = (starting_strategy(job), plan.strategy) if plan else ()
    job, tried = tried_elsewhere(job, plan.gradients if plan else GradientChoice())
    fidelity = Fidelity(quick, replace(options, split="spread"), tried)
    (row,) = compare_job(job, point.options(), (rule,), prices, starts, fidelity=fidelity, required=True).rows
    result = row.outcome
    if point.simulator != quick:
        drawn = fabric_of_baseline(job, row, point.seed, switches=True)
        settled_options = as_settled(options, result)
        graph = task_graph_of(job_of_baseline(job, row), row.strategy)
        result = outcome(simulate(point.simulator, graph, drawn, settled_options))
    return replace(row, outcome=result)


def _simulation(point: Point) -> SimulationOptions:
    """Return the options that compare has for the same simulator; with packets a transfer takes one path."""
    if point.simulator == "packet":
        return replace(collective_options(point.collective), split="one", seed=point.seed)
    return collective_options(point.collective)


def split_words(strategy: ParallelStrategy) -> str:
    """Return the number of operators by split, the most frequent first; empty for a job of bytes alone.

    Examples
    --------
    >>> from topoopt.workloads import OperatorSplit, ParallelStrategy
    >>> whole, copies = OperatorSplit(1, 3, 1, "none"), OperatorSplit(8, 0, 1, "none")
    >>> split_words(ParallelStrategy(8, (copies, copies, whole)))
    '2 data parallel in 8; 1 whole'
    """
    kinds = Counter(_how(split) for split in strategy.splits)
    return "; ".join(f"{count} {how}" for how, count in kinds.most_common())


def _how(split: OperatorSplit) -> str:
    channels = f"{split.channel_dim} split in {split.channel_degree}" if split.channel_degree > 1 else ""
    copies = f"data parallel in {split.batch_degree}" if split.batch_degree > 1 else ""
    return ", ".join(filter(None, (channels, copies))) or "whole"


def _once(
    kept: OrderedDict[tuple[str, str], T | TopoOptError], point: Point, folder: str, make: Callable[[], T]
) -> T:
    key = point.plan_digest, folder
    if key not in kept:
        while len(kept) >= (MOST_KEPT if point.servers <= FEW_SERVERS else 1):
            kept.popitem(last=False)
        try:
            kept[key] = make()
        except TopoOptError as error:
            kept[key] = error
    found = kept[key]
    if isinstance(found, TopoOptError):
        raise found
    return found


def _job(point: Point, folder: str) -> Job:
    request = request_of(point.model, folder)
    of_point = JobRequest(cluster=asdict(point.cluster()))
    if is_transformer(request):
        training = training_of_text(point.training, "training")
        of_point = replace(of_point, training=training, settings={"precision": point.precision})
        kept = {word: value for word, value in request.training.items() if word != "accelerators"}
        return job_of(replace(request, search={}, training=kept).overlaid(of_point))
    if not request.traffic:
        settings = asdict(point.settings())
        of_point = replace(of_point, settings=settings, batch_per_accelerator=point.batch_per_accelerator)
    return job_of(replace(request, search={}).overlaid(of_point))
