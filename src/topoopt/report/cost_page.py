"""What a network costs on every fabric, as a page."""

from collections.abc import Sequence

from topoopt.cost import Bill, CostComparison, Offer
from topoopt.errors import unknown_name
from topoopt.report.chart import BarChart, Series
from topoopt.report.cost_parts import ITEMS, bill_table, built_facts, remark_facts, watts
from topoopt.report.cost_technologies import ratio_section, technology_section
from topoopt.report.fabrics import skipped_notes
from topoopt.report.page import Block, Facts, Notes, Page, Section, Table, Tile
from topoopt.report.words import counted, usd
from topoopt.units import format_bandwidth

WHAT_IT_IS = {
    "topoopt": "patch panels",
    "topoopt-ocs": "optical circuit switches in place of panels",
    "fat-tree": "full bisection, an interface for each of topoopt's",
    "rail": "leaf and spine for each interface",
    "expander": "random cables, no switch",
    "torus": "cables to the neighbors in a grid, no switch",
    "full-mesh": "cables to every server, no switch",
    "ocs-reconfig": "optical circuit switches that follow the traffic",
    "mixnet": "a fat-tree, and circuit switches for regions of servers",
}
"""Shorter than the note of the bill, or in place of none."""


def cost_page(costs: CostComparison, bill: Sequence[str] | None = None) -> Page:
    """Return prices and watts, bills, what each fabric is built of, and the optical technologies.

    Parameters
    ----------
    bill
        Fabrics whose bill is shown in a terminal, too, ``all`` among them for all; the first if not given.

    Raises
    ------
    InvalidInput
        If a fabric of ``bill`` has no price.
    """
    cluster = costs.network.cluster
    ports = counted(cluster.degree, f"{cluster.links} port")
    return Page(
        "cost",
        f"Network of {cluster.servers:,} servers",
        headline(costs),
        tuple(
            Tile(offer.bill.fabric, usd(offer.bill.cost_usd), watts(offer.bill.power_w))
            for offer in costs.offers
        ),
        costs.warnings,
        (
            _prices(costs),
            *_bills(costs, _shown(costs, bill)),
            *_equivalent(costs),
            _built(costs),
            technology_section(costs),
            *([ratio_section(costs)] if costs.ratios else []),
        ),
        {f"{offer.bill.fabric}_usd": offer.bill.cost_usd for offer in costs.offers},
        remark=f"{ports} of {format_bandwidth(cluster.link_bandwidth_bps)} each, without the servers",
    )


def headline(costs: CostComparison) -> str:
    """Return the cheapest and the dearest fabric in a sentence."""
    by_price = sorted((offer.bill for offer in costs.offers), key=lambda one: one.cost_usd)
    first, last = by_price[0], by_price[-1]
    if first is last:
        return f"{first.fabric} costs {usd(first.cost_usd)}."
    return (
        f"The network costs from {usd(first.cost_usd)} on {first.fabric} to {usd(last.cost_usd)} on "
        f"{last.fabric}, {last.cost_usd / first.cost_usd:.1f} × as much."
    )


def _shown(costs: CostComparison, wanted: Sequence[str] | None) -> tuple[str, ...]:
    names = [offer.bill.fabric for offer in costs.offers]
    if wanted is None:
        return (names[0],)
    if tuple(wanted) == ("all",):
        return tuple(names)
    for name in wanted:
        if name not in names:
            raise unknown_name("bill", name, [*names, "all", "none"])
    return tuple(wanted)


def _prices(costs: CostComparison) -> Section:
    rule = costs.purchase.accounting
    facts = (
        ("prices", f"list {costs.purchase.prices.name}{_unsure(costs, 'usd')}"),
        ("counted", f"{rule.name}: {rule.words}"),
        *_power_facts(costs),
    )
    blocks: tuple[Block, ...] = (
        _table(costs),
        *skipped_notes(costs.skipped),
        Facts("", facts),
        _chart(costs),
    )
    return Section("prices", "Prices", "Price and watts of the network on every fabric.", blocks)


def _table(costs: CostComparison) -> Table:
    owned = any(offer.ownership for offer in costs.offers)
    numbers = ("price", "a server", "× topoopt", "power", *(["with electricity"] if owned else []))
    rows = []
    for offer in costs.offers:
        bill, years = offer.bill, offer.ownership
        over = f"{bill.cost_usd / costs.own_usd:.2f}" if costs.own_usd else "–"
        total = [usd(years.total_usd)] if years is not None else []
        figures = (usd(bill.cost_usd), f"${bill.cost_per_server_usd:,.0f}", over, watts(bill.power_w))
        rows.append((bill.fabric, *figures, *total, WHAT_IT_IS.get(bill.fabric, bill.note)))
    return Table("Fabrics", ("fabric", *numbers, "what it is"), tuple(rows), numbers)


def _chart(costs: CostComparison) -> BarChart:
    names = tuple(offer.bill.fabric for offer in costs.offers)
    series = []
    for item, name in ITEMS.items():
        sums = tuple(_of_item(offer.bill, item) / 1e3 for offer in costs.offers)
        if any(sums):
            series.append(Series(name, names, sums))
    return BarChart(
        "price_by_fabric", "Price by part", "fabric", "price ($1,000)", tuple(series), stacked=True
    )


def _of_item(bill: Bill, item: str) -> float:
    return sum(line.total_usd for line in bill.lines if line.item == item)


def _power_facts(costs: CostComparison) -> tuple[tuple[str, str], ...]:
    missing = sorted({part for offer in costs.offers for part in offer.bill.power_missing})
    named = costs.purchase.power.name
    source = "makers' typical figures" if named == "typical" else named
    facts = [("watts", f"{source}, of the parts counted{_unsure(costs, 'watts')}")]
    if missing:
        facts.append(
            ("missing", f"no figure for {', '.join(missing)}; give one in a file of your own (power)")
        )
    running = costs.purchase.running
    if running is not None:
        facts.append(
            (
                "electricity",
                f"{running.years:g} years at ${running.electricity_usd_per_kwh:g} a kWh, "
                f"power usage effectiveness {running.power_usage_effectiveness:g}",
            )
        )
    return tuple(facts)


def _unsure(costs: CostComparison, value: str) -> str:
    """Return which figures are not published: recalled from a paper or data sheet, or assumed."""
    words = {"recalled": "from memory and unconfirmed", "assumed": "assumed"}
    rows, parts = costs.sources(), []
    for confidence, meaning in words.items():
        items = dict.fromkeys(row["item"] for row in rows if value in row and row["confidence"] == confidence)
        if items:
            parts.append(f"{meaning}: {', '.join(ITEMS[item] for item in items)}")
    return f" ({'; '.join([*parts, 'sources in JSON'])})" if parts else ""


def _bills(costs: CostComparison, shown: tuple[str, ...]) -> list[Section]:
    by_name = {offer.bill.fabric: offer.bill for offer in costs.offers}
    rest = [name for name in by_name if name not in shown]
    sections = [_bill(by_name[name], detail=False) for name in shown]
    return sections + [_bill(by_name[name], detail=True) for name in rest]


def _bill(bill: Bill, detail: bool) -> Section:
    return Section(
        f"bill-{bill.fabric}",
        f"Bill of {bill.fabric}",
        "",
        (bill_table(bill, folded=detail),),
        usd(bill.cost_usd),
        detail=detail,
    )


def _equivalent(costs: CostComparison) -> list[Section]:
    tree = costs.to_json()["cost_equivalent_fat_tree"]
    if tree is None:
        return []
    published = tree["published"]
    priced = "" if published["cost_usd"] is None else f", {usd(published['cost_usd'])}"
    interfaces = f"{tree['interfaces']} × {format_bandwidth(tree['interface_bandwidth_bps'])}"
    facts = (
        (
            "by these prices",
            f"{format_bandwidth(tree['server_bandwidth_bps'])} a server ({interfaces}, {tree['note']}), "
            f"d·B / {tree['ratio']:.2f}, {usd(tree['cost_usd'])}",
        ),
        (
            "as published",
            f"{format_bandwidth(published['server_bandwidth_bps'])} a server, d·B / {published['ratio']:g}{priced}",
        ),
    )
    return [Section("equivalent", "The fat-tree that the price of topoopt buys", "", (Facts("", facts),))]


def _built(costs: CostComparison) -> Section:
    problems = _problems(costs.offers)
    blocks: list[Block] = [built_facts(costs.offers), remark_facts(costs.offers)]
    if problems:
        blocks.append(Notes(problems, warn=True))
    return Section("built", "What it is built of", "", tuple(blocks))


def _problems(offers: Sequence[Offer]) -> tuple[str, ...]:
    return tuple(
        f"{offer.bill.fabric}: {problem}" for offer in offers for problem in offer.realization.problems
    )
