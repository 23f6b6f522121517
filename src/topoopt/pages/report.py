"""Report of any answer, detected by the content of the file; the pictures of a plan."""

from dataclasses import replace
from math import isfinite
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_bandwidth, format_bytes, format_time, time_within
from topoopt.clusters import ClusterResult, result_from_mapping
from topoopt.jobs import TransformerWork
from topoopt.pages.answer_page import page_of
from topoopt.pages.chart import BarChart, LineChart, Series
from topoopt.pages.cost_tables import owned_rows, ownership_sections, ownership_tiles
from topoopt.pages.fabric_tables import (
    advice,
    cost_against_time,
    fabric_notes,
    fabric_table,
    figure_table,
    outcome_figures,
    price_notes,
    time_by_fabric,
    time_tiles,
)
from topoopt.pages.json_page import json_page
from topoopt.pages.operators_page import bill_blocks
from topoopt.pages.page import Block, Page, Section, Tile
from topoopt.pages.plan_facts import (
    bounds_facts,
    hops_chart,
    network_facts,
    served_headline,
    served_sections,
    served_tiles,
    time_facts,
    topology_circle,
    trust,
    work_page,
)
from topoopt.pages.screen import UNROLLED_FROM
from topoopt.pages.tables import Entries, counted, facts, usd
from topoopt.pages.work_page import link_load_distribution, traffic_maps, where_the_time_goes
from topoopt.plans import (
    COMPARISON_FORMAT,
    ComparedFabric,
    Comparison,
    Plan,
    compared_fabrics,
    comparison_from_mapping,
    plan_from_mapping,
)
from topoopt.schema.files import read_json
from topoopt.search import caveats, simulated
from topoopt.simulation import SimResult

BOUNDS = {
    "injection_s": "every server's bytes at d·B",
    "average_hop_s": "bytes × hops of the best graph",
    "critical_path_s": "longest chain",
}
PARTS = {"wiring_s": "wiring", "routing_s": "routing", "schedule_s": "schedule", "rounds_s": "rounds"}
SECOND = "All bytes that the requests of a second send, as if they were sent at once."
NOT_IN_STEP = 1e-6
"""Relative difference of rounds above which there is a caveat."""
Subject = Plan | Comparison | ClusterResult | Page
CHOICE = "choice.json"
"""File in a folder of topoopt choose with the answer."""
ALLOWED = (
    "expected a plan (topoopt plan --out), the results of a sweep, the folder of a choice, or the JSON of a "
    "comparison, a cluster, a choice, a served model, a step of reinforcement learning, fine-tuning or a failure"
)


def read_subject(path: str | Path) -> Subject:
    """Return the subject in a file.

    Raises
    ------
    InvalidInput
        In one line, if the file cannot be read, is no JSON, or holds something else.
    """
    chosen = Path(path, CHOICE)
    return subject_from_mapping(read_json(chosen if chosen.is_file() else path, ALLOWED), str(path))


def subject_from_mapping(document: Any, place: str = "report") -> Subject:
    """Return the plan, comparison or cluster that a document describes, or the page of another answer.

    Errors as :func:`read_subject`.
    """
    if not isinstance(document, dict):
        raise InvalidInput(f"{place}: a {type(document).__name__}; {ALLOWED}")
    if "schema" in document and str(document["schema"]).startswith("topoopt-plan"):
        return plan_from_mapping(document, place)
    kind = document.get("format")
    if kind == "topoopt-cluster":
        return result_from_mapping(document, place)
    if kind == COMPARISON_FORMAT or (kind is None and "simulators" in document and "fabrics" in document):
        return comparison_from_mapping(document, place)
    page = json_page(document)
    if page is not None:
        return page
    got = f'"{kind}"' if kind is not None else "something else"
    raise InvalidInput(f"{place}: {got}; {ALLOWED}")


def make_page(answer: Any) -> Page:
    """Return the whole report of an answer, without bars for a single number; for a plan with its pictures."""
    page = plan_report(answer) if isinstance(answer, Plan) else page_of(answer)
    return replace(
        page,
        sections=tuple(
            replace(one, blocks=tuple(block for block in one.blocks if not _is_single_bar(block)))
            for one in page.sections
        ),
    )


def _is_single_bar(block: Block) -> bool:
    return isinstance(block, BarChart) and sum(isfinite(y) for one in block.series for y in one.y) == 1


def plan_page(plan: Plan) -> Page:
    """Return the figures and tables of a plan; :func:`plan_report` adds the pictures."""
    rows = compared_fabrics(plan)
    return _page(plan, rows, tuple(caveats(plan)), _answer(plan, rows))


def plan_report(plan: Plan) -> Page:
    """Return the page of a plan; its iteration is simulated again for the details."""
    result = simulated(plan.job, plan.strategy, plan.fabric, plan.outcome.simulator)
    rows = compared_fabrics(plan)
    work = work_page(plan)
    strategies = (plan.strategy, *(row.strategy for row in plan.baselines))
    waits = [work.waits(plan, strategy) for strategy in strategies]
    priced = [cost_against_time(rows)] if any(row.cost_usd is not None for row in rows) else []
    pictures = {
        "strategy": work.details(plan),
        "network": (topology_circle(plan, result), hops_chart(plan, result)),
        "time": (where_the_time_goes(result), work.timeline(plan, result)),
        "quality": (bounds_chart(plan),),
        "search": convergence_chart(plan),
        "fabrics": (time_by_fabric(rows, waits), *priced, figure_table(rows), *bill_blocks(plan)),
    }
    sections = tuple(
        replace(section, blocks=(*section.blocks, *pictures.get(section.key, ())))
        for section in _answer(plan, rows)
    )
    more = (_traffic(plan, result), trust(plan))
    return _page(plan, rows, tuple(warnings(plan, result)), (*sections, *more))


def _page(
    plan: Plan, rows: tuple[ComparedFabric, ...], minded: tuple[str, ...], sections: tuple[Section, ...]
) -> Page:
    figures = {
        **outcome_figures(plan.outcome),
        "lower_bound_s": plan.bounds.lower_bound_s,
        "gap": plan.gap,
        **({"goodput_per_s": plan.served.fabrics[0].goodput_per_s} if plan.served else {}),
        "cost_usd": plan.price.get("cost_usd"),
        "usd_per_hour": None if rows[0].ownership is None else rows[0].ownership.usd_per_hour,
    }
    remark = f"on {plan.job.cluster.servers} servers"
    return Page(
        "plan",
        plan.job.name,
        served_headline(plan.served) if plan.served else headline(plan, rows),
        served_tiles(plan.served) if plan.served else tiles(plan, rows),
        minded,
        sections,
        figures,
        remark,
        answer_first=True,
    )


def _answer(plan: Plan, rows: tuple[ComparedFabric, ...]) -> tuple[Section, ...]:
    """Return the summary for a terminal: job, strategy, time, bounds, and the comparison."""
    work = work_page(plan)
    if plan.served is not None:
        return (
            *served_sections(plan),
            *_network_and_time(plan, "A second of its traffic", SECOND),
            *_owned(plan, rows),
        )
    notes = fabric_notes(rows, plan.skipped_fabrics, plan.outcome.simulator)
    fabrics = Section(
        "fabrics",
        "Beside other fabrics",
        "The same job on other networks; lower and further left is better.",
        (fabric_table(rows), *notes, *price_notes(plan.price)),
        work_page(plan).compared,
    )
    plain_s = plan.data_parallel.iteration_time_s
    ratio = plain_s / plan.iteration_time_s
    quality = _section(
        "quality",
        "How good it could be",
        f"Lower bounds hold for every network of this degree with the plan's {plan.job.work.strategy_word}. "
        f"{work_page(plan).plain} takes {format_time(plain_s)}, {ratio:.2f} × as long.",
        bounds_facts(plan),
    )
    return (
        *_advised(plan, rows),
        _section("job", "What is trained", "", {**dict(plan.origin), **work.job(plan)}),
        *work.sections(plan),
        *_network_and_time(
            plan,
            "Iteration time",
            "What hides behind computation costs nothing; the rest of the communication is exposed.",
        ),
        quality,
        fabrics,
        *_owned(plan, rows),
        _section("search", "Search", "How the answer was found.", work.search(plan)),
    )


def _owned(plan: Plan, rows: tuple[ComparedFabric, ...]) -> tuple[Section, ...]:
    return tuple(ownership_sections(owned_rows(rows), plan.terms, plan.job.cluster.servers))


def _network_and_time(plan: Plan, title: str, caption: str) -> tuple[Section, ...]:
    return (
        _section(
            "network",
            "Network",
            _drawn(plan),
            network_facts(plan),
        ),
        _section("time", title, caption, time_facts(plan), format_time(plan.iteration_time_s)),
    )


def _drawn(plan: Plan) -> str:
    if plan.fabric.topology.servers < UNROLLED_FROM:
        return "Servers stand on the circle; every line is a cable."
    return "Every square is a link, from its row to its column; each AllReduce group has a matrix of its own."


def _section(key: str, title: str, caption: str, entries: Entries, remark: str = "") -> Section:
    return Section(key, title, caption, (facts(entries),), remark)


def headline(plan: Plan, rows: tuple[ComparedFabric, ...]) -> str:
    """Return the advice; of a plan that is compared with nothing, its time and price."""
    said = advice(rows, _interval_share(plan))
    if said is not None:
        return said.sentence
    cost = plan.price.get("cost_usd")
    network = f" on a network of {usd(cost)}" if cost is not None else ""
    time = time_within(plan.iteration_time_s, _interval_share(plan))
    return f"One iteration on {rows[0].label} takes {time}{network}: {_how_good(plan)}."


def _advised(plan: Plan, rows: tuple[ComparedFabric, ...]) -> tuple[Section, ...]:
    """Return the reasons of the advice, and time and price of the plan's own network with how good they are."""
    said = advice(rows, _interval_share(plan))
    if said is None:
        return ()
    time = time_within(plan.iteration_time_s, _interval_share(plan))
    cost = plan.price.get("cost_usd")
    own = f"{time} per iteration" + (f" for {usd(cost)}" if cost is not None else "")
    entries = {**said.reasons, rows[0].label: f"{own}: {_how_good(plan)}"}
    return (_section("advice", "Recommendation", "", entries),)


def _interval_share(plan: Plan) -> float | None:
    return plan.job.work.interval_share if isinstance(plan.job.work, TransformerWork) else None


def _how_good(plan: Plan) -> str:
    ports = f"{plan.job.cluster.degree} × {format_bandwidth(plan.job.cluster.link_bandwidth_bps)}"
    reach = f"the least that any network with {ports} per server could reach with this {plan.job.work.strategy_word}"
    return f"at most {plan.gap:.1%} above {reach}" if plan.gap > 0.0005 else reach


def tiles(plan: Plan, rows: tuple[ComparedFabric, ...]) -> tuple[Tile, ...]:
    """Return the key numbers."""
    outcome, cost = plan.outcome, plan.price.get("cost_usd")
    trees = [row for row in rows[1:] if row.fabric == "fat-tree"]
    tree = max(trees, key=lambda row: row.server_bandwidth_bps, default=None)
    tiles = [
        *time_tiles(outcome, f"{outcome.simulator} simulator"),
        Tile("Above the lower bound", f"{plan.gap:.1%}", f"bound {format_time(plan.bounds.lower_bound_s)}"),
        *work_page(plan).tiles(plan),
    ]
    if tree is not None:
        ratio = tree.outcome.iteration_time_s / outcome.iteration_time_s
        remark = f"as long, with {format_bandwidth(tree.server_bandwidth_bps)} for {usd(tree.cost_usd)}"
        tiles.append(Tile("A fat-tree takes", f"{ratio:.2f} ×", remark))
    if cost is not None:
        each = f"{usd(cost / plan.job.cluster.servers)} a server"
        tiles.append(Tile("Price of the network", usd(cost), each))
    tiles += ownership_tiles(rows)
    busiest = f"busiest link {format_bytes(outcome.link_bytes_max)}"
    return (*tiles, Tile("Bandwidth tax", f"{outcome.bandwidth_tax:.3f}", busiest))


def warnings(plan: Plan, result: SimResult) -> list[str]:
    """Return caveats about the figures."""
    planned_s, again_s = plan.iteration_time_s, result.iteration_time_s
    sentences = [*caveats(plan), *_not_in_step(result)]
    if abs(again_s / planned_s - 1) <= 1e-6:
        return sentences
    return [
        *sentences,
        f"Simulated again, the iteration takes {format_time(again_s)}, and not {format_time(planned_s)} as the "
        "plan says: it was made with other options or another version.",
    ]


def _not_in_step(result: SimResult) -> list[str]:
    """Return the caveat for an iteration that was extrapolated although its rounds still differed."""
    left = result.left_out
    if left is None or left.drift <= NOT_IN_STEP:
        return []
    return [
        f"{left.micro_batches:,} micro-batches of each replica were not simulated, and the pipeline was not quite "
        f"in step: the last two rounds differed by {left.drift:.1%}."
    ]


def _traffic(plan: Plan, result: SimResult) -> Section:
    traffic, moved = plan.traffic(), []
    if traffic.allreduce:
        groups = counted(len(traffic.allreduce), "group")
        moved.append(f"{format_bytes(traffic.allreduce_bytes)} of gradients are AllReduced in {groups}")
    if traffic.mp_bytes:
        moved.append(f"{format_bytes(traffic.mp_bytes)} are model parallel")
    return Section(
        "traffic",
        "What is moved",
        f"In one iteration {', '.join(moved)}. AllReduce follows the rings, whose order is free; model-parallel "
        "bytes have fixed ends; the links carry both, forwarded bytes included.",
        (*traffic_maps(plan, result), link_load_distribution(plan, result)),
        detail=True,
    )


def bounds_chart(plan: Plan) -> BarChart:
    """Return the lower bounds beside the plan's time, and the parts of the gap, in milliseconds."""
    meanings = {"compute_s": work_page(plan).free, **BOUNDS}
    times_ms = [getattr(plan.bounds, name) * 1e3 for name in meanings]
    names, nan = (*meanings.values(), "this plan"), float("nan")
    bounds = Series("lower bound", names, (*times_ms, nan))
    before = (nan,) * len(meanings)
    own = [Series("this plan", names, (*before, plan.iteration_time_s * 1e3))]
    if plan.gap_parts is not None:
        parts_s = {word: getattr(plan.gap_parts, name) for name, word in PARTS.items()}
        own = [
            Series("largest bound", names, (*before, plan.bounds.lower_bound_s * 1e3)),
            *(Series(word, names, (*before, seconds * 1e3)) for word, seconds in parts_s.items() if seconds),
        ]
    return BarChart(
        "bounds",
        "Lower bounds of the iteration time",
        "",
        "time (ms)",
        (bounds, *own),
        stacked=True,
        horizontal=True,
        note=f"The plan takes {plan.gap:.1%} more than the largest bound, which holds for its "
        f"{plan.job.work.strategy_word}.",
    )


def convergence_chart(plan: Plan) -> tuple[LineChart, ...]:
    """Return the best time so far over the proposals of the best chain; nothing where nothing was searched."""
    points = plan.search.convergence
    if not points or plan.job.work.choices(plan.job.cluster.servers):  # the layouts have a chart of their own
        return ()
    proposals, times_s = zip(*points, strict=True)
    chains_ms = tuple(time_s * 1e3 for time_s in plan.search.seed_times_s)
    last = max(plan.search.proposals // max(len(chains_ms), 1), proposals[-1])
    best_ms = tuple(time_s * 1e3 for time_s in (*times_s, times_s[-1]))
    bound_ms = plan.bounds.lower_bound_s * 1e3
    chart = LineChart(
        "convergence",
        "Search: best time found so far",
        "proposals of the best chain",
        "iteration time (ms)",
        (
            Series("best so far", (*proposals, last), best_ms, stepped=True),
            Series("answer of each chain", (last,) * len(chains_ms), chains_ms, joined=False),
            Series("lower bound", (0, last), (bound_ms, bound_ms), marked=False),
        ),
        note="The answers are simulated again with their final routes, and so may be better or worse than the search "
        "thought.",
    )
    return (chart,)
