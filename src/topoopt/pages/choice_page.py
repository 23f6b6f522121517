"""What to buy as a page: a sentence with its reason, the front, what would change it, and all that was looked at."""

from collections import Counter
from collections.abc import Iterator
from functools import partial

from topoopt.base.units import format_time
from topoopt.pages.chart import LineChart, Series
from topoopt.pages.choice_words import headline, of_time, price_words
from topoopt.pages.facts import facts_of
from topoopt.pages.page import Block, Notes, Page, Section, Tile
from topoopt.pages.rows import facts, number, table, text
from topoopt.pages.words import counted, dollars, duration, usd
from topoopt.studies.choice import (
    BUDGET,
    DEADLINE,
    DROPPED,
    LEFT_OUT,
    PLANNED,
    PRICE,
    Choice,
    Evaluated,
    Turn,
    work_usd,
)

MOST_REASONS = 6
"""Reasons for which networks are left out that are shown; all of them are in JSON and in the table."""
MOST_TURNS = 8


def choice_page(choice: Choice) -> Page:
    """Return everything that there is to say about what to buy."""
    point = choice.decision.point
    jobs = ", ".join(f"{job.name} {job.share:.0%}" for job in choice.mix)
    return Page(
        "choice",
        jobs,
        headline(choice),
        _tiles(choice),
        (),
        (_front(choice), _turns(choice), _jobs(choice), _all(choice), _trust(choice)),
        {
            "total_usd": point.usd(),
            "network_usd": None if point.money is None else point.money.price_usd,
            "relative_time": point.relative_time(choice.mix),
            "usd_per_year_of_work": work_usd(point, choice.mix),
        },
        remark=f"on {choice.machines}",
        answer_first=True,
    )


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


def _front(choice: Choice) -> Section:
    mix = choice.mix
    rows = table(
        "",
        choice.front,
        text("", lambda row: "→" if row is choice.decision.point else ""),
        text("network", "network.name"),
        number("network costs", lambda row: row.money.price_usd, usd),
        *([number("with servers", lambda row: row.usd(), usd)] if choice.with_servers else []),
        number("time", lambda row: row.relative_time(mix), of_time),
        number("a year of work", lambda row: work_usd(row, mix), lambda value: f"${value:,.0f}"),
    )
    notes = (
        f"time: of what the work of a year takes on {choice.reference.name}; a year of work: money a year × time",
        f"{counted(choice.count(PLANNED), 'network')} planned, {choice.count(DROPPED)} dropped: a planned one costs no "
        f"more and is no slower by the estimate; {choice.count(LEFT_OUT)} left out",
    )
    caption = "Networks that no other beats in both money and time; the arrow says which one is taken."
    return Section("front", "The front of money and time", caption, (rows, Notes(notes), _chart(choice)))


def _chart(choice: Choice) -> LineChart:
    """Return every planned network by money and time, the front joined."""
    on_front = set(map(id, choice.front))
    planned = [point for point in choice.points if point.status == PLANNED]
    others = [point for point in planned if id(point) not in on_front]
    fabrics = dict.fromkeys(point.network.fabric for point in others)
    clouds = [
        _series(choice, fabric, [point for point in others if point.network.fabric == fabric], joined=False)
        for fabric in fabrics
    ]
    series = (
        _series(choice, "front", choice.front, joined=True),
        *clouds,
        _series(choice, "taken", [choice.decision.point], joined=False),
    )
    what = "network, servers and running them" if choice.with_servers else "network"
    return LineChart(
        "money_and_time",
        "Money against time",
        f"{what} over all years (million $)",
        f"time of the work (1: on {choice.reference.name})",
        series,
    )


def _series(
    choice: Choice, name: str, points: "list[Evaluated] | tuple[Evaluated, ...]", joined: bool
) -> Series:
    return Series(
        name,
        tuple((point.usd() or 0.0) / 1e6 for point in points),
        tuple(point.relative_time(choice.mix) or 0.0 for point in points),
        joined=joined,
        labels=tuple(point.network.name for point in points),
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
    """Yield what does not change the answer."""
    moved = {turn.name for turn in choice.turns if turn.kind == PRICE}
    parts = dict.fromkeys(part for point in choice.points for part in point.parts_usd())
    still = [price_words(part) for part in parts if part not in moved]
    if still:
        yield f"prices that change nothing from a quarter to four times what they are: {', '.join(still)}"
    if choice.with_servers and choice.limits.rule not in (BUDGET, DEADLINE):
        yield "utilization changes what an hour costs, and no order: everything is paid for, used or not"


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
            [number("a million samples", lambda row: _times(1e6, row.owned.usd_per_sample), dollars)]
            if priced
            else []
        ),
        *(
            [number("a million tokens", lambda row: _times(1e6, row.owned.usd_per_token), dollars)]
            if tokens
            else []
        ),
        *([number("the run", "owned.usd_per_run", usd)] if run else []),
        *([number("takes", "owned.run_hours", lambda hours: duration(hours * 3600))] if run else []),
    )
    return Section("jobs", "Jobs", "Iteration times on what is taken, and on the reference.", (times,))


def _times(count: float, value: float | None) -> float | None:
    return None if value is None else count * value


def _all(choice: Choice) -> Section:
    mix, share = choice.mix, partial(_status, choice)
    rows = table(
        "",
        sorted(choice.points, key=lambda point: point.usd() or 0.0),
        text("network", "network.name"),
        text("", share),
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


def _status(choice: Choice, point: Evaluated) -> str:
    return "front" if any(point is one for one in choice.front) else point.status


def _trust(choice: Choice) -> Section:
    rests = facts_of("Money", choice.owner.facts())
    plans = facts({"plans": f"{choice.plans:,}", "reference": choice.reference.name}, "Times")
    return Section("trust", "What this rests on", "", (rests, plans), detail=True)
