"""Section on the cost of owning a cluster and training on it: per hour, per run, and savings and losses of a
network."""

from collections.abc import Sequence
from dataclasses import dataclass

from topoopt.base.units import format_bandwidth
from topoopt.catalog import NETWORKS
from topoopt.pages.chart import BarChart
from topoopt.pages.fabric_tables import name_apart
from topoopt.pages.page import Block, Facts, Notes, Section, Table, Tile
from topoopt.pages.tables import (
    Column,
    Entries,
    Source,
    bars,
    counted,
    dollars,
    facts,
    number,
    table,
    text,
    usd,
)
from topoopt.plans import ComparedFabric
from topoopt.pricing import (
    Bill,
    BillLine,
    Offer,
    OpticalDevices,
    Ownership,
    OwnershipTerms,
    Plane,
    Realization,
)
from topoopt.transformers import OwnedCluster

ITEMS = {
    "nic": "network card",
    "transceiver": "transceiver",
    "linear_transceiver": "linear transceiver",
    "passive_copper": "passive copper cable",
    "active_copper": "active copper cable",
    "switch": "packet switch",
    "electrical_port": "port of a packet switch",
    "co_packaged_port": "co-packaged optics of a port",
    "breakout_cable": "breakout cable",
    "patch_panel_port": "port of a patch panel",
    "manual_panel_port": "port of a manual patch panel",
    "ocs_port": "port of an optical circuit switch",
    "mems_port": "port of a circuit switch of mirrors",
    "piezo_port": "port of a piezo circuit switch",
    "liquid_crystal_port": "port of a circuit switch of liquid crystal",
    "silicon_photonics_port": "port of a circuit switch of silicon photonics",
    "optical_switch_1x2": "1×2 optical switch",
    "fiber_m": "fiber",
}
PORTS_OF = {"co_packaged_port": "optics of a port"}
"""Names of the ports of a named switch; all others are ports."""
MILLION = 1e6
SAMPLES = ((1.0, "1 sample"), (1e3, "1 k samples"), (1e6, "1 M samples"), (1e9, "1 G samples"))
"""Numbers of samples priced together, and their labels."""


@dataclass(frozen=True, slots=True)
class OwnedRow:
    """A fabric by its name, and the cost of ownership with it."""

    name: str
    owned: Ownership


def owned_rows(rows: Sequence[ComparedFabric]) -> list[OwnedRow]:
    """Return the fabrics whose ownership is priced."""
    name = name_apart(rows)
    return [OwnedRow(name(row), row.ownership) for row in rows if row.ownership is not None]


def ownership_sections(
    rows: Sequence[OwnedRow], terms: OwnershipTerms | None, servers: int, network: str = ""
) -> list[Section]:
    """Return a section about the cost of ownership; none where it is not priced.

    Parameters
    ----------
    rows
        Fabrics, one's own first.
    network
        Description of the network, where there are no fabrics to name.
    """
    if terms is None or not rows:
        return []
    running = terms.running
    first = rows[0].owned
    said = {
        "{:.3g}% interest a year": running.interest_rate and 100 * running.interest_rate,
        "${:.4g} a kW and month for the building": running.colocation_usd_per_kw_month,
        "{:.3g}% of all prices a year for maintenance": running.maintenance_rate
        and 100 * running.maintenance_rate,
        "${:,.0f} a year for staff": running.staff_usd_per_year,
        "storage of ${:,.0f}": running.storage_usd,
    }
    out = " and ".join(running.left_out)
    running_entries = {
        "with": ", ".join(form.format(value) for form, value in said.items() if value is not None),
        "left out": f"{out}, whose prices were not given" if out else "",
    }
    price = "price unknown" if terms.server.usd is None else f"{usd(terms.server.usd)} each"
    if terms.server.low_usd is not None and terms.server.low_usd != terms.server.high_usd:
        price += f" ({usd(terms.server.low_usd)} to {usd(terms.server.high_usd)})"
    draws = "watts unknown" if terms.server.power_w is None else f"{terms.server.power_w / 1e3:.3g} kW"
    entries: Entries = {
        "network": network,
        "servers": f"{counted(servers, 'server')}, {price}, {draws} each; {terms.server.basis}",
        "electricity": f"${running.electricity_usd_per_kwh:g} a kWh, power usage effectiveness "
        f"{running.power_usage_effectiveness:g}",
        "over": f"{counted_years(running.years)}, training {running.utilization:.0%} of the hours",
        **running_entries,
        "range": _range(first),
        "run": _run(first, f" on {rows[0].name}" if len(rows) > 1 else ""),
    }
    blocks: tuple[Block, ...] = (_table(rows), facts(entries), *_notes(rows), *_chart(rows))
    return [
        Section(
            "ownership",
            "Cost of ownership and training",
            "Network, servers and what running them takes in all years, spread over the hours in which the cluster "
            "trains. The savings of a network stand beside the server time that slower iterations lose, for the "
            "same training.",
            blocks,
            f"over {counted_years(running.years)}",
        )
    ]


def ownership_tiles(rows: Sequence[ComparedFabric]) -> list[Tile]:
    """Return the cost per hour of the first fabric, and of the run if there is one; empty where unknown."""
    owned = rows[0].ownership if rows else None
    if owned is None or owned.usd_per_hour is None:
        return []
    tiles = [Tile("An hour of training", dollars(owned.usd_per_hour), "servers, network and running them")]
    if owned.usd_per_run is not None and owned.run_hours is not None:
        tiles.append(Tile("The run", dollars(owned.usd_per_run), f"{owned.run_hours:,.4g} hours"))
    return tiles


def cluster_sections(cluster: OwnedCluster | None, owned: Ownership | None) -> list[Section]:
    """Return a section about a cluster whose network is known by its bandwidth; none where it is not priced."""
    if cluster is None or owned is None:
        return []
    rows = [OwnedRow("this estimate", owned)]
    return ownership_sections(rows, cluster.terms, cluster.servers, cluster.words)


def counted_years(years: float) -> str:
    """Return ``1 year`` or ``4.5 years``."""
    return "1 year" if years == 1 else f"{years:g} years"


def _range(owned: Ownership) -> str:
    low, high = owned.low_usd_per_hour, owned.high_usd_per_hour
    if low is None or high is None or low == high:
        return ""
    return f"from {dollars(low)} to {dollars(high)} an hour, by the price of a server"


def _run(owned: Ownership, where: str) -> str:
    if owned.run_hours is None:
        return ""
    days = f", {owned.run_hours / 24:,.3g} days" if owned.run_hours >= 48 else ""
    return f"{owned.run_hours:,.4g} hours{days}{where}, {dollars(owned.usd_per_run)}"


def _table(rows: Sequence[OwnedRow]) -> Block:
    columns = [
        text("fabric", "name"),
        number("network", "owned.network_usd_per_hour", dollars),
        number("servers", "owned.servers_usd_per_hour", dollars),
        number("an hour", "owned.usd_per_hour", dollars),
        *_of_training([row.owned for row in rows]),
    ]
    return table(
        "Dollars an hour of training, each part with its interest, watts and maintenance", rows, *columns
    )


def _chart(rows: Sequence[OwnedRow]) -> tuple[Block, ...]:
    """Return the cost of samples on each fabric, by item; empty for a single fabric."""
    known = [row for row in rows if row.owned.usd_per_sample and row.owned.usd_per_hour]
    if len(known) < 2:
        return ()
    count, words = _samples([row.owned for row in known])

    def part(name: str) -> Source:
        return lambda row: (
            count * row.owned.usd_per_sample * getattr(row.owned, name) / row.owned.usd_per_hour
        )

    parts = {"servers": part("servers_usd_per_hour"), "network": part("network_usd_per_hour")}
    chart = BarChart(
        "dollars_by_fabric",
        f"Dollars for {words}",
        "",
        "dollars",
        bars(known, "name", parts),
        stacked=True,
        horizontal=True,
        note="Interest, maintenance and what watts cost are in both parts; staff and storage are in neither.",
    )
    return (chart,)


def _of_training(owned: Sequence[Ownership]) -> list[Column]:
    columns = []
    if any(one.run_hours is not None for one in owned):
        columns.append(number("the run", "owned.usd_per_run", dollars))
    if any(one.usd_per_token is not None for one in owned):
        columns.append(number("1 M tokens", lambda row: of_many(MILLION, row.owned.usd_per_token)))
    elif any(one.usd_per_sample is not None for one in owned):
        count, words = _samples(owned)
        columns.append(number(words, lambda row: of_many(count, row.owned.usd_per_sample)))
    if any(one.network_saved_usd is not None or one.servers_lost_usd is not None for one in owned):
        columns += [
            number("network savings", "owned.network_saved_usd", dollars),
            number("lost server time", "owned.servers_lost_usd", dollars),
            number("net savings", "owned.net_usd", dollars),
        ]
    return columns


def _samples(owned: Sequence[Ownership]) -> tuple[float, str]:
    """Return a number of samples that costs at least dimes, and its label."""
    least_usd = min((one.usd_per_sample for one in owned if one.usd_per_sample), default=1.0)
    return next((one for one in SAMPLES if one[0] * least_usd >= 0.1), SAMPLES[-1])


def of_many(count: float, each_usd: float | None) -> str:
    """Return the cost of ``count`` units, a dash where unknown."""
    return dollars(None if each_usd is None else count * each_usd)


def _notes(rows: Sequence[OwnedRow]) -> tuple[Notes, ...]:
    lines = []
    if any(row.owned.net_usd is not None for row in rows):
        lines.append(
            f"savings: over {counted_years(rows[0].owned.years)}, against {rows[0].name}; slower iterations lose time "
            "of servers and network"
        )
    names: dict[str, list[str]] = {}
    for row in rows:
        for what in row.owned.unknown:
            names.setdefault(what, []).append(row.name)
    for what, fabrics in names.items():
        where = "" if len(fabrics) == len(rows) else f" ({', '.join(fabrics)})"
        lines.append(f"unknown: {what}{where}; sums with it are left open")
    return (Notes(tuple(lines)),) if lines else ()


def watts(power_w: float | None) -> str:
    """Return ``12.3 kW``, ``830 W`` or a dash where unknown."""
    if power_w is None:
        return "–"
    for unit, scale in (("MW", 1e6), ("kW", 1e3)):
        if power_w >= scale:
            return f"{power_w / scale:.3g} {unit}"
    return f"{power_w:.3g} W"


def bill_table(bill: Bill, folded: bool = False) -> Table:
    """Return the lines of a bill; where a price is not listed as it is, how it comes about."""
    estimated = any(line.basis for line in bill.lines)
    return table(
        f"Bill of {bill.fabric}",
        bill.lines,
        text("part", _part),
        number("count", lambda line: f"{line.count:,.0f}{' m' if line.item == 'fiber_m' else ''}"),
        number("each", "unit_usd", lambda price_usd: f"${price_usd:,.2f}".removesuffix(".00")),
        number("in all", "total_usd", lambda price_usd: f"${price_usd:,.0f}"),
        number("power", "total_w", watts),
        *([text("price", "basis")] if estimated else []),
        folded=folded,
    )


def built_facts(offers: Sequence[Offer]) -> Facts:
    """Return the parts of each fabric."""
    return Facts("", tuple((offer.bill.fabric, _built_of(offer.realization)) for offer in offers))


def remark_facts(offers: Sequence[Offer]) -> Facts:
    """Return the assumptions, each once with the fabrics that share it."""
    fabrics_of: dict[str, list[str]] = {}
    for offer in offers:
        for remark in offer.realization.remarks:
            fabrics_of.setdefault(remark, []).append(offer.bill.fabric)
    remarks = tuple(("*", f"{remark} ({', '.join(fabrics)})") for remark, fabrics in fabrics_of.items())
    return Facts("", remarks)


def _part(line: BillLine) -> str:
    speed = f" of {format_bandwidth(line.bandwidth_bps)}" if line.bandwidth_bps else ""
    if line.name:
        if line.item == "nic":
            return f"{ITEMS[line.item]}{speed}, {line.name}"
        return (
            line.name if line.item == "switch" else f"{PORTS_OF.get(line.item, 'port')}{speed} of {line.name}"
        )
    return ITEMS[line.item] + speed


def _built_of(built: Realization) -> str:
    parts = [_devices(row) for row in built.optical]
    if built.margin_db is not None and built.transceiver is not None:
        parts.append(f"{built.margin_db:.2g} dB of {built.transceiver.name} left for fiber and connectors")
    if built.tree:
        tree = built.tree
        tiers = [
            f"{getattr(tree, tier)} {tier}" for tier in ("edge", "aggregation", "core") if getattr(tree, tier)
        ]
        switches = f"{tree.switches} switches" if tree.switches > 1 else "1 switch"
        one = f"{switches} of {tree.radix} ports ({', '.join(tiers)})"
        trees = one if built.trees == 1 else f"{built.trees} × {one}"
        parts.append(trees)
    parts += [plane_words(plane) for plane in built.planes]
    return "; ".join(parts) or ("cables" if NETWORKS[built.fabric].cabled else "switches")


def plane_words(plane: Plane) -> str:
    """Return the number, model and tiers of switches, and their spare ports."""
    tree, model = plane.tree, plane.model
    ports = f"{model.switch.ports} ports of {format_bandwidth(model.switch.port_bandwidth_bps)}"
    split = f", each split in {model.split}" if model.split > 1 else ""
    one = f"{tree.switches} × {model.switch.name} ({ports}{split})"
    tiers = [(tree.leaves, "leaves"), (tree.aggregation, "aggregation"), (tree.spines, "spines")]
    parts = (
        f" as {' + '.join(f'{count:,} {tier}' for count, tier in tiers if count)}" if tree.tiers > 1 else ""
    )
    spare = f", {plane.spare_ports:,} ports spare" if plane.spare_ports else ""
    return (one + parts if plane.count == 1 else f"{plane.count} trees of {one}{parts}") + spare


def _devices(row: OpticalDevices) -> str:
    words = [f"{row.ports} ports each, of {row.largest}"]
    if row.loss_db is not None:
        words.append(f"{'–'.join(f'{value:g}' for value in dict.fromkeys(row.loss_db))} dB")
    if row.one_holds_all and row.count > 1:
        words.append("one could hold all")
    return f"{row.count} × {row.technology} ({', '.join(words)})"
