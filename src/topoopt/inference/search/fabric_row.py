"""What a fabric is to a deployment, as values, words and matrices: wiring, pairing, tax, the network's shares."""

from typing import Any

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.units import finite_or_none
from topoopt.inference.fabrics.compared import ServedFabric
from topoopt.inference.network.placement import on_servers


def fabric_row(row: ServedFabric, rate_per_s: float) -> dict[str, Any]:
    """Return the figures of a fabric, in closed form at the mean lengths; the busiest link at a rate."""
    on, one, worth = row.on, row.on.expected, row.worth
    apart = row.deployment.prefill is not None
    return {
        "wiring": wiring_words(row),
        "routes": on.way,
        "pairing": on.pairing.name if apart else None,
        "decode_choices": on.pairing.choices if apart else None,
        "kv_share_of_ttft": finite_or_none(one.kv_share) if apart else None,
        "network_share_of_tpot": token_share(row),
        "hops_share_of_tpot": finite_or_none(one.hop_share),
        "busiest_link": rate_per_s * on.reach.busiest_s,
        "bandwidth_tax": on.reach.tax,
        "kv_hops": on.reach.kv_hops,
        "sent_bytes_per_request": on.reach.sent_bytes,
        "ttft_over_free_network": finite_or_none(worth.ttft_share),
        "tpot_over_free_network": finite_or_none(worth.tpot_share),
        "kv_bandwidth_bps": worth.kv_bps,
        "token_bandwidth_bps": worth.token_bps,
        "network_usd": row.network_usd,
        "usd_per_hour": row.usd_per_hour,
        "deployments_tried": row.tried,
        "closed_form": {
            "requests_per_s": on.load.requests_per_s,
            "largest_rate_per_s": on.largest_rate_per_s,
            "binds": on.binds,
            "ttft_s": finite_or_none(one.ttft_s),
            "ttft_p90_s": finite_or_none(one.ttft_late_s),
            "tpot_s": finite_or_none(one.tpot_s),
            "prompt_wait_s": finite_or_none(one.prompt_wait_s),
            "prompt_s": one.prompt_s,
            "kv_s": one.kv_s,
            "place_wait_s": finite_or_none(one.place_wait_s),
            "batch": one.batch,
            "prefill_busy": one.prefill_busy,
            "decode_busy": one.decode_busy,
        },
    }


def token_share(row: ServedFabric) -> float | None:
    """Return the network's share of the time of a token; None where requests pile up."""
    one = row.on.expected
    return one.token_network_s / one.tpot_s if np.isfinite(one.tpot_s) else None


def kv_matrix(row: ServedFabric, rate_per_s: float) -> Floats:
    """Return the bytes a second of keys and values between servers at a rate."""
    return np.asarray(row.on.per_request.kinds["kv"] * rate_per_s)


def pool_servers(row: ServedFabric) -> tuple[list[int], list[int]]:
    """Return the servers of the prefill pool and those of the decode pool."""
    placement = row.served.placement
    found = []
    for ranks in (placement.prefill, placement.decode):
        there = (
            on_servers(ranks, placement.servers).sum(axis=0) if len(ranks) else np.zeros(placement.servers)
        )
        found.append(np.flatnonzero(there).tolist())
    return found[0], found[1]


def wiring_words(row: ServedFabric) -> str:
    """Return how servers are joined, in short: empty of fabrics that have no choice."""
    wiring = row.on.fabric.wiring
    if wiring is None:
        return ""
    across = wiring.recipe.get("across")
    ports = f", {across} of {wiring.degree} ports across" if across else ""
    return f"{wiring.family}{ports}"
