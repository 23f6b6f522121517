"""Page of a cost comparison: the cost of a network on every fabric."""

from collections.abc import Callable, Sequence
from math import isinf

from topoopt.base.errors import unknown_name
from topoopt.base.units import format_bandwidth, format_bytes, format_time
from topoopt.catalog import NETWORKS, OWN, PUBLISHED_IDEAL_OVER_TOPOOPT
from topoopt.pages.chart import BarChart
from topoopt.pages.cost_tables import (
    ITEMS,
    OwnedRow,
    bill_table,
    built_facts,
    ownership_sections,
    remark_facts,
    watts,
)
from topoopt.pages.fabric_tables import LOWER_IN, price_range, share_words, skipped_notes
from topoopt.pages.page import Block, Notes, Page, Section, Table, Tile
from topoopt.pages.tables import (
    Source,
    bars,
    counted,
    dollars,
    facts,
    number,
    table,
    text,
    usd,
    yes_or_no,
)
from topoopt.pricing import PUBLISHED_OCS_OVER_PANEL, Bill, CostComparison, TechnologyRow


def cost_page(costs: CostComparison, bill: Sequence[str] | None = None) -> Page:
    """Return prices and watts, bills, the parts of each fabric, and the optical technologies.

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
    flags = ", ".join(f"--{word}" for word in costs.network.assumed)
    assumed = f" (assumed; change with {flags})" if flags else ""
    bills = [offer.bill for offer in costs.offers]
    rule = costs.purchase.accounting
    lacking = [(offer.bill.fabric, offer.bill.price_missing) for offer in costs.offers]
    left_open = "; ".join(f"{fabric}: no price of {', '.join(parts)}" for fabric, parts in lacking if parts)
    missing = ", ".join(sorted({part for offer in costs.offers for part in offer.bill.power_missing}))
    named = costs.purchase.power.name
    source = "makers' typical figures" if named == "typical" else named
    power_entries = {
        "watts": f"{source}, of the parts counted{_unsure(costs, 'watts')}",
        "missing": missing and f"no figure for {missing}; give one in a file of your own (power)",
    }
    counting = {
        "prices": f"list {costs.purchase.prices.name}{_unsure(costs, 'usd')}",
        "counted": f"{rule.name}: {rule.words}",
        "left open": left_open,
        **power_entries,
    }
    notes = (*([Notes((LOWER_IN + OWN,))] if costs.own else []), *skipped_notes(costs.skipped))
    blocks: tuple[Block, ...] = (_table(costs), *notes, facts(counting), _chart(costs))
    prices = Section("prices", "Prices", "Price and watts of the network on every fabric.", blocks)
    rows = [
        OwnedRow(offer.bill.fabric, offer.ownership) for offer in costs.offers if offer.ownership is not None
    ]
    ownership = ownership_sections(rows, costs.purchase.terms, costs.network.cluster.servers)
    return Page(
        "cost",
        f"Network of {cluster.servers:,} servers",
        headline(costs),
        tuple(Tile(one.fabric, usd(one.cost_usd), watts(one.power_w)) for one in bills),
        costs.warnings,
        (
            prices,
            *_bills(bills, _shown(bills, bill)),
            *ownership,
            *_equivalent(costs),
            _built(costs),
            technology_section(costs),
            *([ratio_section(costs)] if costs.ratios else []),
        ),
        {f"{one.fabric}_usd": one.cost_usd for one in bills},
        remark=f"{ports} of {format_bandwidth(cluster.link_bandwidth_bps)} each, without the servers{assumed}",
    )


def headline(costs: CostComparison) -> str:
    """Return the cheapest and the dearest fabric in a sentence."""
    priced = [(bill.cost_usd, bill.fabric) for bill in (offer.bill for offer in costs.offers)]
    known = sorted((row for row in priced if row[0] is not None), key=lambda row: row[0] or 0.0)
    if not known:
        return "No bill can be added up: the price list leaves a part of each open."
    (first_usd, first), (last_usd, last) = known[0], known[-1]
    if len(known) == 1:
        return f"{first} costs {usd(first_usd)}."
    times = f", {last_usd / first_usd:.1f} × as much" if first_usd and last_usd else ""
    return f"The network costs from {usd(first_usd)} on {first} to {usd(last_usd)} on {last}{times}."


def _shown(bills: Sequence[Bill], fabrics: Sequence[str] | None) -> Sequence[str]:
    names = [bill.fabric for bill in bills]
    if fabrics is None:
        return names[:1]
    if tuple(fabrics) == ("all",):
        return names
    for name in fabrics:
        if name not in names:
            raise unknown_name("bill", name, [*names, "all", "none"])
    return fabrics


def _table(costs: CostComparison) -> Table:
    own, owned = costs.own, any(offer.ownership for offer in costs.offers)
    return table(
        "Fabrics",
        costs.offers,
        text("fabric", "bill.fabric"),
        number("price", "bill.cost_usd"),
        text("80% of price draws", lambda offer: price_range(offer.bill)),
        number("a server", "bill.cost_per_server_usd", lambda price_usd: f"${price_usd:,.0f}"),
        number("× topoopt", lambda offer: offer.to_json(own)["over_topoopt"], ".2f"),
        number("lower in", lambda offer: offer.to_json(own)["cheaper_share"], share_words),
        number("power", lambda offer: watts(offer.bill.power_w)),
        *([number("an hour", "ownership.usd_per_hour", dollars)] if owned else []),
        text("what it is", lambda offer: offer.bill.note or NETWORKS[offer.bill.fabric].description),
    )


def _chart(costs: CostComparison) -> BarChart:
    def price_of(item: str) -> Source:
        return lambda offer: sum(line.total_usd or 0.0 for line in offer.bill.lines if line.item == item)

    series = bars(costs.offers, "bill.fabric", {name: price_of(item) for item, name in ITEMS.items()}, 1e3)
    present = tuple(part for part in series if any(part.y))
    return BarChart("price_by_fabric", "Price by part", "fabric", "price ($1,000)", present, stacked=True)


def _unsure(costs: CostComparison, value: str) -> str:
    """Return the figures that are not published: recalled from a paper or data sheet, or assumed."""
    words = {"recalled": "from memory and unconfirmed", "assumed": "assumed"}
    rows, parts = costs.sources(), []
    for confidence, meaning in words.items():
        items = dict.fromkeys(row["item"] for row in rows if value in row and row["confidence"] == confidence)
        if items:
            parts.append(f"{meaning}: {', '.join(ITEMS[item] for item in items)}")
    return f" ({'; '.join([*parts, 'sources in JSON'])})" if parts else ""


def _bills(bills: Sequence[Bill], shown: Sequence[str]) -> list[Section]:
    """Return a section for each bill: first, in the order given, those that a terminal shows."""
    by_name = {bill.fabric: bill for bill in bills}
    return [
        Section(
            f"bill-{name}",
            f"Bill of {name}",
            "",
            (bill_table(by_name[name], folded=name not in shown),),
            usd(by_name[name].cost_usd),
            detail=name not in shown,
        )
        for name in dict.fromkeys((*shown, *by_name))
    ]


def _equivalent(costs: CostComparison) -> list[Section]:
    tree = costs.to_json()["cost_equivalent_fat_tree"]
    if tree is None:
        return []
    published = tree["published"]
    priced = "" if published["cost_usd"] is None else f", {usd(published['cost_usd'])}"
    interfaces = f"{tree['interfaces']} × {format_bandwidth(tree['interface_bandwidth_bps'])}"
    entries = {
        "by these prices": f"{format_bandwidth(tree['server_bandwidth_bps'])} a server "
        f"({interfaces}, {tree['note']}), d·B / {tree['ratio']:.2f}, {usd(tree['cost_usd'])}",
        "as published": f"{format_bandwidth(published['server_bandwidth_bps'])} a server, "
        f"d·B / {published['ratio']:g}{priced}",
    }
    return [Section("equivalent", "The fat-tree that the price of topoopt buys", "", (facts(entries),))]


def _built(costs: CostComparison) -> Section:
    problems = tuple(
        f"{offer.bill.fabric}: {problem}" for offer in costs.offers for problem in offer.realization.problems
    )
    notes = (Notes(problems, warn=True),) if problems else ()
    blocks = (built_facts(costs.offers), remark_facts(costs.offers), *notes)
    return Section("built", "What it is built of", "", blocks)


def technology_section(costs: CostComparison) -> Section:
    """Return the technologies with their fit, speed and cost."""
    caption = "Which technology can hold the fibers, which is quick enough, and what it costs."
    cost_technologies_table = table(
        "",
        costs.technologies,
        text("technology", "choice.technology.name"),
        text("suits", _suits),
        number("ports", "choice.technology.ports"),
        number("rewired in", "choice.technology.reconfiguration_s"),
        number("duty", "choice.duty", ".0%"),
        number("within overhead", "choice.break_even_s", _from),
        number("beats forwarding", "pays_from_s", _from),
        number("a circuit for", lambda row: _from(row.break_even_bytes, format_bytes)),
        number("price", "cost_usd"),
    )
    entries = {
        "within overhead": f"changes so far apart leave {1 - costs.overhead:.0%} of the time for traffic",
        "beats forwarding": "rewiring at changes so far apart carries more than forwarding over the wiring above",
        "a circuit for": "messages of this size gain by waiting for a circuit of their own",
        "suits": "too small: not enough ports; too dim: loses more light than a transceiver can spare",
    }
    if costs.network.largest_pair_bytes is not None:
        largest = format_bytes(costs.network.largest_pair_bytes)
        quick = ", ".join(costs.worth_a_circuit_of) or "none of them"
        entries["this plan"] = f"at most {largest} from one server to another in an iteration: {quick}"
    blocks = (cost_technologies_table, facts(entries))
    interval_s, network = costs.change_interval_s, costs.network
    often = "traffic stays the same"
    if not isinf(interval_s):
        often = f"traffic changes every {format_time(interval_s)}"
    if isinf(network.average_hops):
        remark = f"{often}; {network.wiring}"
    else:
        remark = f"{often}; routes of {network.average_hops:.2f} links over {network.wiring}"
    return Section("technologies", "Optical technologies", caption, blocks, remark)


def ratio_section(costs: CostComparison) -> Section:
    """Return the two published ratios under every accounting."""
    rows = table(
        "",
        costs.ratios,
        text("accounting", "accounting.name"),
        text("NICs", "accounting.nics", yes_or_no),
        text("look-ahead", "accounting.look_ahead", yes_or_no),
        text("fiber on", "accounting.fiber_on"),
        text("its fiber", "accounting.look_ahead_fiber", yes_or_no),
        number("tiers", "accounting.tiers"),
        number("OCS / panel", "ocs_over_panel", ".2f"),
        number("ideal / topoopt", "ideal_over_topoopt", ".2f"),
        number("off by", "distance", ".0%"),
    )
    remark = f"published {PUBLISHED_OCS_OVER_PANEL:g} and {PUBLISHED_IDEAL_OVER_TOPOOPT:g}; nearest first"
    return Section("ratios", "The published ratios under every way of counting", "", (rows,), remark)


def _suits(row: TechnologyRow) -> str:
    if row.suits:
        return "yes"
    if not row.choice.fits:
        return "too small"
    return "too dim" if row.margin_db is not None and row.margin_db < 0 else "too slow"


def _from(value: float, words: Callable[[float], str] = format_time) -> str:
    return "never" if isinf(value) else f"≥ {words(value)}"
