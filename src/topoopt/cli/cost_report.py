"""What ``topoopt cost`` prints for people, from the same document that ``--json`` prints."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from topoopt.cli.baseline_table import usd
from topoopt.cli.render import counted
from topoopt.units import format_bandwidth, format_bytes, format_time

if TYPE_CHECKING:
    from rich.console import Console

Document = Mapping[str, Any]

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
ITEMS = {
    "nic": "network card",
    "transceiver": "transceiver",
    "electrical_port": "port of a packet switch",
    "patch_panel_port": "port of a patch panel",
    "ocs_port": "port of an optical circuit switch",
    "optical_switch_1x2": "1×2 optical switch",
    "fiber_m": "fiber",
}


def print_cost(console: "Console", document: Document, shown: tuple[str, ...]) -> None:
    """Print the comparison, the bills asked for, what each fabric is built of, and the optical technologies."""
    from topoopt.cli.baseline_table import print_skipped
    from topoopt.cli.render import print_facts, print_title, print_warning

    ports = counted(document["degree"], f"{document['links']} port")
    print_title(
        console,
        f"Network of {document['servers']:,} servers",
        f"{ports} of {format_bandwidth(document['bandwidth_bps'])} each, without the servers",
    )
    _print_comparison(console, document)
    print_skipped(console, document["skipped_fabrics"])
    console.print()
    accounting = document["accounting"]
    print_facts(
        console,
        [
            ("prices", f"list {document['prices']}{_unsure(document, 'usd')}"),
            ("counted", f"{accounting['name']}: {accounting['words']}"),
            *_power_facts(document),
        ],
    )
    rows = {row["fabric"]: row for row in document["fabrics"]}
    for name in shown:
        print_title(console, f"Bill of {name}", usd(rows[name]["cost_usd"]))
        _print_bill(console, rows[name])
    if document["cost_equivalent_fat_tree"] is not None:
        print_title(console, "The fat-tree that the price of topoopt buys")
        print_facts(console, _equivalent_facts(document["cost_equivalent_fat_tree"]))
    print_title(console, "What it is built of")
    _print_built(console, document)
    print_title(console, "Optical technologies", _technologies_remark(document))
    _print_technologies(console, document)
    if "ratios" in document:
        _print_ratios(console, document["ratios"])
    if document["warnings"]:
        print_title(console, "Mind")
        for warning in document["warnings"]:
            print_warning(console, warning)


def watts(power_w: float | None) -> str:
    """Return ``12.3 kW``, ``830 W`` or a dash where nobody's figure is known."""
    if power_w is None:
        return "–"
    for unit, scale in (("MW", 1e6), ("kW", 1e3)):
        if power_w >= scale:
            return f"{power_w / scale:.3g} {unit}"
    return f"{power_w:.3g} W"


def _print_comparison(console: "Console", document: Document) -> None:
    from topoopt.cli.render import print_table

    owned = [row for row in document["fabrics"] if "ownership" in row]
    numbers = ["price", "a server", "× topoopt", "power", *(["with electricity"] if owned else [])]
    cells = []
    for row in document["fabrics"]:
        over = "–" if row["over_topoopt"] is None else f"{row['over_topoopt']:.2f}"
        total = [usd(row["ownership"]["total_usd"])] if owned else []
        figures = [usd(row["cost_usd"]), f"${row['cost_per_server_usd']:,.0f}", over, watts(row["power_w"])]
        cells.append((row["fabric"], *figures, *total, WHAT_IT_IS.get(row["fabric"], row["note"])))
    print_table(console, ("fabric", *numbers, "what it is"), cells, numbers=numbers)


def _power_facts(document: Document) -> list[tuple[str, str]]:
    missing = sorted({part for row in document["fabrics"] for part in row["power_missing"]})
    source = "makers' typical figures" if document["power"] == "typical" else document["power"]
    facts = [("watts", f"{source}, of the parts counted{_unsure(document, 'watts')}")]
    if missing:
        named = ", ".join(missing)
        facts.append(("missing", f"no figure for {named}; give one with --power FILE"))
    owned = next((row["ownership"]["running"] for row in document["fabrics"] if "ownership" in row), None)
    if owned:
        facts.append(
            (
                "electricity",
                f"{owned['years']:g} years at ${owned['electricity_usd_per_kwh']:g} a kWh, "
                f"power usage effectiveness {owned['power_usage_effectiveness']:g}",
            )
        )
    return facts


def _unsure(document: Document, value: str) -> str:
    """Return which figures are not published: recalled from a paper or data sheet, or assumed."""
    words = {"recalled": "from memory and unconfirmed", "assumed": "assumed"}
    found = []
    for confidence, meaning in words.items():
        items = dict.fromkeys(
            row["item"] for row in document["sources"] if value in row and row["confidence"] == confidence
        )
        if items:
            found.append(f"{meaning}: {', '.join(ITEMS[item] for item in items)}")
    return f" ({'; '.join([*found, 'sources in --json'])})" if found else ""


def _print_bill(console: "Console", row: Document) -> None:
    from topoopt.cli.render import print_table

    numbers = ("count", "each", "in all", "power")
    cells = [
        (
            _part(line),
            f"{line['count']:,.0f}{' m' if line['item'] == 'fiber_m' else ''}",
            f"${line['unit_usd']:,.2f}".removesuffix(".00"),
            f"${line['total_usd']:,.0f}",
            watts(line["total_w"]),
            line["basis"],
        )
        for line in row["bill"]
    ]
    if any(cell[-1] for cell in cells):
        print_table(console, ("part", *numbers, "price"), cells, numbers=numbers)
    else:
        print_table(console, ("part", *numbers), [cell[:-1] for cell in cells], numbers=numbers)


def _part(line: Document) -> str:
    speed = f" of {format_bandwidth(line['bandwidth_bps'])}" if line["bandwidth_bps"] else ""
    return ITEMS[line["item"]] + speed


def _equivalent_facts(tree: Document) -> list[tuple[str, str]]:
    published = tree["published"]
    priced = "" if published["cost_usd"] is None else f", {usd(published['cost_usd'])}"
    interfaces = f"{tree['interfaces']} × {format_bandwidth(tree['interface_bandwidth_bps'])}"
    return [
        (
            "by these prices",
            f"{format_bandwidth(tree['server_bandwidth_bps'])} a server ({interfaces}, {tree['note']}), "
            f"d·B / {tree['ratio']:.2f}, {usd(tree['cost_usd'])}",
        ),
        (
            "as published",
            f"{format_bandwidth(published['server_bandwidth_bps'])} a server, d·B / {published['ratio']:g}{priced}",
        ),
    ]


def _print_built(console: "Console", document: Document) -> None:
    from topoopt.cli.render import print_facts, print_warning

    rows = document["fabrics"]
    print_facts(console, [(row["fabric"], _built_of(row["realization"])) for row in rows])
    said: dict[str, list[str]] = {}
    for row in rows:
        for remark in row["realization"]["remarks"]:
            said.setdefault(remark, []).append(row["fabric"])
    console.print()
    print_facts(console, [("*", f"{remark} ({', '.join(fabrics)})") for remark, fabrics in said.items()])
    for row in rows:
        for problem in row["realization"]["problems"]:
            print_warning(console, f"{row['fabric']}: {problem}")


def _built_of(built: Document) -> str:
    parts = [_devices(row) for row in built["optical"]]
    if built["margin_db"] is not None:
        parts.append(f"{built['margin_db']:.2g} dB of {built['transceiver']} left for fiber and connectors")
    if built["tree"]:
        parts.append(_trees(built["tree"], built["trees"]))
    return "; ".join(parts) or "cables"


def _trees(tree: Document, count: int) -> str:
    tiers = [f"{tree[tier]} {tier}" for tier in ("edge", "aggregation", "core") if tree[tier]]
    switches = f"{tree['switches']} switches" if tree["switches"] > 1 else "1 switch"
    one = f"{switches} of {tree['radix']} ports ({', '.join(tiers)})"
    return one if count == 1 else f"{count} × {one}"


def _devices(row: Document) -> str:
    facts = [f"{row['ports']} ports each, of {row['largest']}"]
    if row["loss_db"] is not None:
        facts.append(f"{'–'.join(f'{value:g}' for value in dict.fromkeys(row['loss_db']))} dB")
    if row["one_holds_all"] and row["count"] > 1:
        facts.append("one could hold all")
    return f"{row['count']} × {row['technology']} ({', '.join(facts)})"


def _technologies_remark(document: Document) -> str:
    interval = document["change_interval_s"]
    often = "traffic stays the same" if interval is None else f"traffic changes every {format_time(interval)}"
    hops = document["average_hops"]
    over = document["wiring"] if hops is None else f"routes of {hops:.2f} links over {document['wiring']}"
    return f"{often}; {over}"


def _print_technologies(console: "Console", document: Document) -> None:
    from topoopt.cli.render import print_facts, print_table

    numbers = ("ports", "rewired in", "duty", "within overhead", "beats forwarding", "a circuit for", "price")
    print_table(
        console,
        ("technology", "suits", *numbers),
        [
            (
                row["technology"],
                _suits(row),
                str(row["ports"]),
                format_time(row["reconfiguration_s"]),
                f"{row['duty']:.0%}",
                f"≥ {format_time(row['suits_from_s'])}",
                _from(row["pays_from_s"], format_time),
                _from(row["break_even_bytes"], format_bytes),
                usd(row["cost_usd"]),
            )
            for row in document["optical_technologies"]
        ],
        numbers=numbers,
    )
    facts = [
        (
            "within overhead",
            f"changes so far apart leave {1 - document['overhead']:.0%} of the time for traffic",
        ),
        (
            "beats forwarding",
            "rewiring at changes so far apart carries more than forwarding over the wiring above",
        ),
        ("a circuit for", "messages of this size gain by waiting for a circuit of their own"),
        ("suits", "too small: not enough ports; too dim: loses more light than a transceiver can spare"),
    ]
    transfers = document["transfers"]
    if transfers:
        quick = ", ".join(transfers["worth_a_circuit_of"]) or "none of them"
        largest = format_bytes(transfers["largest_pair_bytes"])
        facts.append(("this plan", f"at most {largest} from one server to another in an iteration: {quick}"))
    console.print()
    print_facts(console, facts)


def _suits(row: Document) -> str:
    if row["suits"]:
        return "yes"
    if not row["fits"]:
        return "too small"
    dark = row["margin_db"] is not None and row["margin_db"] < 0
    return "too dim" if dark else "too slow"


def _from(value: float | None, shown: Any) -> str:
    return "never" if value is None else f"≥ {shown(value)}"


def _print_ratios(console: "Console", ratios: Document) -> None:
    from topoopt.cli.render import print_table, print_title

    published = ratios["published"]
    print_title(
        console,
        "The published ratios under every way of counting",
        f"published {published['ocs_over_panel']:g} and {published['ideal_over_topoopt']:g}; nearest first",
    )
    numbers = ("tiers", "OCS / panel", "ideal / topoopt", "off by")
    yes = {True: "yes", False: "no"}
    print_table(
        console,
        ("accounting", "NICs", "look-ahead", "fiber on", "its fiber", *numbers),
        [
            (
                row["accounting"]["name"],
                yes[row["accounting"]["nics"]],
                yes[row["accounting"]["look_ahead"]],
                row["accounting"]["fiber_on"],
                yes[row["accounting"]["look_ahead_fiber"]],
                str(row["accounting"]["tiers"]),
                f"{row['ocs_over_panel']:.2f}",
                f"{row['ideal_over_topoopt']:.2f}",
                f"{row['distance']:.0%}",
            )
            for row in ratios["rows"]
        ],
        numbers=numbers,
    )
