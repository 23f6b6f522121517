"""The layouts of a transformer on the fabrics that a plan is compared with: each is simulated on every one."""

from collections.abc import Mapping, Sequence

from topoopt.cost import PartTable
from topoopt.job import Job
from topoopt.plan import Baseline, Outcome
from topoopt.routing import Fabric
from topoopt.search.baselines import LARGEST_TO_TRY_ALL, BaselineRule, outcome_on, price_usd, ringed
from topoopt.search.fidelity import Fidelity
from topoopt.search.progress import Progress
from topoopt.search.worth_simulating import least_time_s
from topoopt.strategy import ParallelStrategy


def layouts_on_baselines(
    job: Job,
    fabrics: Sequence[tuple[BaselineRule, Fabric]],
    layouts: Sequence[ParallelStrategy],
    prices: PartTable,
    seed: int,
    fidelity: Fidelity,
    on_progress: Progress,
) -> tuple[Baseline, ...]:
    """Return each fabric with the fastest layout on it.

    A layout goes through all fabrics before the next one, for its task graph is large. On circuits that change only
    the first is tried for more than :data:`LARGEST_TO_TRY_ALL` servers. Of a large job a layout is left out that could
    not be the fastest if communication were free, and has that time.
    """
    ready = [_ready(job, fabric, layouts, seed) for _, fabric in fabrics]
    tried: list[dict[int, Outcome]] = [{} for _ in fabrics]
    times_s: list[list[float]] = [[] for _ in fabrics]
    for index, layout in enumerate(layouts):
        on_progress("simulating other fabrics", index, len(layouts))
        least_s = least_time_s(job, index)
        for place, laid in enumerate(ready):
            if index and least_s >= min(times_s[place]):
                times_s[place].append(least_s)
            elif index < len(laid):
                tried[place][index] = outcome_on(job, layout, laid[index], fidelity)
                times_s[place].append(tried[place][index].iteration_time_s)
    return tuple(
        _baseline(job, rule, outcomes, of_layouts, layouts, prices)
        for (rule, _), outcomes, of_layouts in zip(fabrics, tried, times_s, strict=True)
    )


def _ready(job: Job, fabric: Fabric, layouts: Sequence[ParallelStrategy], seed: int) -> list[Fabric]:
    """Return the fabric with rings for each layout that is tried on it."""
    changes = fabric.reconfiguration is not None and job.cluster.servers > LARGEST_TO_TRY_ALL
    return [ringed(job, layout, fabric, seed) for layout in layouts[: 1 if changes else None]]


def _baseline(
    job: Job,
    rule: BaselineRule,
    outcomes: Mapping[int, Outcome],
    times_s: Sequence[float],
    layouts: Sequence[ParallelStrategy],
    prices: PartTable,
) -> Baseline:
    best = min(outcomes, key=lambda index: outcomes[index].iteration_time_s)
    interfaces, bandwidth_bps = rule.interfaces(job.cluster, prices)
    return Baseline(
        rule.fabric,
        rule.description,
        interfaces * bandwidth_bps,
        outcomes[best],
        price_usd(rule.fabric, job.cluster.servers, interfaces, bandwidth_bps, prices),
        layouts[best],
        0,
        tuple(times_s) if len(times_s) == len(layouts) else (),
        rule.key,
    )
