"""Optical technologies beside each other, and the published cost ratios under every way of counting."""

from collections.abc import Callable
from math import isinf

from topoopt.cost import (
    PUBLISHED_IDEAL_OVER_TOPOOPT,
    PUBLISHED_OCS_OVER_PANEL,
    CostComparison,
    TechnologyRow,
)
from topoopt.report.page import Facts, Section, Table
from topoopt.report.words import usd
from topoopt.units import format_bytes, format_time


def technology_section(costs: CostComparison) -> Section:
    """Return which technology can hold the fibers, which is quick enough, and what it costs."""
    return Section(
        "technologies",
        "Optical technologies",
        "Which technology can hold the fibers, which is quick enough, and what it costs.",
        (_table(costs), Facts("", _facts(costs))),
        _remark(costs),
    )


def ratio_section(costs: CostComparison) -> Section:
    """Return the two published ratios under every way of counting."""
    numbers, yes = ("tiers", "OCS / panel", "ideal / topoopt", "off by"), {True: "yes", False: "no"}
    rows = tuple(
        (
            row.accounting.name,
            yes[row.accounting.nics],
            yes[row.accounting.look_ahead],
            row.accounting.fiber_on,
            yes[row.accounting.look_ahead_fiber],
            str(row.accounting.tiers),
            f"{row.ocs_over_panel:.2f}",
            f"{row.ideal_over_topoopt:.2f}",
            f"{row.distance:.0%}",
        )
        for row in costs.ratios
    )
    columns = ("accounting", "NICs", "look-ahead", "fiber on", "its fiber", *numbers)
    return Section(
        "ratios",
        "The published ratios under every way of counting",
        "",
        (Table("", columns, rows, numbers),),
        f"published {PUBLISHED_OCS_OVER_PANEL:g} and {PUBLISHED_IDEAL_OVER_TOPOOPT:g}; nearest first",
    )


def _remark(costs: CostComparison) -> str:
    interval_s, network = costs.change_interval_s, costs.network
    often = "traffic stays the same"
    if not isinf(interval_s):
        often = f"traffic changes every {format_time(interval_s)}"
    if isinf(network.average_hops):
        return f"{often}; {network.wiring}"
    return f"{often}; routes of {network.average_hops:.2f} links over {network.wiring}"


def _table(costs: CostComparison) -> Table:
    numbers = ("ports", "rewired in", "duty", "within overhead", "beats forwarding", "a circuit for", "price")
    rows = tuple(
        (
            row.choice.technology.name,
            _suits(row),
            str(row.choice.technology.ports),
            format_time(row.choice.technology.reconfiguration_s),
            f"{row.choice.duty:.0%}",
            f"≥ {format_time(row.choice.break_even_s)}",
            _from(row.pays_from_s, format_time),
            _from(row.break_even_bytes, format_bytes),
            usd(row.cost_usd),
        )
        for row in costs.technologies
    )
    return Table("", ("technology", "suits", *numbers), rows, numbers)


def _facts(costs: CostComparison) -> tuple[tuple[str, str], ...]:
    left = f"{1 - costs.overhead:.0%}"
    facts = (
        ("within overhead", f"changes so far apart leave {left} of the time for traffic"),
        (
            "beats forwarding",
            "rewiring at changes so far apart carries more than forwarding over the wiring above",
        ),
        ("a circuit for", "messages of this size gain by waiting for a circuit of their own"),
        ("suits", "too small: not enough ports; too dim: loses more light than a transceiver can spare"),
    )
    largest = costs.network.largest_pair_bytes
    if largest is None:
        return facts
    quick = ", ".join(costs.worth_a_circuit_of) or "none of them"
    return (
        *facts,
        ("this plan", f"at most {format_bytes(largest)} from one server to another in an iteration: {quick}"),
    )


def _suits(row: TechnologyRow) -> str:
    if row.suits:
        return "yes"
    if not row.choice.fits:
        return "too small"
    return "too dim" if row.margin_db is not None and row.margin_db < 0 else "too slow"


def _from(value: float, words: Callable[[float], str]) -> str:
    return "never" if isinf(value) else f"≥ {words(value)}"
