"""Who gets a cache, request by request: routers that know the network, on 64 accelerators and on two servers."""

from collections.abc import Iterator

import numpy as np

from topoopt.inference import (
    EngineSettings,
    Fleet,
    Parallelism,
    Pool,
    Replicas,
    Transfer,
    cache_bytes_per_token,
    draw_requests,
    parse_arrivals,
    parse_lengths,
    simulate_serving,
    step_table,
    transfer_law,
)
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.figure import Comparison, Row
from topoopt.workloads.transformer import find_transformer

TEXT = description("serving")
MODEL, ACCELERATOR, SPLIT = "llama3-70b", "h100", Parallelism(tensor=4)
PROMPT, ANSWER = 8192, 128
BUSY = 0.7
"""Share of the time in which prompts are read."""
SERVER_BYTES_PER_S = 50e9
"""Of a server, one port of 400 Gb/s."""
OVERSUBSCRIBED = (1, 2, 4)
"""Times the bandwidth out of a rack that servers of it have together."""
REPLICAS = {64: 8, 16: 2}
"""Replicas of each pool, of four accelerators each, by accelerators; two of them share a server."""
PAGES = 20_000
PUBLISHED = {64: (-21.0, 0.0), 16: (0.0, 0.0)}


def router_rows(count: int, seed: int) -> Iterator[tuple[Row, Comparison]]:
    """Yield what a router that knows the network takes off the mean time to the first token of least load."""
    for accelerators, replicas in REPLICAS.items():
        for over in OVERSUBSCRIBED if accelerators == max(REPLICAS) else OVERSUBSCRIBED[:1]:
            least, aware = (
                _ttft_s(replicas, over, router, count, seed) for router in ("least-loaded", "network-aware")
            )
            ours = 100 * (aware / least - 1)
            low, high = PUBLISHED[accelerators]
            yield (
                {
                    "part": "router",
                    "case": f"{accelerators} accelerators, {over} to 1",
                    "quantity": "% of the mean time to the first token",
                    "ours": ours,
                    "published": low,
                },
                TEXT.comparison(
                    "router", ours, str(accelerators), published=(low, high), n=accelerators, over=over
                ),
            )


def _ttft_s(replicas: int, over: int, router: str, count: int, seed: int) -> float:
    """Return the mean time to the first token; a rack has one server that reads and one that answers."""
    model = find_transformer(MODEL)
    table = step_table(model, ACCELERATOR, SPLIT)
    rack = np.tile(np.arange(replicas) // 2, 2)
    law, port = transfer_law(), SERVER_BYTES_PER_S / 2
    speed = np.where(rack[:, None] == rack, port, port / over) * law.efficiency
    transfer = Transfer(
        np.full(speed.shape, law.start_s), speed, cache_bytes_per_token(model, "bf16"), model.layers
    )
    pools = Replicas(Pool(SPLIT, replicas), table, PAGES)
    fleet = Fleet("disaggregated", pools, pools, EngineSettings(), router, transfer)
    rate = BUSY * replicas / table.prefill_s(PROMPT)
    lengths = parse_lengths(PROMPT, "isl"), parse_lengths(ANSWER, "osl")
    requests = draw_requests(parse_arrivals("poisson"), count, rate, *lengths, seed)
    return float(simulate_serving(fleet, requests).ttft_s.mean())
