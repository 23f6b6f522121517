"""Page of a choice: one sentence with its reason, the front, its sensitivity, and all networks considered."""

from collections import Counter
from collections.abc import Iterator

from topoopt.base.units import format_time
from topoopt.pages.chart import LineChart
from topoopt.pages.cost_tables import counted_years, of_many
from topoopt.pages.fabric_tables import LOWER_IN, price_range, share_words
from topoopt.pages.page import Block, Notes, Page, Section, Tile
from topoopt.pages.pareto_chart import RECOMMENDED, ParetoPoint, pareto_series
from topoopt.pages.tables import counted, dollars, duration, facts, facts_of, number, table, text, usd
from topoopt.plans import SURE, faster_share
from topoopt.studies.choice import (
    BUDGET,
    DEADLINE,
    DROPPED,
    LEFT_OUT,
    PLANNED,
    PRICE,
    Choice,
    Decision,
    Evaluated,
    Turn,
    work_usd,
)

PARTS = {
    "transceiver": "optics",
    "linear_transceiver": "linear optics",
    "nic": "NICs",
    "electrical_port": "switch ports",
    "patch_panel_port": "panel ports",
    "optical_switch_1x2": "1×2 switches",
    "ocs_port": "circuit-switch ports",
    "fiber_m": "fiber",
}
"""Names of parts in a sentence; all others are used as they are."""
MOST_REASONS = 6
"""Reasons for which networks are left out that are shown; all of them are in JSON and in the table."""
MOST_TURNS = 8
NEAREST = 3
"""Dominated networks that are named beside the front; all of them are in JSON."""


def choice_page(choice: Choice) -> Page:
    """Return the page of a choice."""
    point = choice.decision.point
    jobs = ", ".join(f"{job.name} {job.share:.0%}" for job in choice.mix)
    mix = choice.mix
    rows = table(
        "",
        choice.front,
        text("", lambda row: "→" if row is choice.decision.point else ""),
        text("network", "network.name"),
        number("network costs", lambda row: row.money.price_usd, usd),
        text("80% of price draws", lambda row: price_range(row.money.network)),
        number("lower in", choice.cheaper_share, share_words),
        *([number("with servers", lambda row: row.usd(), usd)] if choice.with_servers else []),
        number("time", lambda row: row.relative_time(mix), of_time),
        number("a year of work", lambda row: work_usd(row, mix), lambda value: f"${value:,.0f}"),
    )
    notes = (
        f"time: of what the work of a year takes on {choice.reference.name}; a year of work: money a year × time",
        *_dominated(choice),
        LOWER_IN + point.network.name,
        f"{counted(choice.count(PLANNED), 'network')} planned, {choice.count(DROPPED)} dropped: a planned one costs no "
        f"more and is no slower by the estimate; {choice.count(LEFT_OUT)} left out",
    )
    caption = "Networks that no other beats in both money and time; the arrow says which one is taken."
    front = Section("front", "The front of money and time", caption, (rows, Notes(notes), _chart(choice)))
    rests = facts_of("Money", choice.owner.facts())
    plans = facts({"plans": f"{choice.plans:,}", "reference": choice.reference.name}, "Times")
    trust = Section("trust", "What this rests on", "", (rests, plans), detail=True)
    return Page(
        "choice",
        jobs,
        headline(choice),
        _tiles(choice),
        (),
        (front, _turns(choice), _jobs(choice), _all(choice), trust),
        {
            "total_usd": point.usd(),
            "network_usd": None if point.money is None else point.money.price_usd,
            "relative_time": point.relative_time(choice.mix),
            "usd_per_year_of_work": work_usd(point, choice.mix),
        },
        remark=f"on {choice.machines}",
        answer_first=True,
    )


def _dominated(choice: Choice) -> Iterator[str]:
    """Yield the number of planned networks dominated by each row of the front, and the nearest of them."""
    rows = choice.dominated
    if not rows:
        return
    by = Counter(own.network.name for _, own in rows)
    yield f"dominated: {', '.join(f'{count} by {name}' for name, count in by.most_common())}"

    def words(point: Evaluated, own: Evaluated) -> str:
        found = Decision("", own, None, None).shares(point, choice.mix)
        return (
            f"{point.network.name} ({found[0]:+z.2%} money, {found[1]:+z.2%} time against {own.network.name})"
        )

    yield f"nearest of them: {'; '.join(words(*row) for row in rows[:NEAREST])}"


def _tiles(choice: Choice) -> tuple[Tile, ...]:
    point = choice.decision.point
    network_usd = None if point.money is None else point.money.price_usd
    return (
        Tile("Network", point.network.name, choice.decision.rule),
        Tile("Price of the network", usd(network_usd), f"of {usd(point.usd())} over all years"),
        Tile(
            "Time of the work",
            of_time(point.relative_time(choice.mix)),
            f"of that on {choice.reference.name}",
        ),
        Tile("A year of work", usd(work_usd(point, choice.mix)), "money a year × time"),
        Tile("Front", f"{len(choice.front)} of {len(choice.points)}", "networks beaten by none in both"),
    )


def _chart(choice: Choice) -> LineChart:
    """Return every planned network by money and time; those on the front have names, the chosen one a ring."""
    points = {
        id(point): ParetoPoint(
            point.network.name,
            (point.usd() or 0.0) / 1e6,
            point.relative_time(choice.mix) or 0.0,
            point.network.name,
        )
        for point in choice.points
        if point.status == PLANNED
    }
    front = [points[id(point)] for point in choice.front]
    chosen = {RECOMMENDED: points[id(choice.decision.point)]}
    what = "network, servers and running them" if choice.with_servers else "network"
    return LineChart(
        "money_and_time",
        "Money against time",
        f"{what} over all years (million $)",
        f"time of the work (1: on {choice.reference.name})",
        pareto_series(list(points.values()), front, chosen, name_all=False),
    )


def _turns(choice: Choice) -> Section:
    shown = choice.turns[:MOST_TURNS]
    rows = table(
        "",
        shown,
        text("if", _cause),
        text(
            "then",
            lambda turn: "no network meets the limit" if turn.network is None else turn.network.network.name,
        ),
    )
    lines = list(_robust(choice))
    if any(not turn.certain for turn in shown):
        lines.append("a network in brackets was not planned, and wins there if it is as fast as it can be")
    if len(choice.turns) > len(shown):
        lines.append(f"and {len(choice.turns) - len(shown)} more changes that are farther off, in JSON")
    blocks: tuple[Block, ...] = (rows, Notes(tuple(lines))) if shown else (Notes(tuple(lines)),)
    caption = "By how much one thing has to move, all else as it is, until another network is taken."
    return Section("sensitivity", "What would change it", caption, blocks, "one thing at a time")


def _cause(turn: Turn) -> str:
    if turn.kind == PRICE:
        return f"{price_words(turn.name)} × {turn.value:.3g}"
    return f"{turn.name} has {turn.value:.0%} of the year, not {turn.was:.0%}"


def _robust(choice: Choice) -> Iterator[str]:
    moved = {turn.name for turn in choice.turns if turn.kind == PRICE}
    parts = dict.fromkeys(part for point in choice.points for part in point.parts_usd())
    still = [price_words(part) for part in parts if part not in moved]
    if still:
        yield f"prices that change nothing from a quarter to four times what they are: {', '.join(still)}"
    if choice.with_servers and choice.limits.rule not in (BUDGET, DEADLINE):
        yield "utilization changes the price of an hour, but not the ranking: idle hours are paid, too"


def _jobs(choice: Choice) -> Section:
    run = any(job.owned.usd_per_run is not None for job in choice.jobs)
    priced = choice.with_servers
    tokens = priced and any(job.owned.usd_per_token is not None for job in choice.jobs)
    times = table(
        "",
        choice.jobs,
        text("job", "job.name"),
        number("of the year", "job.share", ".0%"),
        number("servers", "servers", "d"),
        number("iteration", "iteration.time_s", format_time),
        number(f"on {choice.reference.name}", "reference_time_s", format_time),
        *([number("an hour", "owned.usd_per_hour", dollars)] if priced else []),
        *(
            [number("a million samples", lambda row: of_many(1e6, row.owned.usd_per_sample))]
            if priced
            else []
        ),
        *([number("a million tokens", lambda row: of_many(1e6, row.owned.usd_per_token))] if tokens else []),
        *([number("the run", "owned.usd_per_run", usd)] if run else []),
        *([number("takes", "owned.run_hours", lambda hours: duration(hours * 3600))] if run else []),
    )
    return Section("jobs", "Jobs", "Iteration times on what is taken, and on the reference.", (times,))


def _all(choice: Choice) -> Section:
    mix, on_front = choice.mix, set(map(id, choice.front))
    rows = table(
        "",
        sorted(choice.points, key=lambda point: point.usd() or 0.0),
        text("network", "network.name"),
        text("", lambda row: "front" if id(row) in on_front else row.status),
        number("network costs", lambda row: None if row.money is None else row.money.price_usd, usd),
        number("over all years", lambda row: row.usd(), usd),
        number("time", lambda row: row.relative_time(mix) if row.status == PLANNED else None, of_time),
        number("at least", lambda row: row.relative_time(mix) if row.status == DROPPED else None, of_time),
        folded=True,
    )
    reasons = Counter(point.reason for point in choice.points if point.status == LEFT_OUT)
    lines = [f"{counted(count, 'network')}: {reason}" for reason, count in reasons.most_common(MOST_REASONS)]
    if len(reasons) > MOST_REASONS:
        lines.append(f"and for {len(reasons) - MOST_REASONS} other reasons, in JSON")
    notes = (Notes(tuple(lines)),) if lines else ()
    return Section("networks", "Left out" if lines else "All networks", "", (*notes, rows))


def headline(choice: Choice) -> str:
    """Return the network to buy, its cost and time, and the alternatives next to it on the front."""
    return " ".join([_taken(choice), _because(choice), *_neighbors(choice)])


def price_words(part: str) -> str:
    """Return the name of a cost item.

    Examples
    --------
    >>> price_words("transceiver"), price_words("passive_copper")
    ('optics', 'passive copper')
    """
    return PARTS.get(part, part.replace("_", " "))


def of_time(relative_time: float | None) -> str:
    """Return a relative time, to a thousandth.

    Examples
    --------
    >>> of_time(1.0), of_time(1.0534)
    ('1.000', '1.053')
    """
    return "–" if relative_time is None else f"{relative_time:.3f}"


def _taken(choice: Choice) -> str:
    point, years = choice.decision.point, choice.owner.terms.running.years
    price = usd(None if point.money is None else point.money.price_usd)
    whole = ""
    if choice.with_servers:
        whole = f", {usd(point.usd())} with servers and what running them takes over {counted_years(years)}"
    return f"Buy {point.network.name}: the network costs {price}{whole}; {_time(choice, point)}."


def _time(choice: Choice, point: Evaluated) -> str:
    if len(choice.mix) == 1:
        return f"an iteration of {choice.mix[0].name} takes {format_time(point.times_s[0])}"
    relative = of_time(point.relative_time(choice.mix))
    return f"the work takes {relative} times what it takes on {choice.reference.name}"


def _because(choice: Choice) -> str:
    looked = counted(choice.count(PLANNED) + choice.count(DROPPED), "network")
    point = choice.decision.point
    if choice.limits.rule == BUDGET:
        return f"It is the fastest of {looked} that {usd(choice.limits.budget_usd)} pay."
    if choice.limits.rule == DEADLINE:
        limit = of_time(choice.limits.deadline_years)
        return f"It costs the least, at listed prices, of {looked} on which the work takes at most {limit} times that."
    return (
        f"A year of work then costs {usd(work_usd(point, choice.mix))}, the least of {looked}: beyond this "
        "network, 1 % more money buys less than 1 % of time."
    )


def _neighbors(choice: Choice) -> list[str]:
    decision, mix = choice.decision, choice.mix
    lines = []
    if decision.dearer is not None:
        more, less = decision.shares(decision.dearer, mix)
        saved = _saved(choice, decision.dearer, less)
        lines.append(
            f"One step up the front, {decision.dearer.network.name} costs {more:.2%} more"
            f"{_drawn(choice, decision.dearer)} and saves {-less:.2%} of the time{saved}."
        )
    if decision.cheaper is not None:
        less, more = decision.shares(decision.cheaper, mix)
        lines.append(
            f"One step down, {decision.cheaper.network.name} saves {-less:.2%} of the money"
            f"{_drawn(choice, decision.cheaper)} and takes {more:.2%} longer{_saved(choice, decision.cheaper, more)}."
        )
    return lines or ["Nothing else is on the front."]


def _drawn(choice: Choice, other: Evaluated) -> str:
    """Return the number of price draws in which another network costs less, unless nearly all or none agree."""
    share = choice.cheaper_share(other)
    if share is None or not 1 - SURE < share < SURE:
        return ""
    return f" at listed prices (less in {share_words(share)} of price draws)"


def _saved(choice: Choice, other: Evaluated, change: float) -> str:
    """Return another network's savings and losses, and whether the change of time is within the error."""
    tie = ", a tie within the error" if 1 - SURE < faster_share(1 + change, 1.0) < SURE else ""
    found = choice.against(other)
    if found is None or found.network_saved_usd is None or found.servers_lost_usd is None:
        return tie
    saved, lost = found.network_saved_usd, found.servers_lost_usd
    years = counted_years(choice.owner.terms.running.years)
    network = f"{usd(abs(saved))} {'less' if saved >= 0 else 'more'} for the network"
    servers = f"{usd(abs(lost))} {'more' if lost >= 0 else 'less'} for servers"
    return f"{tie}: {network} and {servers} over {years}"
