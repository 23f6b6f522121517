"""The offers of ``topoopt cost`` as one document, the same for people and programs."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from math import isfinite
from typing import TYPE_CHECKING, Any

from topoopt.errors import InvalidInput

if TYPE_CHECKING:
    from topoopt.cli.cost_arguments import BoughtArguments
    from topoopt.cli.cost_inputs import Network
    from topoopt.cost import (
        Accounting,
        AccountingRow,
        Bill,
        FabricOptions,
        Ownership,
        PowerTable,
        PriceTable,
        Realization,
        Running,
        TechnologyRow,
    )
    from topoopt.hardware import ClusterSpec

OWN = "topoopt"
COLUMNS = ("fabric", "item", "bandwidth_bps", "count", "unit_usd", "total_usd", "basis", "unit_w", "total_w")
"""Columns of the file of bills."""


@dataclass(frozen=True, eq=False)
class Offer:
    """One fabric: its bill, what it is built of, and what it costs over years where that is asked for."""

    bill: "Bill"
    realization: "Realization"
    ownership: "Ownership | None"


def make_offer(
    name: str,
    network: "Network",
    bought: "BoughtArguments",
    rule: "Accounting",
    prices: "PriceTable",
    power: "PowerTable",
    options: "FabricOptions",
    running: "Running | None",
) -> Offer:
    """Return the offer of one fabric."""
    from topoopt.cost import bill_of_materials, ownership, realize

    cluster = network.cluster
    size = cluster.servers, cluster.degree, cluster.link_bandwidth_bps
    bill = bill_of_materials(name, *size, prices, rule, options, power)
    built = realize(
        name,
        *size,
        links=cluster.links,
        shards=bought.shards,
        technology=bought.technology,
        look_ahead=rule.look_ahead,
        tiers=rule.tiers,
        options=options,
        interfaces_per_device=network.interfaces_per_device if name.startswith(OWN) else None,
    )
    return Offer(bill, built, None if running is None else ownership(bill, running))


@dataclass(frozen=True, eq=False)
class Answer:
    """Everything that was asked and found, before it is put into words.

    Attributes
    ----------
    skipped : sequence of (fabric, reason)
    change_interval_s : float
        Infinite where traffic stays the same.
    """

    network: "Network"
    bought: "BoughtArguments"
    rule: "Accounting"
    prices: "PriceTable"
    power: "PowerTable"
    offers: Sequence[Offer]
    skipped: Sequence[tuple[str, str]]
    technologies: "Sequence[TechnologyRow]"
    sweep: "Sequence[AccountingRow]"
    change_interval_s: float
    overhead: float


def cost_document(answer: Answer) -> dict[str, Any]:
    """Return everything that the verb prints; what is infinite is None."""
    from topoopt.cost import bill_of_materials

    cluster, prices, rule = answer.network.cluster, answer.prices, answer.rule
    size = cluster.servers, cluster.degree, cluster.link_bandwidth_bps
    try:
        own_usd = bill_of_materials(OWN, *size, prices, rule).cost_usd
        tree = _equivalent(cluster, prices, rule)
    except InvalidInput:
        own_usd, tree = None, None  # a list of one's own need not have panels
    document = {
        "servers": cluster.servers,
        "degree": cluster.degree,
        "bandwidth_bps": cluster.link_bandwidth_bps,
        "links": cluster.links,
        "prices": prices.name,
        "power": answer.power.name,
        "accounting": {**asdict(rule), "words": rule.words},
        "options": {
            name: getattr(answer.bought, name)
            for name in (
                "oversubscription",
                "ocs_interfaces",
                "electrical_interfaces",
                "shards",
                "technology",
            )
        },
        "sources": _sources(answer),
        "fabrics": [_fabric(offer, own_usd) for offer in answer.offers],
        "skipped_fabrics": [list(row) for row in answer.skipped],
        "cost_equivalent_fat_tree": tree,
        "change_interval_s": _finite(answer.change_interval_s),
        "overhead": answer.overhead,
        "average_hops": _finite(answer.network.average_hops),
        "wiring": answer.network.wiring,
        "optical_technologies": [_technology(row) for row in answer.technologies],
        "transfers": _transfers(answer),
        "warnings": _warnings(answer),
    }
    return {**document, "ratios": _ratios(answer.sweep)} if answer.sweep else document


def write_bills(path: str, offers: Iterable[Offer]) -> None:
    """Write every line of every bill as a table."""
    from topoopt.cli.table_file import write_table

    lines = ({"fabric": offer.bill.fabric, **asdict(line)} for offer in offers for line in offer.bill.lines)
    write_table(path, COLUMNS, ([line[column] for column in COLUMNS] for line in lines))


def _sources(answer: Answer) -> list[dict[str, Any]]:
    """Return every row of the tables that a bill was made of, with how sure it is."""
    parts = dict.fromkeys(
        (line.item, line.bandwidth_bps) for offer in answer.offers for line in offer.bill.lines
    )
    priced = dict.fromkeys(row for part in parts for row in answer.prices.rows_behind(*part))
    drawn = dict.fromkeys(row for part in parts for row in answer.power.rows_behind(*part))
    return [*map(asdict, priced), *map(asdict, drawn)]


def _fabric(offer: Offer, own_usd: float | None) -> dict[str, Any]:
    bill, owned = offer.bill, offer.ownership
    row = {
        "fabric": bill.fabric,
        "cost_usd": bill.cost_usd,
        "cost_per_server_usd": bill.cost_per_server_usd,
        "over_topoopt": bill.cost_usd / own_usd if own_usd else None,
        "power_w": bill.power_w,
        "known_power_w": bill.known_power_w,
        "power_missing": list(bill.power_missing),
        "accounting": bill.accounting.name,
        "bill": [asdict(line) for line in bill.lines],
        "note": bill.note,
        "realization": _realization(offer.realization),
    }
    if owned is not None:
        row["ownership"] = asdict(owned)
    return row


def _realization(built: "Realization") -> dict[str, Any]:
    tree = None if built.tree is None else {**asdict(built.tree), "switches": built.tree.switches}
    return {
        "optical": [{**asdict(row), "fits": row.fits} for row in built.optical],
        "trees": built.trees,
        "tree": tree,
        "transceiver": None if built.transceiver is None else built.transceiver.name,
        "margin_db": built.margin_db,
        "remarks": list(built.remarks),
        "problems": list(built.problems),
    }


def _equivalent(cluster: "ClusterSpec", prices: "PriceTable", rule: "Accounting") -> dict[str, Any]:
    from topoopt.cost import (
        PUBLISHED_RATIO,
        bill_of_materials,
        equivalent_fat_tree,
        published_equivalent_bandwidth,
    )

    size = cluster.servers, cluster.degree, cluster.link_bandwidth_bps
    tree = equivalent_fat_tree(*size, prices, rule)
    published_bps = published_equivalent_bandwidth(cluster.degree, cluster.link_bandwidth_bps)
    try:
        published = bill_of_materials("fat-tree", cluster.servers, 1, published_bps, prices, rule)
        published_usd: float | None = published.cost_usd
    except InvalidInput:
        published_usd = None  # one interface so fast is not in the list
    return {
        "server_bandwidth_bps": tree.server_bandwidth_bps,
        "interfaces": tree.interfaces,
        "interface_bandwidth_bps": tree.interface_bandwidth_bps,
        "cost_usd": tree.cost_per_server_usd * cluster.servers,
        "ratio": cluster.server_bandwidth_bps / tree.server_bandwidth_bps,
        "note": tree.note,
        "published": {
            "server_bandwidth_bps": published_bps,
            "ratio": PUBLISHED_RATIO,
            "cost_usd": published_usd,
        },
    }


def _technology(row: "TechnologyRow") -> dict[str, Any]:
    part = row.choice.technology
    return {
        "technology": part.name,
        "suits": row.suits,
        "fits": row.choice.fits,
        "ports": part.ports,
        "reconfiguration_s": part.reconfiguration_s,
        "insertion_loss_db": None if part.insertion_loss_db is None else list(part.insertion_loss_db),
        "margin_db": row.margin_db,
        "duty": row.choice.duty,
        "suits_from_s": row.choice.break_even_s,
        "pays_from_s": _finite(row.pays_from_s),
        "break_even_bytes": _finite(row.break_even_bytes),
        "cost_usd": row.cost_usd,
    }


def _transfers(answer: Answer) -> dict[str, Any] | None:
    """Return the transfers of the plan beside the sizes from which on waiting for a circuit pays."""
    if answer.network.plan is None:
        return None
    sizes = answer.network.plan.traffic().mp_matrix()
    largest = float(sizes.max(initial=0.0))
    quick = [row.choice.technology.name for row in answer.technologies if row.break_even_bytes <= largest]
    return {"largest_pair_bytes": largest, "worth_a_circuit_of": quick}


def _warnings(answer: Answer) -> list[str]:
    panel = next(row for row in answer.technologies if row.choice.technology.name == "patch-panel")
    if answer.change_interval_s >= panel.choice.break_even_s:
        return []
    warning = (
        "The wiring of topoopt is made for one traffic that every iteration repeats. Traffic that changes so often, "
        "as that of experts or graphs does, wants circuits that follow it: ocs-reconfig, sip-ml."
    )
    return [warning]


def _ratios(sweep: "Sequence[AccountingRow]") -> dict[str, Any]:
    from topoopt.cost import PUBLISHED_IDEAL_OVER_TOPOOPT, PUBLISHED_OCS_OVER_PANEL

    published = {
        "ocs_over_panel": PUBLISHED_OCS_OVER_PANEL,
        "ideal_over_topoopt": PUBLISHED_IDEAL_OVER_TOPOOPT,
    }
    rows = [
        {
            "accounting": asdict(row.accounting),
            "ocs_over_panel": row.ocs_over_panel,
            "ideal_over_topoopt": row.ideal_over_topoopt,
            "distance": row.distance,
        }
        for row in sweep
    ]
    return {"published": published, "rows": rows}


def _finite(value: float) -> float | None:
    return value if isfinite(value) else None
