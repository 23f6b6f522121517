"""The main job: search, simulate, bound, compare, price; the result is a Plan."""

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from topoopt.cost import PriceTable, bill_of_materials, find_prices
from topoopt.errors import InvalidInput
from topoopt.finder import DEGREE_SPLITS
from topoopt.job import Job, job_traffic
from topoopt.plan import Baseline, Plan, SearchRecord
from topoopt.provenance import Provenance
from topoopt.routing import Fabric
from topoopt.search.alternating import fabric_for
from topoopt.search.baselines import BASELINES, DEFAULT_BASELINES, check_fabrics, search_baseline
from topoopt.search.chains import run_chains
from topoopt.search.options import SearchOptions
from topoopt.search.start import starting_strategy
from topoopt.search.worth import balanced, bounds, outcome, routing_gap, simulated, with_rings
from topoopt.simulate import SimResult
from topoopt.strategy import ParallelStrategy

Simulated = tuple[ParallelStrategy, Fabric, SimResult]
Progress = Callable[[str, int, int], None]
"""Called with what is going on, how much of it is done, and how much there is."""


def _silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


def make_plan(
    job: Job,
    options: SearchOptions,
    *,
    fabrics: tuple[str, ...] | None = None,
    prices: str = "2022",
    inputs: Mapping[str, str] | None = None,
    on_progress: Progress = _silent,
) -> Plan:
    """Co-optimize strategy, topology and routing for a job, and say what the answer is worth.

    Parameters
    ----------
    fabrics : names of baselines, optional
        Default: ideal switch, fat-tree (two bandwidths), oversubscribed fat-tree, expander, torus.
    prices : str
        A price table's name or file.
    inputs : digests by input, for the plan's provenance

    Raises
    ------
    Infeasible
        If memory is enforced and no strategy fits.
    InvalidInput
        For unknown names.
    """
    wanted = DEFAULT_BASELINES if fabrics is None else fabrics
    check_fabrics(wanted)
    table = find_prices(prices)
    plain = starting_strategy(job)
    wired, record = _wire(job, options) if len(job.fixed_traffic) else _search(job, options, on_progress)
    unsearched = _simulated(job, plain, fabric_for(job, plain, options), options)
    strategy, fabric, result = min([*wired, unsearched], key=lambda row: row[2].iteration_time_s)
    fabric, result = balanced(job, strategy, fabric, result)
    return Plan(
        job,
        strategy,
        fabric,
        outcome(result),
        bounds(job, result),
        routing_gap(fabric, job_traffic(job, strategy), result),
        record,
        Provenance(options.seed, dict(inputs or {})),
        outcome(unsearched[2]),
        {key: value for key, value in asdict(options).items() if key != "processes"},
        compare(job, options, wanted, table, (plain, strategy), on_progress),
        priced(job, table),
    )


def _search(job: Job, options: SearchOptions, on_progress: Progress) -> tuple[list[Simulated], SearchRecord]:
    made = 0

    def tick(proposals: int) -> None:
        nonlocal made
        made += proposals
        on_progress("searching strategy and topology", made, options.budget)

    chains = run_chains(job, options, tick)
    best = chains.best
    record = SearchRecord(
        chains.proposals, best.stopped_because, chains.chain_times_s, best.convergence, chains.cpu_s
    )
    return [_simulated(job, best.strategy, best.fabric, options)], record


def _wire(job: Job, options: SearchOptions) -> tuple[list[Simulated], SearchRecord]:
    """Wire a job known by its traffic alone, by each degree split; there is no strategy to search."""
    began = time.process_time()
    nothing = ParallelStrategy(job.cluster.servers, ())
    rows = [
        _simulated(job, nothing, fabric_for(job, nothing, replace(options, degree_split=split)), options)
        for split in DEGREE_SPLITS
    ]
    times_s = tuple(row[2].iteration_time_s for row in rows)
    return rows, SearchRecord(0, "fixed traffic", times_s, (), time.process_time() - began)


def _simulated(job: Job, strategy: ParallelStrategy, fabric: Fabric, options: SearchOptions) -> Simulated:
    ready = with_rings(fabric, job_traffic(job, strategy), job.cluster.degree, options.seed)
    return strategy, ready, simulated(job, strategy, ready)


def compare(
    job: Job,
    options: SearchOptions,
    fabrics: tuple[str, ...],
    prices: PriceTable,
    starts: tuple[ParallelStrategy, ...],
    on_progress: Progress = _silent,
    simulator: str = "analytic",
) -> tuple[Baseline, ...]:
    """Return the job on each fabric, in the order asked for, each with a strategy searched for it."""
    rules = [rule for fabric in fabrics for rule in BASELINES[fabric]]
    rows = []
    for index, rule in enumerate(rules):
        on_progress(f"searching for {rule.fabric}", index, len(rules))
        rows.append(search_baseline(job, rule, options, prices, starts, simulator))
    return tuple(rows)


def priced(job: Job, prices: PriceTable) -> dict[str, Any]:
    """Return the price of the plan's network, with the bill and the accounting; empty above the price list."""
    cluster = job.cluster
    try:
        bill = bill_of_materials(
            "topoopt", cluster.servers, cluster.degree, cluster.link_bandwidth_bps, prices
        )
    except InvalidInput as error:
        return {"cost_usd": None, "note": str(error)}
    return {
        "cost_usd": bill.cost_usd,
        "cost_per_server_usd": bill.cost_per_server_usd,
        "prices": bill.prices,
        "accounting": asdict(bill.accounting),
        "bill": [asdict(line) for line in bill.lines],
        "note": bill.note,
    }
