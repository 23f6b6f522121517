"""The main job: search, simulate, bound, compare, price; the result is a Plan.

Graphs of operators are searched by alternating optimization. A traffic matrix has no strategy, and a transformer has a
list of layouts: each of them is simulated on a network wired for it, by every rule. The closed form that ranked the
layouts has one bandwidth for all groups, so a layout that wires well can overtake one that ranks well.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from math import inf
from typing import Any

from topoopt.base.answers import Progress, Provenance, fields_of, silent
from topoopt.base.errors import TopoOptError
from topoopt.base.workers import in_threads
from topoopt.catalog import NETWORKS, OWN, Sizing, Table, compare, compared_by, sizings_of
from topoopt.finder import DEGREE_SPLITS, LARGEST_MATRIX, WIRING_NAMES, FinderRules, layout_splits
from topoopt.jobs import Job, TransformerWork, job_traffic
from topoopt.plans import Baseline, Outcome, Plan, SearchRecord
from topoopt.pricing import Pricing, network_bill, pricing_of
from topoopt.routing import Fabric
from topoopt.search.baselines import (
    ANALYTIC,
    Fidelity,
    baseline_fabric,
    baseline_row,
    check_fabrics,
    layouts_on_baselines,
    least_time_s,
    search_baselines,
    to_beat_s,
)
from topoopt.search.candidates.candidate import (
    WHOLE,
    Candidate,
    candidate_on,
    fabric_for,
    iteration_bounds,
    options_of,
    outcome,
    raced,
    routing_gap,
    simulated_candidate,
    wired_candidate,
    with_rings,
)
from topoopt.search.candidates.optimality_gap import gap_parts
from topoopt.search.candidates.wiring_choice import (
    MANY,
    balanced,
    chosen_wiring,
    other_wirings,
    splits_to_try,
)
from topoopt.search.gradient_buckets import as_asked, settled, tried_elsewhere
from topoopt.search.microbatches import cut_strategies, for_search, is_small
from topoopt.search.operator_search import Draft, Found, drafts_for, search_operators, told
from topoopt.search.options import SearchOptions
from topoopt.search.rival_wirings import best_of_pool, preference_s, rivals, settled_answer, unsettled_answer
from topoopt.simulation import AtLeast
from topoopt.transformers import weighed_s
from topoopt.workloads import ParallelStrategy, Traffic

MOST_OTHERS = 4
"""Wirings of other families that are simulated, for the best layout or a traffic matrix."""


def wire_traffic(
    job: Job, options: SearchOptions, on_progress: Progress, found: Found
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the simulated wiring by the requested degree split, and those by each split."""
    on_progress("wiring", 0, 0)
    began = time.process_time()
    strategy = job.work.plain_strategy(job.cluster.servers)
    rules_tried = _rules(options, job_traffic(job, strategy), job.cluster.degree)
    wirings = told((wired_candidate(job, strategy, rules, options.seed) for rules in rules_tried), found)
    rows = sorted(wirings, key=lambda row: list(DEGREE_SPLITS).index(row.rules.degree_split))
    best = min(rows, key=lambda row: row.time_s)
    for rules, fabric in other_wirings(job, best.strategy, best.fabric, options, MOST_OTHERS):
        rows.append(candidate_on(job, best.strategy, fabric, rules, options.seed))
        found(rows[-1])
    times_s = tuple(row.time_s for row in rows)
    return wirings[:1], rows, SearchRecord(0, "fixed traffic", times_s, (), time.process_time() - began)


def wire_layouts(
    job: Job, options: SearchOptions, on_progress: Progress, found: Found
) -> tuple[list[Candidate], list[Candidate], SearchRecord]:
    """Return the first layout and the one that is to be recommended, both simulated, and how it went.

    Each is wired by every rule, and only these two are kept: the result of a large simulation takes much memory.
    Ctrl-C ends with the candidates tried so far. A layout of a large job is dropped as soon as it cannot be the
    fastest; the record then has its lower bound.
    """
    began = time.process_time()
    first: Candidate | None = None
    chosen: list[Candidate] = []
    times_s, left_out = list[float](), list[int]()
    convergence: list[tuple[int, float]] = []
    strategies, because, wired = job.work.choices(job.cluster.servers), "every layout tried", 0
    for index, strategy in enumerate(strategies):
        on_progress("wiring for each layout", index, len(strategies))
        limit_s = to_beat_s(job, convergence[-1][1] if convergence else inf)
        try:
            wirings, least_s, networks = _raced(job, index, strategy, options, limit_s)
        except KeyboardInterrupt:
            if first is None:
                raise
            because = INTERRUPTED
            break
        wired += networks
        best = min(wirings, key=lambda row: row.time_s, default=None)
        times_s.append(best.time_s if best else least_s)
        if best is None:
            left_out.append(index)
            continue
        if not convergence or best.time_s < convergence[-1][1]:
            convergence.append((wired, best.time_s))
        found(best)
        first = first or best
        chosen = [recommended(job, [*chosen, best])]
    cpu_s = time.process_time() - began
    record = SearchRecord(wired, because, tuple(times_s), tuple(convergence), cpu_s, tuple(left_out))
    assert first is not None
    try:
        if because != INTERRUPTED:
            chosen = [recommended(job, [*chosen, *_on_other_wirings(job, chosen[0], options)])]
    except KeyboardInterrupt:
        record = replace(record, stopped_because=INTERRUPTED)
    return [first], chosen, record


def _on_other_wirings(job: Job, best: Candidate, options: SearchOptions) -> Iterator[Candidate]:
    """Yield the best layout on wirings of other families, except those proved not to be faster."""
    limit_s = to_beat_s(job, best.time_s)
    for rules, fabric in other_wirings(job, best.strategy, best.fabric, options, MOST_OTHERS):
        result = raced(job, best.strategy, fabric, limit_s)
        if not isinstance(result, AtLeast):
            yield simulated_candidate(job, best.strategy, fabric, rules, result)


def _raced(
    job: Job, index: int, strategy: ParallelStrategy, options: SearchOptions, limit_s: float
) -> tuple[list[Candidate], float, int]:
    """Return the wirings of a layout that may be the fastest, the least time of the others, and how many there are.

    ``limit_s`` is the time to beat; it falls with every wiring.
    """
    least_s = [least_time_s(job, index)] if limit_s < inf else []
    if least_s and least_s[0] >= limit_s:
        return [], least_s[0], 0
    wirings, beaten_s = list[Candidate](), list[float]()
    traffic = job_traffic(job, strategy)
    splits = _rules(options, traffic, job.cluster.degree)
    for rules in splits:
        fabric = fabric_for(job, strategy, rules, options.seed)
        ready = with_rings(fabric, traffic, job.cluster.degree, options.seed)
        result = raced(job, strategy, ready, limit_s)
        if isinstance(result, AtLeast):
            beaten_s.append(result.least_s)
            continue
        wirings.append(simulated_candidate(job, strategy, ready, rules, result))
        limit_s = min(limit_s, to_beat_s(job, result.iteration_time_s))
    return wirings, min(beaten_s, default=0.0), len(splits)


INTERRUPTED = "interrupted"
"""Why a search stopped, and why networks are not compared."""
NEAR = 1.02
"""Factor of the fastest up to which a wiring may become it: balanced routes gain some percent."""
MOST_BALANCED = 3
"""Candidates whose routes are balanced; of many servers only the best, which takes seconds."""
SEARCHES: Mapping[
    str,
    Callable[[Job, SearchOptions, Progress, Found], tuple[list[Candidate], list[Candidate], SearchRecord]],
] = {"operators": search_operators, "traffic": wire_traffic, "transformer": wire_layouts}
"""Searches by kind of work; each returns its starts, its candidates, and its record."""


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
    """Co-optimize strategy, topology and routing for a job, with bounds and caveats.

    Parameters
    ----------
    fabrics : names of baselines, optional
        Default: ideal switch, fat-tree (two bandwidths), oversubscribed fat-tree, rails, expander, torus.
    prices : Pricing, optional
        Price list, accounting and options of networks; the defaults if None.
    inputs : digests by input, for the plan's provenance
    on_draft : function of a Draft, optional
        Called during the search with each answer faster than all before it.
    weigh_routes : bool
        Whether to search for the optimal routing of the plan's transfers, to report the distance to it.

    Raises
    ------
    Infeasible
        If memory is enforced and no strategy fits.
    InvalidInput
        For unknown names.
    """
    asked, job = job, for_search(job)
    names = compared_by("plan") if fabrics is None else fabrics
    check_fabrics(names)
    table = pricing_of() if prices is None else prices
    sizes = sizes_beside(job, names, table)
    starts, searched, record = SEARCHES[job.work.kind](job, options, on_progress, drafts_for(on_draft))
    unnamed = sizes_beside(job, _wirings_beside(job, names, options), table)
    searched_for, looked_at, answer = job, [*searched, *starts], None
    baselines, skipped = tuple[Baseline, ...](), tuple((size.label, INTERRUPTED) for size in sizes)
    try:
        best, looked_at = best_candidate(job, looked_at, balance=options.balance)
        if record.stopped_because == INTERRUPTED:
            raise KeyboardInterrupt  # nothing more is tried, and no other network
        answer = best_of_pool(job, asked, settled_answer(job, asked, best), options)
        beside, tried = tried_elsewhere(answer.job, answer.gradients)
        fidelity = Fidelity(options=options_of(asked), tried=tried)
        known = starts[0].strategy, answer.candidate.strategy
        baselines, skipped = compare_job(
            beside, options, (*sizes, *unnamed), table, known, on_progress, fidelity
        )
        if options.any_wiring:
            others = rivals(searched_for, asked, answer, looked_at, baselines, options)
            answer = min((answer, *others), key=preference_s)
    except KeyboardInterrupt:  # everything found so far is kept
        answer = answer or unsettled_answer(job, recommended(job, looked_at))
        record = replace(record, stopped_because=INTERRUPTED)
    hidden = {size.label for size in unnamed}
    baselines = tuple(row for row in baselines if row.label not in hidden)
    skipped = tuple(row for row in skipped if row[0] not in hidden)
    job, best, gradients = answer.job, answer.candidate, answer.gradients
    least = iteration_bounds(job, best.strategy, best.result, as_asked(job, gradients))
    routing = routing_gap(best.fabric, job_traffic(job, best.strategy), best.result, compute=weigh_routes)
    record = record if routing.method != INTERRUPTED else replace(record, stopped_because=INTERRUPTED)
    result = outcome(best.result)
    as_planned = rows_as_planned(job, best.strategy, best.fabric, result, sizes, table)
    return Plan(
        job,
        best.strategy,
        best.fabric,
        result,
        least,
        routing,
        record,
        Provenance(options.seed, dict(inputs or {})),
        outcome(starts[0].result_again(job)),
        {key: value for key, value in asdict(options).items() if key != "processes"},
        (*as_planned, *baselines),
        priced(job, table),
        skipped,
        best.rules,
        wiring=chosen_wiring(job, best, looked_at),
        gap_parts=gap_parts(
            job, best.strategy, best.fabric, best.result, least, optimal_load_s=routing.optimal_load_s
        ),
        gradients=gradients,
    )


def _wirings_beside(job: Job, names: Sequence[str], options: SearchOptions) -> tuple[str, ...]:
    """Return the compared networks of cables that are not named: a plan looks at their wirings all the same."""
    if not options.any_wiring or not is_small(job):
        return ()
    return tuple(name for name in compared_by("plan") if name in WIRING_NAMES and name not in names)


def sizes_beside(job: Job, names: Sequence[str], prices: Pricing) -> tuple[Sizing, ...]:
    """Return the sizings of networks that a job is compared on.

    Transformers have a NIC for each accelerator. No such server can be bought for the published d·B/3.2, which is for
    them a matter of the papers' accounting alone.
    """
    return sizings_of(names, job.work.kind == "transformer" and prices.accounting.switches != "ports")


def compare_job(
    job: Job,
    options: SearchOptions,
    sizes: Iterable[Sizing],
    prices: Pricing,
    starts: tuple[ParallelStrategy, ...],
    on_progress: Progress = silent,
    fidelity: Fidelity = ANALYTIC,
    required: bool = False,
) -> Table[Baseline]:
    """Return the job on each fabric, in the given order, each with a strategy searched for it.

    A fabric that cannot be built with these interfaces, or has no price to be dimensioned by, is omitted, or an error
    where it is ``required``; so are those of :func:`rows_as_planned`. For a transformer every layout is tried. At the
    end other gradient buckets are tried, and an algorithm for each message, by the fidelity.
    """
    layouts = job.work.choices(job.cluster.servers)
    built, skipped = compare(
        (size for size in sizes if NETWORKS[size.fabric].is_built),
        lambda size: (size, baseline_fabric(job, size, prices, options.seed)),
        lambda size: size.label,
        required=required,
    )
    if layouts:
        rows = layouts_on_baselines(
            job, built, layouts, prices, options.seed, fidelity, on_progress, options.balance
        )
        return Table(rows, skipped)
    found = search_baselines(job, built, options, prices, starts, fidelity.of_search, on_progress)
    cut = cut_strategies(job, options) if dict(fidelity.tried).get("microbatches") else ()
    rows = tuple(in_threads(lambda row: settled(job, *row, options.seed, fidelity, cut), found))
    return Table(rows, skipped)


def rows_as_planned(
    job: Job,
    strategy: ParallelStrategy,
    fabric: Fabric,
    result: Outcome,
    sizes: Iterable[Sizing],
    prices: Pricing,
) -> tuple[Baseline, ...]:
    """Return those fabrics that carry a job as the plan's own does, each with its price: direct cables, circuits."""
    return tuple(
        baseline_row(job, size, prices, result, strategy, 0, fabric)
        for size in sizes
        if NETWORKS[size.fabric].timed_as == OWN
    )


def priced(job: Job, prices: Pricing) -> dict[str, Any]:
    """Return the price of the plan's network, with the bill and the accounting; or a note on its absence."""
    cluster = job.cluster
    try:
        bill = network_bill(OWN, cluster.servers, cluster.degree, cluster.link_bandwidth_bps, prices)
    except TopoOptError as error:
        return {"cost_usd": None, "note": str(error)}
    missing = f"no price of {', '.join(bill.price_missing)}" if bill.price_missing else ""
    return {
        **fields_of(bill, "cost_usd", "cost_per_server_usd", "power_w", "cost_parts_usd", "prices"),
        "accounting": asdict(bill.accounting),
        "link_technology": prices.options.link_technology,
        "fiber_length_m": bill.fiber_length_m,
        "bill": [asdict(line) for line in bill.lines],
        "note": "; ".join(part for part in (bill.note, missing) if part),
    }


def best_candidate(
    job: Job, candidates: Iterable[Candidate], *, balance: bool
) -> tuple[Candidate, list[Candidate]]:
    """Return the recommended layout and all considered ones; the fastest of each wiring is balanced."""
    rows = list(candidates)
    best = recommended(job, rows)
    if not balance:
        return best, rows
    ranked = sorted((row for row in rows if row.time_s <= NEAR * best.time_s), key=lambda row: row.time_s)
    of_each = {row.rules.wiring: row for row in reversed([*ranked, best])}
    tried = [best, *(row for row in of_each.values() if row is not best)]
    tried = tried[: MOST_BALANCED if job.cluster.servers <= MANY else 1]
    alone = job.work.kind != "operators"  # pipelined steps keep what they have played, one at a time
    better = [balanced(job, row) for row in tried] if alone else in_threads(partial(balanced, job), tried)
    return recommended(job, better), [*rows, *better]


def _rules(options: SearchOptions, traffic: Traffic, degree: int) -> list[FinderRules]:
    """Return the rules with every degree split, the requested one first; without matchings of very many servers."""
    splits = splits_to_try(options, layout_splits(traffic, degree))
    if traffic.servers > LARGEST_MATRIX and options.degree_split == SearchOptions().degree_split:
        splits = (WHOLE,)
    return [replace(options.rules, degree_split=split) for split in splits]


def recommended(job: Job, candidates: Iterable[Candidate]) -> Candidate:
    """Return the fastest candidate, where one that leaves next to no memory free counts as a percent slower."""

    def weight(row: Candidate) -> float:
        if not isinstance(job.work, TransformerWork):
            return row.time_s
        needed = job.work.layout(row.strategy).total_memory_bytes
        return float(weighed_s(row.time_s, needed, job.work.capacity_bytes))

    return min(candidates, key=weight)


def plan_on(job: Job, fabric: Fabric, prices: Pricing) -> Plan:
    """Return the plan of a job of known traffic on a fabric, as every verb and every format takes one."""
    options = SearchOptions()
    strategy = job.work.plain_strategy(job.cluster.servers)
    best = candidate_on(job, strategy, fabric, options.rules, options.seed)
    least = iteration_bounds(job, strategy, best.result)
    routing = routing_gap(best.fabric, job_traffic(job, strategy), best.result)
    figures = outcome(best.result)
    return Plan(
        job,
        strategy,
        best.fabric,
        figures,
        least,
        routing,
        SearchRecord(0, "links were given", (best.time_s,), (), 0.0),
        Provenance(options.seed, {}),
        figures,
        {key: value for key, value in asdict(options).items() if key != "processes"},
        (),
        priced(job, prices),
        (),
        best.rules,
        wiring=chosen_wiring(job, best, ()),
        gap_parts=gap_parts(
            job, strategy, best.fabric, best.result, least, optimal_load_s=routing.optimal_load_s
        ),
    )
