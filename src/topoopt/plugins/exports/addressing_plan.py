"""The addressing plan: which server and which end of which cable has which address, as CSV and as JSON."""

import csv
import io
import json
from typing import Any

from topoopt.plugins.exports.deployment import Contents, Deployment

COLUMNS = (
    "server",
    "interface",
    "address",
    "mac",
    "peer_server",
    "peer_interface",
    "peer_address",
    "carries",
)


def addressing_plan(deployment: Deployment) -> Contents:
    """Return ``addresses.csv``, a row for each address, and ``addresses.json``, with how forwarding goes."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_identity_rows(deployment))
    writer.writerows(_end_rows(deployment))
    return {
        "addresses.csv": text.getvalue(),
        "addresses.json": json.dumps(_document(deployment), indent=1) + "\n",
    }


def _identity_rows(deployment: Deployment) -> list[tuple[str, ...]]:
    addressing, count = deployment.addressing, deployment.tables.identities
    return [
        (name, "lo", f"{addressing.identity(server, identity)}/32", "", "", "", "", "")
        for server, name in enumerate(addressing.server_names)
        for identity in range(count)
    ]


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
    """Return what the tables are and why, how many entries they have, and how exactly weights are met."""
    tables = deployment.tables
    return {
        "paths": tables.split,
        "tables": tables.kind,
        "why": tables.reason(deployment.addressing.server_names),
        "entries": len(tables),
        "largest_weight_error": deployment.next_hops.error,
        "pairs_freed_of_circles": tables.freed_pairs,
    }
