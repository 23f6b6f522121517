"""How servers forward, in a few facts: of the answer, of its page and of the addressing plan."""

from typing import Any

from topoopt.plugins.exports.deployment import Deployment


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
