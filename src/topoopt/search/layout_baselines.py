"""The layouts of a transformer on the fabrics that a plan is compared with: each is simulated on every one."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import inf

from topoopt.jobs import Job, job_traffic
from topoopt.plans import Baseline, Outcome
from topoopt.pricing import Pricing
from topoopt.routing import Fabric
from topoopt.search.balance import balanced_fabric
from topoopt.search.baselines import LARGEST_TO_TRY_ALL, BaselineRule, baseline_row, outcome_on, ringed
from topoopt.search.fidelity import ANALYTIC, Fidelity
from topoopt.search.progress import Progress
from topoopt.search.worth import outcome, raced
from topoopt.search.worth_simulating import least_time_s, to_beat_s
from topoopt.simulation import AtLeast
from topoopt.workloads.strategy import ParallelStrategy


def layouts_on_baselines(
    job: Job,
    fabrics: Sequence[tuple[BaselineRule, Fabric]],
    layouts: Sequence[ParallelStrategy],
    prices: Pricing,
    seed: int,
    fidelity: Fidelity,
    on_progress: Progress,
    balance: bool = True,
) -> tuple[Baseline, ...]:
    """Return each fabric with the fastest layout on it, at the end with balanced routes where these make it faster.

    A layout goes through all fabrics before the next one, for its task graph is large. On circuits that change only
    the first is tried for more than :data:`LARGEST_TO_TRY_ALL` servers. Of a large job a layout is left out as soon as
    it shows that it cannot be the fastest, and has the time that it takes at least.
    """
    ready = [_ready(job, fabric, layouts, seed) for _, fabric in fabrics]
    tried: list[dict[int, Outcome]] = [{} for _ in fabrics]
    times_s: list[list[float]] = [[] for _ in fabrics]
    for index, layout in enumerate(layouts):
        on_progress("simulating other fabrics", index, len(layouts))
        for place, laid in enumerate(ready):
            if index < len(laid):
                limit_s = to_beat_s(job, min(times_s[place], default=inf))
                found = _raced(job, index, layout, laid[index], fidelity, limit_s)
                if isinstance(found, AtLeast):
                    times_s[place].append(found.least_s)
                    continue
                tried[place][index] = found
                times_s[place].append(found.iteration_time_s)
    rows = []
    for place, (rule, fabric) in enumerate(fabrics):
        row = _baseline(job, rule, fabric, tried[place], times_s[place], layouts, prices)
        rows.append(_balanced(job, row, ready[place], layouts, fidelity) if balance else row)
    return tuple(rows)


def _balanced(
    job: Job, row: Baseline, ready: Sequence[Fabric], layouts: Sequence[ParallelStrategy], fidelity: Fidelity
) -> Baseline:
    """Return the row with the routes that suit its layout best."""
    index = layouts.index(row.strategy)
    other = balanced_fabric(job_traffic(job, row.strategy), ready[index])
    if other is ready[index]:
        return row
    again = outcome_on(job, row.strategy, other, fidelity)
    if again.iteration_time_s >= row.outcome.iteration_time_s:
        return row
    times_s = list(row.layout_times_s)
    if times_s:
        times_s[index] = again.iteration_time_s
    return replace(row, outcome=again, layout_times_s=tuple(times_s), routes=other.routes.method)


def _raced(
    job: Job, index: int, layout: ParallelStrategy, fabric: Fabric, fidelity: Fidelity, limit_s: float
) -> Outcome | AtLeast:
    """Return what a layout takes on a fabric, or at least if that is not less than ``limit_s``."""
    if limit_s == inf:
        return outcome_on(job, layout, fabric, fidelity)
    least_s = least_time_s(job, index)
    if least_s >= limit_s:
        return AtLeast(least_s)
    if fidelity != ANALYTIC or fabric.reconfiguration is not None:
        return outcome_on(job, layout, fabric, fidelity)
    result = raced(job, layout, fabric, limit_s)
    return result if isinstance(result, AtLeast) else outcome(result)


def _ready(job: Job, fabric: Fabric, layouts: Sequence[ParallelStrategy], seed: int) -> list[Fabric]:
    """Return the fabric with rings for each layout that is tried on it."""
    changes = fabric.reconfiguration is not None and job.cluster.servers > LARGEST_TO_TRY_ALL
    return [ringed(job, layout, fabric, seed) for layout in layouts[: 1 if changes else None]]


def _baseline(
    job: Job,
    rule: BaselineRule,
    fabric: Fabric,
    outcomes: Mapping[int, Outcome],
    times_s: Sequence[float],
    layouts: Sequence[ParallelStrategy],
    prices: Pricing,
) -> Baseline:
    best = min(outcomes, key=lambda index: outcomes[index].iteration_time_s)
    all_tried = len(times_s) == len(layouts)
    row = baseline_row(job, rule, prices, outcomes[best], layouts[best], 0, fabric)
    left_out = tuple(index for index in range(len(layouts)) if index not in outcomes) if all_tried else ()
    return replace(row, layout_times_s=tuple(times_s) if all_tried else (), left_out=left_out)
