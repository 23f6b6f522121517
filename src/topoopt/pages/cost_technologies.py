"""Optical technologies beside each other, and the published cost ratios under every way of counting."""

from collections.abc import Callable
from math import isinf

from topoopt.base.units import format_bytes, format_time
from topoopt.pages.page import Section, Table
from topoopt.pages.rows import Entries, facts, number, table, text
from topoopt.pages.words import yes_or_no
from topoopt.pricing import (
    PUBLISHED_IDEAL_OVER_TOPOOPT,
    PUBLISHED_OCS_OVER_PANEL,
    CostComparison,
    TechnologyRow,
)


def technology_section(costs: CostComparison) -> Section:
    """Return which technology can hold the fibers, which is quick enough, and what it costs."""
    caption = "Which technology can hold the fibers, which is quick enough, and what it costs."
    blocks = (_table(costs), facts(_entries(costs)))
    return Section("technologies", "Optical technologies", caption, blocks, _remark(costs))


def ratio_section(costs: CostComparison) -> Section:
    """Return the two published ratios under every way of counting."""
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


def _remark(costs: CostComparison) -> str:
    interval_s, network = costs.change_interval_s, costs.network
    often = "traffic stays the same"
    if not isinf(interval_s):
        often = f"traffic changes every {format_time(interval_s)}"
    if isinf(network.average_hops):
        return f"{often}; {network.wiring}"
    return f"{often}; routes of {network.average_hops:.2f} links over {network.wiring}"


def _table(costs: CostComparison) -> Table:
    return table(
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


def _entries(costs: CostComparison) -> Entries:
    """Return what the columns mean, and what of the plan would gain by a circuit of its own."""
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
    return entries


def _suits(row: TechnologyRow) -> str:
    if row.suits:
        return "yes"
    if not row.choice.fits:
        return "too small"
    return "too dim" if row.margin_db is not None and row.margin_db < 0 else "too slow"


def _from(value: float, words: Callable[[float], str] = format_time) -> str:
    return "never" if isinf(value) else f"≥ {words(value)}"
