"""Parts of a network in words: lines of a bill, devices, trees of switches."""

from collections.abc import Sequence

from topoopt.base.units import format_bandwidth
from topoopt.pages.page import Facts, Table
from topoopt.pages.rows import number, table, text
from topoopt.pricing import Bill, BillLine, FatTreeSize, Offer, OpticalDevices, Plane, Realization

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
    "ocs_port": "port of an optical circuit switch",
    "mems_port": "port of a circuit switch of mirrors",
    "piezo_port": "port of a piezo circuit switch",
    "optical_switch_1x2": "1×2 optical switch",
    "fiber_m": "fiber",
}

PORTS_OF = {"electrical_port": "port", "co_packaged_port": "optics of a port"}
"""The same of a switch that is named."""


def watts(power_w: float | None) -> str:
    """Return ``12.3 kW``, ``830 W`` or a dash where nobody's figure is known."""
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
    """Return what each fabric is built of."""
    return Facts("", tuple((offer.bill.fabric, _built_of(offer.realization)) for offer in offers))


def remark_facts(offers: Sequence[Offer]) -> Facts:
    """Return what is assumed, each sentence once with the fabrics that it holds for."""
    fabrics_of: dict[str, list[str]] = {}
    for offer in offers:
        for remark in offer.realization.remarks:
            fabrics_of.setdefault(remark, []).append(offer.bill.fabric)
    remarks = tuple(("*", f"{remark} ({', '.join(fabrics)})") for remark, fabrics in fabrics_of.items())
    return Facts("", remarks)


def _part(line: BillLine) -> str:
    speed = f" of {format_bandwidth(line.bandwidth_bps)}" if line.bandwidth_bps else ""
    if line.name:
        return f"{PORTS_OF.get(line.item, line.item)}{speed} of {line.name}" if speed else line.name
    return ITEMS[line.item] + speed


def _built_of(built: Realization) -> str:
    parts = [_devices(row) for row in built.optical]
    if built.margin_db is not None and built.transceiver is not None:
        parts.append(f"{built.margin_db:.2g} dB of {built.transceiver.name} left for fiber and connectors")
    if built.tree:
        parts.append(_trees(built.tree, built.trees))
    parts += [plane_words(plane) for plane in built.planes]
    return "; ".join(parts) or "cables"


def plane_words(plane: Plane) -> str:
    """Return how many switches of which model, in which tiers, and how many ports of them are spare."""
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


def _trees(tree: FatTreeSize, count: int) -> str:
    tiers = [
        f"{getattr(tree, tier)} {tier}" for tier in ("edge", "aggregation", "core") if getattr(tree, tier)
    ]
    switches = f"{tree.switches} switches" if tree.switches > 1 else "1 switch"
    one = f"{switches} of {tree.radix} ports ({', '.join(tiers)})"
    return one if count == 1 else f"{count} × {one}"


def _devices(row: OpticalDevices) -> str:
    words = [f"{row.ports} ports each, of {row.largest}"]
    if row.loss_db is not None:
        words.append(f"{'–'.join(f'{value:g}' for value in dict.fromkeys(row.loss_db))} dB")
    if row.one_holds_all and row.count > 1:
        words.append("one could hold all")
    return f"{row.count} × {row.technology} ({', '.join(words)})"
