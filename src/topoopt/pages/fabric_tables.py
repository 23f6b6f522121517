"""Fabrics side by side: iteration time, price, and dominance in both."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from topoopt.base.arrays import grouped
from topoopt.base.units import format_bandwidth, format_time, time_within
from topoopt.catalog import NetworkRow
from topoopt.pages.chart import BarChart, LineChart
from topoopt.pages.page import Notes, Table, Tile
from topoopt.pages.pareto_chart import PLAN, RECOMMENDED, ParetoPoint, pareto_series
from topoopt.pages.tables import Column, Source, bars, joined, listed, number, table, text, usd
from topoopt.plans import (
    SURE,
    ComparedFabric,
    Outcome,
    Standing,
    faster_share,
    front_of_fabrics,
    recommended,
    standings_of,
)
from topoopt.pricing import HasPrice, price_range_usd

BEST_BUY, BEATS, TIES, ON_FRONT = "best buy", "better", "cheaper", "on front"
"""Verdicts about a fabric. The middle two are cheaper than the first row's in nine draws of ten: one is faster with a
probability of at least 90%, one is as fast within the error and saves no less than its estimated time loses."""


def time_by_fabric(rows: Sequence[ComparedFabric], waits: Sequence[Mapping[str, float]] = ()) -> BarChart:
    """Return computation and exposed communication of each fabric, in milliseconds.

    Parameters
    ----------
    waits
        Seconds without computation by cause, despite free communication, for each fabric. Without them the bars of
        a transformer cannot separate these from computation, as noted.
    """
    causes = dict.fromkeys(cause for each in waits for cause, wait_s in each.items() if wait_s > 0)
    known = [{cause: each.get(cause, 0.0) for cause in causes} for each in waits or [{}] * len(rows)]
    computed = "computation"
    if not waits and any(row.configuration for row in rows):
        computed = "computation and bubble"
    parts: dict[str, Source] = {
        computed: lambda one: one["row"].outcome.compute_time_s - sum(one["waits"].values()),
        **{cause: f"waits.{cause}" for cause in causes},
        "exposed communication": "row.outcome.exposed_communication_s",
    }
    return BarChart(
        "iteration_time_by_fabric",
        "Iteration time by fabric",
        "",
        "iteration time (ms)",
        bars(joined(row=rows, waits=known), "row.name", parts, 1e-3),
        stacked=True,
        horizontal=True,
    )


def cost_against_time(rows: Sequence[ComparedFabric], own: str = PLAN) -> LineChart:
    """Return price and iteration time of each fabric, the first (``own``) and the recommended one ringed."""
    name = name_apart(rows)
    points = {
        id(row): ParetoPoint(
            name(row), row.cost_usd / 1e3, _time_s(row) * 1e3, f"{row.name}: {row.description}"
        )
        for row in rows
        if row.cost_usd is not None
    }
    front = [points[id(row)] for row in front_of_fabrics(rows)]
    best = recommended(rows)
    chosen = {RECOMMENDED: best} if best is rows[0] else {own: rows[0], RECOMMENDED: best}
    ringed = {word: points[id(row)] for word, row in chosen.items() if id(row) in points}
    return LineChart(
        "cost_against_time",
        "Price against iteration time",
        "price of the network ($1,000)",
        "iteration time (ms)",
        pareto_series(list(points.values()), front, ringed),
        note="For whatever lies above the front, something on it is no dearer and no slower.",
    )


def fabric_table(rows: Sequence[ComparedFabric]) -> Table:
    """Return time, price and dominance of fabrics; for a transformer with the configuration as the last column."""
    configured = any(row.configuration for row in rows)
    return table(
        "Fabrics",
        rows,
        *_times(rows),
        EXPOSED,
        PRICE,
        *([text("verdict", standing(rows))] if len(rows) > 1 else []),
        text("configuration") if configured else WHAT_IT_IS,
    )


def figure_table(rows: Sequence[ComparedFabric]) -> Table:
    """Return all figures of the fabrics; the Pareto front is marked."""
    front = front_of_fabrics(rows)
    return table(
        "All figures",
        rows,
        *_times(rows),
        number("computation", "outcome.compute_time_s"),
        EXPOSED,
        number("busiest link", "outcome.link_bytes_max"),
        number("tax", "outcome.bandwidth_tax", ".3f"),
        PRICE,
        text("80% of price draws", price_range),
        text("routes"),
        text("Pareto", lambda row: "front" if row in front else ""),
        WHAT_IT_IS,
        folded=True,
    )


EXPOSED = number("exposed", "outcome.exposed_communication_s")
PRICE = number("price", "cost_usd")
WHAT_IT_IS = text("what it is", "description")


def _times(rows: Sequence[ComparedFabric]) -> tuple[Column, ...]:
    first_s = rows[0].outcome.iteration_time_s
    return (
        text("fabric", "label"),
        number("a server", "server_bandwidth_bps"),
        number("iteration", "outcome.iteration_time_s"),
        number("×", lambda row: row.outcome.iteration_time_s / first_s, ".2f"),
    )


def price_notes(price: Mapping[str, Any]) -> tuple[Notes, ...]:
    """Return the price list and accounting of a plan and its comparison, or why the plan has no price."""
    if price.get("cost_usd") is None:
        return (Notes((f"topoopt has no price: {price['note']}",)),) if price.get("note") else ()
    accounting = price.get("accounting") or {}
    counted = f", accounting {accounting['name']}" if accounting.get("name") else ""
    technology = price.get("link_technology") or PLUGGABLE
    links = "" if technology == PLUGGABLE else f", {technology} links"
    return (Notes((f"prices: list {price.get('prices')}{counted}{links}",)),)


PLUGGABLE = "pluggable"
"""Default link technology."""


def fabric_notes(
    rows: Sequence[ComparedFabric], skipped: Sequence[tuple[str, str]], simulator: str
) -> tuple[Notes, ...]:
    """Return the front, the skipped fabrics with reasons, the routes, and fabrics simulated by another simulator.

    Circuits that change are beyond the analytic simulator.
    """
    notes = front_notes(rows) + price_range_notes(rows) + skipped_notes(skipped)
    methods = dict.fromkeys(row.routes for row in rows if row.routes)
    on_each = (
        f"{method} on {_names(rows, [row for row in rows if row.routes == method])}" for method in methods
    )
    if methods:
        notes += (Notes((f"routes: {'; '.join(on_each)}",)),)
    others = [row for row in rows if row.outcome.simulator not in ("", simulator)]
    if others:
        notes += (Notes((f"by the flow simulator: {_names(rows, others)}",)),)
    return notes


def _names(rows: Sequence[ComparedFabric], chosen: Sequence[ComparedFabric]) -> str:
    """Return the names of the chosen rows: one for all rows of a fabric, or each with its label."""
    left = {row.fabric for row in rows if row not in chosen}
    each = (_apart(row) if row.fabric in left else row.fabric for row in chosen)
    return ", ".join(dict.fromkeys(each))


def _apart(row: ComparedFabric) -> str:
    return row.label if row.variant else f"{row.fabric} of {format_bandwidth(row.server_bandwidth_bps)}"


def skipped_notes(skipped: Sequence[tuple[str, str]], warn: bool = False) -> tuple[Notes, ...]:
    """Return the fabrics missing from a table, with reasons; empty if there are none."""
    reasons = [(label, reason.removeprefix(f"{label.partition(' (')[0]}: ")) for label, reason in skipped]
    lines = [f"without {label}: {reason}" for label, reason in reasons]
    return (Notes(tuple(lines), warn),) if lines else ()


@dataclass(frozen=True, slots=True)
class Advice:
    """A network to buy, in one sentence, and what speaks for it and for others.

    Attributes
    ----------
    sentence : str
        At most 30 words.
    reasons : mapping
        Its price and time with their ranges; networks that are as fast, cheaper, or faster.
    """

    sentence: str
    reasons: Mapping[str, str]


def advice(rows: Sequence[ComparedFabric], share: float | None = None) -> Advice | None:
    """Return which network to buy; None for one network, and without any price to weigh.

    Parameters
    ----------
    share
        Error of an iteration time that 80% of measured runs stay within.
    """
    best, name = recommended(rows), name_apart(rows)
    if best is None:
        fastest = min(rows, key=_time_s)
        said = f"No network is recommended: {name(rows[0])} has no price. The fastest is {name(fastest)}, "
        return Advice(f"{said}{format_time(_time_s(fastest))}.", {}) if len(rows) > 1 else None
    others = [row for row in rows if row is not best]
    near = [row for row in others if 1 - SURE < faster_share(_time_s(row), _time_s(best)) < SURE]
    apart = [row for row in front_of_fabrics(rows) if row not in (best, *near)]
    slower = [row for row in apart if _time_s(row) > _time_s(best)]
    faster = [row for row in apart if row not in slower]
    cheaper = [
        row for row in near if row.ownership and (row.cost_usd or 0.0) < 0.999 * (best.cost_usd or 0.0)
    ]
    # without server prices nothing weighs time and money
    weighed = any(row.ownership and row.ownership.net_usd is not None for row in rows)
    saves = "by more than that saves" if weighed else ""
    offer = f"{name(best)} for {usd(best.cost_usd)}, {format_time(_time_s(best))} per iteration"
    if len(near) == len(others) > 1:
        sentence = f"The network does not limit this job: all {len(rows)} are as fast within the error. Take {offer}."
    else:
        sentence = f"Recommended: {offer}{_why(near, cheaper, slower, faster, name)}."
    reasons = {
        "recommended": f"{_offer(rows, best)}, {time_within(_time_s(best), share)} per iteration",
        "as fast": f"{_priced(rows, near)}, within the error" if near else "",
        "ties, cheaper": f"{_priced(rows, cheaper, timed=True)}; the time lost costs more" if cheaper else "",
        "cheaper": f"{_priced(rows, slower, timed=True)}; slower {saves}".rstrip() if slower else "",
        "faster": f"{_priced(rows, faster, timed=True)}; dearer {saves}".rstrip() if faster else "",
    }
    return Advice(sentence, {key: text for key, text in reasons.items() if text})


def _why(
    near: Sequence[ComparedFabric],
    cheaper: Sequence[ComparedFabric],
    slower: Sequence[ComparedFabric],
    faster: Sequence[ComparedFabric],
    name: Callable[[ComparedFabric], str],
) -> str:
    """Return the end of the advice: what else is as fast, or why nothing else is taken."""
    if len(near) == 1 and not cheaper:
        return f"; {name(near[0])} is as fast within the error, and not cheaper"
    if near and not cheaper:
        return f", the cheapest of {len(near) + 1} that are as fast within the error"
    if near:
        return f"; {name(near[0]) if len(near) == 1 else f'{len(near)} others'} as fast within the error"
    if slower:
        return "; cheaper networks are too slow"
    return "; faster networks are too dear" if faster else ""


def _time_s(row: ComparedFabric) -> float:
    return row.outcome.iteration_time_s


def _offer(rows: Sequence[ComparedFabric], row: ComparedFabric) -> str:
    """Return a network with its price, the range of that, and how sure it is cheaper than the first."""
    span = price_range(row)
    words = f"{name_apart(rows)(row)} for {usd(row.cost_usd)}"
    words += f" ({span} in 80% of price draws)" if span else ""
    share = standings_of([rows[0], row])[1].cheaper_share if row is not rows[0] else None
    if share is not None and share >= SURE:
        words += f", cheaper than {name_apart(rows)(rows[0])} in {share_words(share)} of them"
    return words


def _priced(rows: Sequence[ComparedFabric], chosen: Sequence[ComparedFabric], timed: bool = False) -> str:
    """Return networks with their prices, those of one price together, the cheapest first."""
    groups: dict[str, list[str]] = {}
    for row in sorted(chosen, key=lambda row: (row.cost_usd is None, row.cost_usd or 0.0)):
        price = usd(row.cost_usd) if row.cost_usd is not None else "price unknown"
        words = f"{price}, {format_time(_time_s(row))}" if timed else price
        groups.setdefault(words, []).append(name_apart(rows)(row))
    return listed([f"{' and '.join(names)} ({words})" for words, names in groups.items()])


def _pays(row: ComparedFabric, its: Standing) -> bool:
    """Return whether a fabric ties for less, and saves no less than its estimated time loses of the servers."""
    return its.ties_for_less and _net_usd(row) >= 0


def _net_usd(row: ComparedFabric) -> float:
    return (row.ownership.net_usd or 0.0) if row.ownership else 0.0


def standing(rows: Sequence[ComparedFabric]) -> Callable[[ComparedFabric], str | None]:
    """Return the verdict about each row: recommended, better than the first, as fast for less, or on the front."""
    places, best = dict(zip(map(id, rows), standings_of(rows), strict=True)), recommended(rows)

    def words(row: ComparedFabric) -> str | None:
        if row.cost_usd is None or row is best:
            return None if row.cost_usd is None else BEST_BUY
        its = places[id(row)]
        return BEATS if its.beats else TIES if _pays(row, its) else ON_FRONT if its.on_front else ""

    return words


def share_words(share: float) -> str:
    """Return a share of price draws in percent; ``>99%`` above 99 percent, ``<1%`` below 1 percent."""
    return ">99%" if share > 0.99 else "<1%" if share < 0.01 else f"{share:.0%}"


LOWER_IN = "lower in: share of price draws, the same for all, in which it costs less than "
"""Note of a column with these shares; equal prices count as half."""


def price_range(row: HasPrice) -> str | None:
    """Return the 80 % interval of a network's price."""
    low, high = price_range_usd(row)
    return None if low is None else f"{usd(low)} to {usd(high)}"


def price_range_notes(rows: Sequence[NetworkRow]) -> tuple[Notes, ...]:
    """Return the intervals of prices, merged where equal; empty where none is known."""
    ranges = grouped((words, name_apart(rows)(row)) for row in rows if (words := price_range(row)))
    each = "; ".join(f"{', '.join(names)} {words}" for words, names in ranges.items())
    return (Notes((f"80% of price draws, made for all together: {each}",)),) if each else ()


def front_notes(rows: Sequence[ComparedFabric]) -> tuple[Notes, ...]:
    """Return the fabrics on the Pareto front of price and time; empty where fewer than two have a price."""
    if sum(row.cost_usd is not None for row in rows) < 2:
        return ()
    unbeaten = listed([name_apart(rows)(row) for row in front_of_fabrics(rows)])
    return (Notes((f"front of price and time, from the cheapest to the fastest: {unbeaten}",)),)


def name_apart(rows: Sequence[NetworkRow]) -> Callable[[NetworkRow], str]:
    """Return a function that names fabrics unambiguously: with bandwidth only where two have the same label."""
    count = Counter(row.label for row in rows)
    return lambda row: row.name if count[row.label] > 1 else row.label


def outcome_figures(outcome: Outcome) -> dict[str, float | None]:
    """Return times, bytes and tax by the names of their fields."""
    return {key: value for key, value in outcome.to_json().items() if key not in ("simulator", "algorithms")}


def time_tiles(outcome: Outcome, remark: str) -> tuple[Tile, Tile]:
    """Return the iteration time with a remark, and how much of it is communication that nothing hides."""
    exposed_s = outcome.exposed_communication_s
    share = f"{exposed_s / outcome.iteration_time_s:.0%} of the iteration"
    return (
        Tile("Iteration time", format_time(outcome.iteration_time_s), remark),
        Tile("Exposed communication", format_time(exposed_s), share),
    )
