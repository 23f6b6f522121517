"""Calls that somebody waits for, each as often as a person makes it; and the memory of paths and of a studio."""

import tracemalloc
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import topoopt
from benchmarks.figure import Figure, best_cpu_seconds, cpu_seconds
from tests.frontends.web.conftest import running
from tests.frontends.web.test_api import LONG, children, until
from tests.frontends.web.test_many_clients import CLIENTS, asks
from topoopt.base.errors import Infeasible
from topoopt.catalog import find_accelerator
from topoopt.inference import EngineSettings, Parallelism, closed_loop, replica
from topoopt.inference.step.constants import ServedStack, shipped_constants
from topoopt.pages import html, make_page
from topoopt.plugins.exports import Deployment, deployment
from topoopt.plugins.exports.table import TRAINING_FORMATS
from topoopt.routing import Fabric, make_routes, path_table
from topoopt.routing.forwarding import follow, forwarding_tables
from topoopt.simulation import read_fbuf
from topoopt.topologies import Topology, circulant, fat_tree
from topoopt.transformers import SearchRequest, System, find_calibration, search_configurations
from topoopt.workloads.transformer import find_transformer

GRAPH = Path(__file__).parents[1] / "examples" / "taskgraphs" / "25dlrm_128_circ_d4_rings.fbuf.xz"
SLIDERS: tuple[dict[str, object], ...] = (
    {"servers": 128},
    {"servers": 250},
    {"accelerators_per_server": 2},
    {"degree": 8},
    {"degree": 3},
    {"bandwidth": "400Gbps"},
    {"prices": "2022"},
    {"years": 3},
)
"""A step of each slider and field of the studio, from 256 servers of 4 ports."""
MONEY: tuple[dict[str, object], ...] = ({"years": 2, "electricity_price": 0.2, "server_price": 1e5},)
DIRECT = circulant(128, (1, 11), 1e9), "coin-change"
SWITCHED = fat_tree(128, 1e9, switches=True), "ecmp"


def figures() -> Iterator[Figure]:
    plan = topoopt.plan("dlrm", servers=128, degree=4, fabrics=(), budget=20, wirings="strides")
    deployed = deployment(plan)
    deployed.circuits  # noqa: B018 - names are made once for all formats
    gpt3 = SearchRequest(
        find_transformer("gpt3-175b"), 1024, System("a100-80gb", 8, 2.4e12, 200e9), 1536, 2048, {}
    )
    calls: dict[str, tuple[Callable[[], object], float]] = {
        "task graph of 22,638 tasks, read": (lambda: read_fbuf(GRAPH), 2.0),
        "page of a plan, dlrm, n=128": (lambda: html(make_page(plan)), 5.0),
        "files of all training formats, n=128": (lambda: _write_formats(deployed), 2.5),
        "configurations of GPT-3 on 1,024, ranked": (
            lambda: search_configurations(gpt3, find_calibration("a100-80gb")),
            1.0,
        ),
        "forwarding tables and walks, n=432 d=6": (_forward, 12.0),
        "100,000 closed loops of clients": (_closed_loops, 1.0),
        "paths of all pairs, coin-change, n=128": (partial(_all_paths, *DIRECT), 0.3),
        "paths of all pairs, ecmp, n=128": (partial(_all_paths, *SWITCHED), 1.0),
    }
    for what, (call, limit_s) in calls.items():
        yield Figure(what, best_cpu_seconds(call), "CPU s", limit_s)
    for topology, method in (DIRECT, SWITCHED):
        yield Figure(f"memory of paths, {method}, n=128", _peak_mb(topology, method), "MB", 100)
    for model in ("dlrm", "ncf", "candle", "wide-resnet101", "llama3-70b"):
        yield Figure(f"step of a slider, {model}", _step_s(model, SLIDERS), "CPU s", 0.1)
    yield Figure("other prices and years, ncf", _step_s("ncf", MONEY), "CPU s", 0.03)
    yield Figure("memory of a studio, 20 clients and a plan", _studio_mb(), "MB", 600)


def _write_formats(deployed: Deployment) -> None:
    for one in TRAINING_FORMATS:
        with suppress(Infeasible):
            one.write(deployed)


def _forward() -> None:
    topology = circulant(432, (1, 25, 7), 1e9)
    follow(forwarding_tables(topology, make_routes("coin-change", topology)))


def _closed_loops(count: int = 100_000) -> None:
    model, accelerator = find_transformer("deepseek-v3"), find_accelerator("h200")
    engine, generator = EngineSettings("fp8", "fp8"), np.random.default_rng(0)
    law = shipped_constants(ServedStack(model, accelerator, engine))
    one = replica(model, accelerator, Parallelism(8), engine)
    clients, prompts = generator.uniform(1, 512, count), generator.uniform(16, 8192, count)
    closed_loop(one, law, clients, prompts, 512.0, 1e9)


def _all_paths(topology: Topology, method: str) -> None:
    fabric = Fabric("test", topology, make_routes(method, topology), {})
    src, dst = np.divmod(np.arange(128**2), 128)
    path_table(fabric, src[src != dst], dst[src != dst])


def _peak_mb(topology: Topology, method: str) -> float:
    tracemalloc.start()
    _all_paths(topology, method)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak_bytes / 1e6


def _step_s(model: str, steps: tuple[dict[str, object], ...]) -> float:
    """Return the time of the longest but one of some steps: the collector of garbage may have met one of them."""
    base: dict[str, Any] = {"model": model, "servers": 256, "degree": 4, "bandwidth": "100Gbps"}
    topoopt.studio_answer(**base)
    used_s = [cpu_seconds(lambda: topoopt.studio_answer(**{**base, **step})) for step in steps]  # noqa: B023
    return sorted(used_s)[-2:][0]


def _studio_mb() -> float:
    """Return what the processes of a studio have for themselves, and their part of what they share."""
    with running() as studio:
        key = studio.ask("/api/plans", "POST", LONG).json["id"]
        until(lambda: studio.ask(f"/api/plans/{key}").json["total"] > 0)
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(lambda client: asks(studio, client), range(CLIENTS)))
        processes = [studio.process.pid, *children(studio.process.pid)]
        texts = [Path(f"/proc/{pid}/smaps_rollup").read_text() for pid in processes]
    lines = [line for text in texts for line in text.splitlines() if line.startswith("Pss:")]
    return sum(int(line.split()[1]) for line in lines) * 1024 / 1e6
