"""The main job: search, simulate, bound, compare, price; the result is a Plan."""

from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

from topoopt.base.errors import TopoOptError
from topoopt.base.provenance import Provenance
from topoopt.base.workers import in_threads
from topoopt.jobs import Job, job_traffic
from topoopt.plans import Baseline, Plan, SearchRecord
from topoopt.pricing import Pricing, network_bill, pricing_of
from topoopt.routing import Fabric
from topoopt.search.baseline_search import search_baselines
from topoopt.search.baselines import (
    BASELINES,
    DEFAULT_BASELINES,
    BaselineRule,
    baseline_fabric,
    check_fabrics,
)
from topoopt.search.best_candidate import best_candidate
from topoopt.search.candidate import Candidate
from topoopt.search.chosen_wiring import chosen_wiring
from topoopt.search.draft import Draft, Found, drafts_for
from topoopt.search.fidelity import ANALYTIC, Fidelity
from topoopt.search.gap_parts import gap_parts
from topoopt.search.gradients import for_search, settled, sizes_elsewhere
from topoopt.search.layout_baselines import layouts_on_baselines
from topoopt.search.operators import search_operators
from topoopt.search.options import SearchOptions
from topoopt.search.progress import Progress, silent
from topoopt.search.rivals import preference_s, rivals, settled_answer
from topoopt.search.wiring import wire_layouts, wire_traffic
from topoopt.search.worth import bounds, options_of, outcome, routing_gap
from topoopt.workloads.strategy import ParallelStrategy

SEARCHES: Mapping[
    str,
    Callable[[Job, SearchOptions, Progress, Found], tuple[list[Candidate], list[Candidate], SearchRecord]],
] = {"operators": search_operators, "traffic": wire_traffic, "transformer": wire_layouts}
"""By kind of work: the search that returns what it starts from, what it has found, and how it went."""


def make_plan(
    job: Job,
    options: SearchOptions,
    *,
    fabrics: tuple[str, ...] | None = None,
    prices: Pricing | None = None,
    inputs: Mapping[str, str] | None = None,
    on_progress: Progress = silent,
    on_draft: Callable[[Draft], None] | None = None,
    weigh_routes: bool = True,
) -> Plan:
    """Co-optimize strategy, topology and routing for a job, and say what the answer is worth.

    Parameters
    ----------
    fabrics : names of baselines, optional
        Default: ideal switch, fat-tree (two bandwidths), oversubscribed fat-tree, rails, expander, torus.
    prices : Pricing, optional
        By which list, accounting and choices networks are priced; the usual ones where not given.
    inputs : digests by input, for the plan's provenance
    on_draft : function of a Draft, optional
        Called with each answer that is faster than all before it, while the search goes on.
    weigh_routes : bool
        Whether the best routing of the plan's transfers is looked for, to say how far its own is from it.

    Raises
    ------
    Infeasible
        If memory is enforced and no strategy fits.
    InvalidInput
        For unknown names.
    """
    asked, job = job, for_search(job)
    names = DEFAULT_BASELINES if fabrics is None else fabrics
    check_fabrics(names)
    table = pricing_of() if prices is None else prices
    starts, searched, record = SEARCHES[job.work.kind](job, options, on_progress, drafts_for(on_draft))
    best, looked_at = best_candidate(job, [*searched, *starts], balance=options.balance)
    searched_for, answer = job, settled_answer(job, asked, best)
    skipped: list[tuple[str, str]] = []
    baselines = compare(
        answer.job,
        options,
        names,
        table,
        (starts[0].strategy, best.strategy),
        on_progress,
        Fidelity(options=options_of(asked), bucket_sizes=sizes_elsewhere(answer.job, answer.gradients)),
        on_skip=lambda *row: skipped.append(row),
    )
    if options.any_wiring:
        answer = min(
            (answer, *rivals(searched_for, asked, answer, looked_at, baselines, options)),
            key=preference_s,
        )
    job, best, gradients = answer.job, answer.candidate, answer.gradients
    least = bounds(job, best.strategy, best.result)
    routing = routing_gap(best.fabric, job_traffic(job, best.strategy), best.result, compute=weigh_routes)
    return Plan(
        job,
        best.strategy,
        best.fabric,
        outcome(best.result),
        least,
        routing,
        record,
        Provenance(options.seed, dict(inputs or {})),
        outcome(starts[0].result_again(job)),
        {key: value for key, value in asdict(options).items() if key != "processes"},
        baselines,
        priced(job, table),
        tuple(skipped),
        best.rules,
        wiring=chosen_wiring(job, best, looked_at),
        gap_parts=gap_parts(
            job, best.strategy, best.fabric, best.result, least, optimal_load_s=routing.optimal_load_s
        ),
        gradients=gradients,
    )


def compare(
    job: Job,
    options: SearchOptions,
    fabrics: tuple[str, ...],
    prices: Pricing,
    starts: tuple[ParallelStrategy, ...],
    on_progress: Progress = silent,
    fidelity: Fidelity = ANALYTIC,
    on_skip: Callable[[str, str], None] = lambda fabric, reason: None,
) -> tuple[Baseline, ...]:
    """Return the job on each fabric, in the order asked for, each with a strategy searched for it.

    A fabric that cannot be built with these interfaces, or has no price to be dimensioned by, is left out and
    ``on_skip`` told why. For a transformer every layout is tried on every fabric. At the end other gradient
    buckets are tried, and an algorithm for each message, where the fidelity says so.
    """
    layouts, asked, fidelity = job.work.choices(job.cluster.servers), fidelity, fidelity.of_search
    built: list[tuple[BaselineRule, Fabric]] = []
    for rule in (rule for fabric in fabrics for rule in BASELINES[fabric]):
        try:
            built.append((rule, baseline_fabric(job, rule, prices, options.seed)))
        except TopoOptError as error:
            on_skip(rule.label, str(error))
    if layouts:
        return layouts_on_baselines(
            job, built, layouts, prices, options.seed, asked, on_progress, options.balance
        )
    rows = search_baselines(job, built, options, prices, starts, fidelity, on_progress)
    return tuple(in_threads(lambda row: settled(job, *row, options.seed, asked), rows))


def priced(job: Job, prices: Pricing) -> dict[str, Any]:
    """Return the price of the plan's network, with the bill and the accounting; a note says why there is none."""
    cluster = job.cluster
    try:
        bill = network_bill("topoopt", cluster.servers, cluster.degree, cluster.link_bandwidth_bps, prices)
    except TopoOptError as error:
        return {"cost_usd": None, "note": str(error)}
    missing = f"no price of {', '.join(bill.price_missing)}" if bill.price_missing else ""
    return {
        "cost_usd": bill.cost_usd,
        "cost_per_server_usd": bill.cost_per_server_usd,
        "power_w": bill.power_w,
        "prices": bill.prices,
        "accounting": asdict(bill.accounting),
        "link_technology": prices.options.link_technology,
        "fiber_length_m": bill.fiber_length_m,
        "bill": [asdict(line) for line in bill.lines],
        "note": "; ".join(part for part in (bill.note, missing) if part),
    }
