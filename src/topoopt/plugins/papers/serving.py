"""Serving, published results: queues, fabrics, routers, a known deployment, cache transfers."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from topoopt.base.answers import Progress, silent
from topoopt.catalog import ClusterSpec
from topoopt.inference import (
    Contender,
    Deployment,
    EngineSettings,
    FabricQuestion,
    Fleet,
    Parallelism,
    Pool,
    Priced,
    Replicas,
    RequestLoad,
    ServedFabric,
    ServingRun,
    ServingStack,
    StepTable,
    Transfer,
    cache_bytes_per_token,
    cache_copies,
    compare_serving,
    draw_requests,
    measured_transfers,
    parse_arrivals,
    parse_lengths,
    published_orderings,
    request_cache_bytes,
    simulate_serving,
    step_table,
    switch_prices_usd,
    transfer_law,
    uniform_transfer,
)
from topoopt.pages import Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.pricing import OwnershipTerms, pricing_of, server_price, usual_running
from topoopt.workloads.transformer import find_transformer

TEXT = description("serving")
TENSOR = 8
"""Accelerators of both replicas, in all of the rows."""
TEMPLATE_TOKENS = {"vllm": 14, "sglang": 0}
"""Tokens that the chat template of a run adds to its prompt."""
QUEUE_PROMPT = 1024
QUEUE_BUSY = (0.3, 0.5, 0.8)
CLIENTS = (1, 8, 64)
EACH = 200
"""Requests of a client: the end, where nothing more is sent, is then half a percent of the run."""
QUEUE_ANSWER = 128
PLENTY = 10**6
MODEL, ACCELERATOR, SPLIT = "llama3-70b", "h100", Parallelism(tensor=4)
PROMPT, ANSWER = 8192, 128
BUSY = 0.7
"""Share of the time in which prompts are read."""
SERVER_BYTES_PER_S = 50e9
"""Bandwidth of a server, one port of 400 Gb/s."""
OVERSUBSCRIBED = (1, 2, 4)
"""Ratios of the total bandwidth of a rack's servers to the bandwidth out of it."""
REPLICAS = {64: 8, 16: 2}
"""Replicas of each pool, of four accelerators each, by accelerators; two of them share a server."""
PAGES = 20_000
PUBLISHED = {64: (-21.0, 0.0), 16: (0.0, 0.0)}
SWITCH = "ideal-switch"
SWITCHLESS = ("full-mesh", "torus", "expander")
ACCELERATORS, PORTS, PORT_BPS = 64, 9, 400e9
"""Nine ports of 400 Gb/s: the 450 GB/s of an H100's scale-up links, each accelerator a server of its own."""
LOAD = RequestLoad(0.0, 2048, 512)
OBJECTIVES_S = 2.0, 0.05


@dataclass(frozen=True, slots=True)
class ServingGrid:
    """Amount of simulation, and whether fabrics with searched deployments are included."""

    prompts: int
    requests: int
    searched: bool = True


WHOLE, QUICK = ServingGrid(1_000_000, 20_000), ServingGrid(1_000_000, 4_000)


def serving(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return published findings on serving, beside ours."""
    return serving_on(QUICK if settings.quick else WHOLE, settings, on_progress)


def serving_on(grid: ServingGrid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the same of another size."""
    parts = ("queues", "scale-up networks", "routers", "fabrics and deployments", "transfers")
    found: list[tuple[Row, Comparison]] = []
    for done, part in enumerate(parts):
        on_progress(f"serving: {part}", done, len(parts))
        found += {
            "queues": lambda: queue_rows(grid.prompts, settings.seed),
            "scale-up networks": scale_up_rows,
            "routers": lambda: router_rows(grid.requests, settings.seed),
            "fabrics and deployments": _ordered if grid.searched else tuple,
            "transfers": transfer_rows,
        }[part]()
    rows = [row for row, _ in found]
    routed = [row for row in rows if row["part"] == "router"]
    low = tuple(row["published"] for row in routed)
    theirs = Series("published, at least", tuple(row["case"] for row in routed), low, published=True)
    return TEXT.figure(
        rows,
        [comparison for _, comparison in found],
        [
            TEXT.chart("routers", routed, theirs),
            TEXT.chart("transfers", list(_drawn(rows))),
        ],
    )


def _ordered() -> Iterator[tuple[Row, Comparison]]:
    for one in published_orderings():
        row = {
            "part": "fabrics and deployments",
            "case": one.what,
            "quantity": one.unit,
            "ours": one.ours,
            "published": one.low,
        }
        comparison = Comparison(
            one.what,
            one.unit,
            one.ours,
            one.low,
            one.high,
            None,
            one.origin,
            one.explanation or TEXT.tables["inside"],
        )
        yield row, comparison


def _drawn(rows: list[Row]) -> Iterator[Row]:
    """Yield measured and computed seconds of transfers by their bytes."""
    size = 0.0
    for row in rows:
        if row["part"] == "transfer" and row["quantity"] == "bytes":
            size = row["published"]
        elif row["part"] == "transfer":
            for kind in ("ours", "published"):
                yield {
                    "engine": f"{row['case'].partition(',')[0]}, {kind}",
                    "bytes": size,
                    "time_s": row[kind],
                }


def scale_up_rows() -> Iterator[tuple[Row, Comparison]]:
    """Yield requests a second, and tokens for each dollar of servers and network, over those of the switch."""
    cluster = ClusterSpec(ACCELERATORS, PORTS, PORT_BPS, 1, "h100")
    split = Parallelism(1, 1, ACCELERATORS, ACCELERATORS)
    engine = EngineSettings("fp8")
    given = Deployment("prefill-first", Pool(split, 1, 256 * ACCELERATORS), settings=engine)
    answer = compare_serving(
        find_transformer("deepseek-v3"),
        FabricQuestion(cluster, LOAD, *OBJECTIVES_S),
        engine,
        (SWITCH, *SWITCHLESS),
        Priced(pricing_of(), OwnershipTerms(usual_running({}), server_price("h100", 1))),
        ServingStack(),
        (Contender(float("inf"), given),),
        silent,
    )
    rows = {row.fabric: row for row in answer.fabrics}
    switch = rows[SWITCH]
    for name in SWITCHLESS:
        row = rows[name]
        rate = row.on.largest_rate_per_s / switch.on.largest_rate_per_s
        price = switch_prices_usd(switch, row, ACCELERATORS)
        for kind, ours in (
            ("rate", 100 * (rate - 1)),
            ("dollar", 100 * (_hour_usd(switch) / _hour_usd(row) * rate - 1)),
        ):
            yield (
                {
                    "part": "scale-up",
                    "case": name,
                    "quantity": f"% more {kind} than a switch",
                    "ours": ours,
                    "published": None,
                },
                TEXT.comparison(
                    kind,
                    ours,
                    fabric=name,
                    has=price["has_usd"],
                    needs=price["needs_usd"],
                    own=(row.cost_usd or float("nan")) / ACCELERATORS,
                ),
            )


def _hour_usd(row: ServedFabric) -> float:
    return row.usd_per_hour if row.usd_per_hour is not None else float("nan")


def router_rows(count: int, seed: int) -> Iterator[tuple[Row, Comparison]]:
    """Yield the reduction of the mean time to first token by a network-aware router, compared with least load."""
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
    """Return the mean time to first token; a rack has one prefill server and one decode server."""
    model = find_transformer(MODEL)
    table = step_table(model, ACCELERATOR, SPLIT, EngineSettings("bf16"))
    rack = np.tile(np.arange(replicas) // 2, 2)
    law, port = transfer_law(), SERVER_BYTES_PER_S / 2
    speed = np.where(rack[:, None] == rack, port, port / over) * law.efficiency
    transfer = Transfer(
        np.full(speed.shape, law.start_s), speed, cache_bytes_per_token(model, "bf16"), model.layers
    )
    pools = Replicas(Pool(SPLIT, replicas), table, PAGES)
    fleet = Fleet("disaggregated", pools, pools, EngineSettings("bf16"), router, transfer)
    rate = BUSY * replicas / table.prefill_s(PROMPT)
    lengths = parse_lengths(PROMPT, "isl"), parse_lengths(ANSWER, "osl")
    requests = draw_requests(parse_arrivals("poisson"), count, rate, *lengths, seed)
    return float(simulate_serving(fleet, requests).ttft_s.mean())


def queue_rows(prompts: int, seed: int) -> Iterator[tuple[Row, Comparison]]:
    """Yield waiting prompts, and clients, each with the comparison that it makes."""
    for stages in (1, 2):
        for busy in QUEUE_BUSY:
            run = _prompts(stages, busy * stages, prompts, seed)
            rate = run.requests.rate_per_s
            # D + rho D / 2 (1 - rho); of two stages D + lambda D^2 / 4 (2 - lambda D), with D = 1 s
            known = 1 + rate / (2 * (1 - rate)) if stages == 1 else 1 + rate / (4 * (2 - rate))
            ours = float(run.ttft_s.mean())
            words = {"busy": busy, "stages": stages}
            yield (
                _row("m/d/1", f"rho {busy:g}, {stages} stages", ours, known),
                TEXT.comparison("queue", ours, published=known, **words),
            )
    for clients in CLIENTS:
        table = step_table(find_transformer("llama3-8b"), "h100", settings=EngineSettings("bf16"))
        fleet = Fleet("chunked", Replicas(Pool(Parallelism(), 1, 256, 2048), table, PLENTY))
        lengths = parse_lengths(QUEUE_PROMPT, "isl"), parse_lengths(QUEUE_ANSWER, "osl")
        loop = parse_arrivals(f"closed:{clients}")
        run = simulate_serving(fleet, draw_requests(loop, EACH * clients, 1.0, *lengths, seed))
        inside = float((run.ttft_s + (QUEUE_ANSWER - 1) * np.nan_to_num(run.tpot_s)).sum() / run.end_s)
        yield (
            _row("closed loop", f"{clients} clients", inside, float(clients)),
            TEXT.comparison("clients", inside, published=float(clients), clients=clients),
        )


def _row(part: str, case: str, ours: float, known: float) -> Row:
    return {"part": part, "case": case, "quantity": "seconds or requests", "ours": ours, "published": known}


def _prompts(stages: int, rate_per_s: float, count: int, seed: int) -> ServingRun:
    """Simulate prompts that take a second each, one at a time per stage, with answers of one token."""
    each = np.full(2, 1.0)
    table = StepTable(np.array([1, 2]), each, each, np.zeros(2), 0.0, 0.0, stages)
    one = Replicas(Pool(Parallelism(), 1, 64, QUEUE_PROMPT), table, PLENTY)
    fleet = Fleet("disaggregated", one, one, transfer=uniform_transfer(2, 0.0, 1e9, 1.0))
    lengths = parse_lengths(QUEUE_PROMPT, "isl"), parse_lengths(1, "osl")
    return simulate_serving(
        fleet, draw_requests(parse_arrivals("poisson"), count, rate_per_s, *lengths, seed)
    )


def transfer_rows() -> Iterator[tuple[Row, Comparison]]:
    """Yield the bytes and the seconds of every measured transfer."""
    for one in measured_transfers():
        model = find_transformer(one.model.lower())
        tokens = one.prompt_tokens + TEMPLATE_TOKENS[one.engine]
        ours = request_cache_bytes(model, tokens, "bf16", 1) * cache_copies(model, TENSOR)
        seconds = transfer_law(one.engine).transfer_s(one.kv_bytes / one.nominal_bytes_per_s)
        words = {"engine": one.engine, "model": one.model, "tokens": one.prompt_tokens}
        case = f"{one.engine}, {one.prompt_tokens} tokens"
        for name, quantity, value, measured in (
            ("kv_bytes", "bytes", ours, one.kv_bytes),
            ("kv_time", "seconds", seconds, one.transfer_s),
        ):
            yield (
                {
                    "part": "transfer",
                    "case": case,
                    "quantity": quantity,
                    "ours": value,
                    "published": measured,
                },
                TEXT.comparison(name, value, published=measured, **words),
            )
