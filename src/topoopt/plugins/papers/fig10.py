"""Table 1 and Figure 10: optical technologies and the time that each takes to switch, and costs of the fabrics."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from math import ceil
from statistics import mean

from topoopt.base.answers import Progress, fields_of
from topoopt.base.units import format_bandwidth
from topoopt.catalog import NETWORKS, PUBLISHED_IDEAL_OVER_TOPOOPT, OpticalSwitch, compare, optical_switches
from topoopt.pages import Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.pricing import (
    ACCOUNTINGS,
    PAPER,
    PUBLISHED_OCS_OVER_PANEL,
    Accounting,
    Bill,
    CostRatios,
    PartTable,
    accounting_sweep,
    bill_of_materials,
    cost_ratios,
    equivalent_fat_tree,
    find_prices,
    published_equivalent_bandwidth,
)

TABLE1 = description("table1")
OVERHEAD = 0.1
"""Share of the time that may go into rewiring where the break-even is stated."""
COMPARED = {
    "ports": "ports",
    "time": "reconfiguration_s",
    "least-loss": "insertion_loss_low_db",
    "most-loss": "insertion_loss_high_db",
}
"""Columns beside published values."""
FIG10 = description("fig10")
PRICES = "2022"
SERVERS = (128, 432, 1024, 2000)
CLUSTERS = ((4, 100e9), (8, 200e9))
"""Degree and interface bandwidth."""
ONE_PANEL = replace(PAPER, look_ahead=False, look_ahead_fiber=False)
SINCE_2022 = (
    ("as the paper counts, prices of 2022", PRICES, PAPER),
    ("prices of 2026", "2026", PAPER),
    ("one panel: one job needs no look-ahead", "2026", ONE_PANEL),
    ("fiber as long as the room needs", "2026", replace(ONE_PANEL, fiber_length_m=None)),
    ("switches, cards and breakout cables that are sold", "2026", Accounting()),
)
"""Steps from the paper's accounting to today's, each with its description, price list and accounting."""


def fig10(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the price of every fabric under the default accounting, and both ratios under every other one."""
    prices = find_prices(PRICES)
    costs = {
        cluster: [row for servers in SERVERS for row in _costs(servers, *cluster, prices)]
        for cluster in CLUSTERS
    }
    sweep = accounting_sweep(prices)
    charts = [
        FIG10.chart("cost", rows, degree=degree, bandwidth=format_bandwidth(bandwidth_bps))
        for (degree, bandwidth_bps), rows in costs.items()
    ]
    steps = [
        row for degree, bandwidth_bps in CLUSTERS for row in since_2022(SERVERS[0], degree, bandwidth_bps)
    ]
    return FIG10.figure(
        [row for rows in (*costs.values(), map(_accounting_row, sweep), steps) for row in rows],
        [
            *(row for rule in (PAPER, sweep[0].accounting) for row in _compared(rule, prices)),
            *(
                FIG10.comparison("today", row["ideal_over_topoopt"], **row)
                for row in steps[len(SINCE_2022) - 1 :: len(SINCE_2022)]
            ),
        ],
        [*charts, FIG10.chart("accounting", (), *_ratios(sweep))],
        prices=PRICES,
        default=PAPER.words,
        accountings=len(sweep),
        nearest=sweep[0],
    )


def _costs(servers: int, degree: int, bandwidth_bps: float, prices: PartTable) -> Iterator[Row]:
    size = servers, degree, bandwidth_bps
    bills = compare(
        NETWORKS.that(lambda one: one.closed_form),
        lambda name: (name, bill_of_materials(name, *size, prices, PAPER)),
    )
    for name, bill in bills.rows:  # without a full mesh of more interfaces than a server can have
        yield _cost_row(name, bill, degree, bandwidth_bps)
    whole_bps = published_equivalent_bandwidth(degree, bandwidth_bps)
    interfaces = ceil(whole_bps / max(prices.speeds_bps()))
    tree = bill_of_materials("fat-tree", servers, interfaces, whole_bps / interfaces, prices, PAPER)
    yield _cost_row("fat-tree, d·B/3.2", tree, degree, bandwidth_bps)


def _cost_row(fabric: str, bill: Bill, degree: int, bandwidth_bps: float) -> Row:
    return {
        "what": "cost",
        "fabric": fabric,
        "servers": bill.servers,
        "degree": degree,
        "bandwidth_bps": bandwidth_bps,
        "interfaces": bill.degree,
        "interface_bandwidth_bps": bill.bandwidth_bps,
        "accounting": bill.accounting.words,
        **fields_of(bill, "cost_usd", "cost_per_server_usd"),
    }


def since_2022(servers: int, degree: int, bandwidth_bps: float) -> Iterator[Row]:
    """Yield prices a server after each step from the paper's accounting to today's, where the list has the speed."""
    for step, listed, rule in SINCE_2022:
        prices = find_prices(listed)
        if bandwidth_bps > max(prices.speeds_bps()):
            continue
        bought = equivalent_fat_tree(servers, degree, bandwidth_bps, prices, rule)
        own_usd, direct_usd, ideal_usd = (
            bill_of_materials(name, servers, degree, bandwidth_bps, prices, rule).cost_per_server_usd or 0.0
            for name in ("topoopt", "direct", "ideal-switch")
        )
        yield {
            "what": "since 2022",
            "step": step,
            "servers": servers,
            "degree": degree,
            "bandwidth_bps": bandwidth_bps,
            "accounting": rule.words,
            "topoopt_per_server_usd": own_usd,
            "direct_per_server_usd": direct_usd,
            "ideal_per_server_usd": ideal_usd,
            "ideal_over_topoopt": ideal_usd / own_usd,
            "equal_cost_server_bandwidth_bps": bought.server_bandwidth_bps,
        }


def _accounting_row(row: CostRatios) -> Row:
    return {
        "what": "ratios",
        "accounting": row.accounting.words,
        **fields_of(row, "ocs_over_panel", "ideal_over_topoopt"),
    }


def _compared(rule: Accounting, prices: PartTable) -> Iterator[Comparison]:
    ratios = cost_ratios(prices, rule)
    of_bandwidths, bought = [], []
    for degree, bandwidth_bps in CLUSTERS:
        tree = equivalent_fat_tree(SERVERS[0], degree, bandwidth_bps, prices, rule)
        of_bandwidths.append(degree * bandwidth_bps / tree.server_bandwidth_bps)
        bought.append(
            f"{format_bandwidth(tree.server_bandwidth_bps)} a server where the paper's figures have "
            f"{format_bandwidth(published_equivalent_bandwidth(degree, bandwidth_bps))} "
            f"(d={degree}, {format_bandwidth(bandwidth_bps)})"
        )
    for name, ours, published in (
        ("optical", ratios.ocs_over_panel, PUBLISHED_OCS_OVER_PANEL),
        ("ideal", ratios.ideal_over_topoopt, PUBLISHED_IDEAL_OVER_TOPOOPT),
        ("bandwidth", mean(of_bandwidths), PUBLISHED_IDEAL_OVER_TOPOOPT),
    ):
        yield FIG10.comparison(name, ours, published=published, rule=rule, bought=" and ".join(bought))


def _ratios(sweep: tuple[CostRatios, ...]) -> Iterator[Series]:
    named = [name for name, accounting in ACCOUNTINGS.items() if accounting.switches == PAPER.switches]
    for name in (*named, sweep[-1].accounting.name):
        rows = [row for row in sweep if row.accounting.name == name]
        x, y = tuple(row.ocs_over_panel for row in rows), tuple(row.ideal_over_topoopt for row in rows)
        yield Series(name, x, y, joined=False, labels=tuple(row.accounting.words for row in rows))
    ratios = (PUBLISHED_OCS_OVER_PANEL,), (PUBLISHED_IDEAL_OVER_TOPOOPT,)
    yield Series("published", *ratios, published=True, joined=False)


def table1(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the catalogue of optical switches beside the published table, and its consequences for a job."""
    switches = optical_switches()
    rows = {switch.name: _row(switch) for switch in switches}
    kept_s = tuple(10.0 ** (tenths / 4) for tenths in range(-36, 21))
    duty = [
        Series(row.name, kept_s, tuple(max(0.0, 1 - row.reconfiguration_s / kept) for kept in kept_s))
        for row in switches
    ]
    times_s, ports = (TABLE1.compared[name]["published"] for name in ("time", "ports"))
    known = [
        point
        for name, said_s in times_s.items()
        if name in ports
        for point in product(*(said if isinstance(said, list) else [said] for said in (said_s, ports[name])))
    ]
    at, sizes = zip(*known, strict=True)
    theirs = Series("published", at, sizes, published=True, joined=False)
    return TABLE1.figure(
        rows.values(),
        [
            TABLE1.comparison(name, rows[switch][COMPARED[name]], switch, name=switch)
            for first, *others in (("ports",), ("time",), ("least-loss", "most-loss"))
            for switch in TABLE1.compared[first]["published"]
            for name in (first, *others)
            if switch in TABLE1.compared[name]["published"]
        ],
        [TABLE1.chart("ports", rows.values(), theirs), TABLE1.chart("duty", (), *duty)],
        overhead=OVERHEAD,
    )


def _row(switch: OpticalSwitch) -> Row:
    low, high = switch.insertion_loss_db or (None, None)
    return {
        "technology": switch.name,
        **fields_of(switch, "ports", "reconfiguration_s"),
        "insertion_loss_low_db": low,
        "insertion_loss_high_db": high,
        "break_even_s": switch.reconfiguration_s / OVERHEAD,
    }
