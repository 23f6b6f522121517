"""Documentation of a network: NetBox's CSV files, and the addressing plan as CSV and JSON.

The columns are those of the import forms of NetBox 4.2 (netbox/dcim/forms/bulk_import.py); each file is imported at
the page of its name, in the order of the numbers.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from topoopt.base.errors import Infeasible
from topoopt.plans.inventory import Cable, Inventory, Panel, inventory_text
from topoopt.plugins.exports.deployment import Contents, Deployment, csv_text

COLUMNS = (
    *("server", "interface", "address", "mac", "peer_server", "peer_interface", "peer_address"),
    "carries",
)
SITE, MAKER = "topoopt", "topoopt"
INTERFACES = {
    10: "10gbase-x-sfpp",
    25: "25gbase-x-sfp28",
    40: "40gbase-x-qsfpp",
    50: "50gbase-x-sfp56",
    100: "100gbase-x-qsfp28",
    200: "200gbase-x-qsfp56",
    400: "400gbase-x-qsfpdd",
    800: "800gbase-x-osfp",
}
"""NetBox's types of interfaces by Gb/s; others are ``other``."""
_LEAST_UNITS = 42
_README = """\
Import these files in NetBox in the order of their numbers, each at the page of the object that it is named after
(Import > CSV). Their columns are those of NetBox 4.2. What is there already, such as your site, makers and racks, can
be left out: change the names in the other files to yours.

Servers have an interface for each port. A manual panel has a front port before each rear port: the cable from a server
ends at the rear port, the patch cord joins two front ports. An optical switch has an interface for each port; its
circuits are inside it, and NetBox does not know them. Cords and cables that carry nothing yet are "planned".
"""


def netbox(deployment: Deployment) -> Contents:
    """Return CSV files of sites, types, racks, devices, ports and cables.

    Raises
    ------
    Infeasible
        For directed links: a port of NetBox has one cable, and fibers one way need two.
    """
    if deployment.wiring.links == "directed":
        raise Infeasible("a port of NetBox has one cable, and directed links need two fibers at each port")
    inventory = deployment.inventory
    manual = [panel for panel in inventory.panels if panel.kind == "manual"]
    names = dict.fromkeys(["server", *map(_kind, inventory.panels)])
    colors = {"server": "2196f3", "patch panel": "9e9e9e", "optical switch": "ff9800"}
    roles = [(name, name.replace(" ", "-"), colors[name]) for name in names]
    models = dict.fromkeys(["server", *map(_model, inventory.panels)])
    types = [(MAKER, model, model.replace(" ", "-"), 1) for model in models]
    units: dict[str, int] = {}
    places = [(one.rack, one.position) for one in inventory.servers]
    for rack, position in places + [(one.rack, one.position) for one in inventory.panels]:
        units[rack] = max(units.get(rack, _LEAST_UNITS), position)
    racks = [(SITE, rack, "active", 19, most) for rack, most in units.items()]
    tables: dict[str, list[Sequence[Any]]] = {
        "01-sites": [("name", "slug", "status"), (SITE, SITE, "active")],
        "02-manufacturers": [("name", "slug"), (MAKER, MAKER)],
        "03-device-roles": [("name", "slug", "color"), *roles],
        "04-device-types": [("manufacturer", "model", "slug", "u_height"), *types],
        "05-racks": [("site", "name", "status", "width", "u_height"), *racks],
        "06-devices": [
            ("name", "role", "manufacturer", "device_type", "status", "site", "rack", "position", "face"),
            *_devices(inventory),
        ],
        "07-interfaces": [("device", "name", "type"), *_interfaces(deployment)],
        "08-rear-ports": [("device", "name", "type", "positions"), *_ports(manual, ("lc", 1))],
        "09-front-ports": [
            ("device", "name", "type", "rear_port", "rear_port_position"),
            *((device, name, "lc", name, 1) for device, name in _ports(manual, ())),
        ],
        "10-cables": [
            (
                *(f"side_{side}_{key}" for side in "ab" for key in ("device", "type", "name")),
                "type",
                "status",
                "label",
            ),
            *_cables(deployment),
        ],
    }
    files = {f"{name}.csv": csv_text(rows) for name, rows in tables.items() if len(rows) > 1}
    return {"README.txt": _README, **files}


def _kind(panel: Panel) -> str:
    return "patch panel" if panel.kind == "manual" else "optical switch"


def _model(panel: Panel) -> str:
    return f"{panel.kind} {panel.ports}"


def _devices(inventory: Inventory) -> list[tuple[Any, ...]]:
    servers = [
        (one.name, "server", MAKER, "server", "active", SITE, one.rack, one.position, "front")
        for one in inventory.servers
    ]
    panels = [
        (one.name, _kind(one), MAKER, _model(one), "active", SITE, one.rack, one.position, "front")
        for one in inventory.panels
    ]
    return [*servers, *panels]


def _interfaces(deployment: Deployment) -> list[tuple[str, str, str]]:
    inventory, gbps = deployment.inventory, deployment.plan.job.cluster.link_bandwidth_bps / 1e9
    kind = INTERFACES.get(round(gbps), "other") if gbps == round(gbps) else "other"
    servers = [(server.name, one.name, kind) for server in inventory.servers for one in server.interfaces]
    switches = [panel for panel in inventory.panels if panel.kind != "manual"]
    return servers + [(device, name, "other") for device, name in _ports(switches, ())]


def _ports(panels: Iterable[Panel], more: tuple[Any, ...]) -> list[Any]:
    return [(panel.name, str(port), *more) for panel in panels for port in range(1, panel.ports + 1)]


def _cables(deployment: Deployment) -> list[tuple[str, ...]]:
    inventory = deployment.inventory
    kinds = {panel.name: panel.kind for panel in inventory.panels}
    there = set() if deployment.present is None else set(deployment.present.patches)
    pairs = zip(deployment.wiring.patches, deployment.circuits, strict=True)
    kept = {one.id for patch, one in pairs if patch in there}
    carrying = {
        cable.id for one in deployment.circuits if one.id in kept for cable in (one.cable_a, one.cable_b)
    }
    state = {True: "connected", False: "planned"}
    rows = [
        (
            (cable.server, "dcim.interface", cable.interface),
            (cable.panel, _end(kinds, cable), str(cable.port)),
        )
        for cable in inventory.cables
    ]
    more = [("smf", state[cable.id in carrying], cable.id) for cable in inventory.cables]
    for one in deployment.circuits:
        if kinds[one.panel] == "manual":
            a, b = ((one.panel, "dcim.frontport", str(port)) for port in (one.port_a, one.port_b))
            rows.append((a, b))
            more.append(("smf", state[one.id in kept], one.id))
    return [(*a, *b, *last) for (a, b), last in zip(rows, more, strict=True)]


def _end(kinds: dict[str, str], cable: Cable) -> str:
    return "dcim.rearport" if kinds[cable.panel] == "manual" else "dcim.interface"


def inventory_file(deployment: Deployment) -> Contents:
    """Return the inventory as YAML; read again, it is the same inventory."""
    return {"inventory.yaml": inventory_text(deployment.inventory)}


def addressing_plan(deployment: Deployment) -> Contents:
    """Return ``addresses.csv``, a row for each address, and ``addresses.json``, with how forwarding goes."""
    addressing, count = deployment.addressing, deployment.tables.identities
    identity_rows = [
        (name, "lo", f"{addressing.identity(server, identity)}/32", "", "", "", "", "")
        for server, name in enumerate(addressing.server_names)
        for identity in range(count)
    ]
    return {
        "addresses.csv": csv_text([COLUMNS, *identity_rows, *_end_rows(deployment)]),
        "addresses.json": json.dumps(_document(deployment), indent=1) + "\n",
    }


def _end_rows(deployment: Deployment) -> list[tuple[str, ...]]:
    addressing, names = deployment.addressing, deployment.addressing.server_names
    ways = ("both", "both") if addressing.duplex else ("out", "in")
    return [
        (
            *(names[server], addressing.interface_name(end), f"{addressing.link_address(end)}/31"),
            addressing.mac(end),
            *(names[addressing.end(end ^ 1).server], addressing.interface_name(end ^ 1)),
            *(f"{addressing.link_address(end ^ 1)}/31", ways[end % 2]),
        )
        for server, ends in enumerate(addressing.ends_of_servers)
        for end in ends
    ]


def _document(deployment: Deployment) -> dict[str, Any]:
    tables, addressing = deployment.tables, deployment.addressing
    ends = [dict(zip(COLUMNS, row, strict=True)) for row in _end_rows(deployment)]
    return {
        **forwarding_facts(deployment),
        "servers": [
            {
                "name": name,
                "prefix": addressing.block(server),
                "addresses": [addressing.identity(server, identity) for identity in range(tables.identities)],
                "interfaces": [row for row in ends if row["server"] == name],
            }
            for server, name in enumerate(addressing.server_names)
        ],
    }


def forwarding_facts(deployment: Deployment) -> dict[str, Any]:
    """Return the kind and size of the tables, with reasons, and the accuracy of their weights."""
    tables = deployment.tables
    return {
        "paths": tables.split,
        "tables": tables.kind,
        "why": tables.reason(deployment.addressing.server_names),
        "entries": len(tables),
        "largest_weight_error": deployment.next_hops.error,
        "pairs_freed_of_circles": tables.freed_pairs,
    }
