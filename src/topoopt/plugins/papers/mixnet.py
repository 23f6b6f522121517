"""MixNet's evaluation: mixtures of experts on a fat-tree, on regional circuits, on rails, and on TopoOpt wired once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from topoopt.base.answers import Progress
from topoopt.base.arrays import Floats, Ints
from topoopt.finder import (
    FabricRequest,
    FabricShape,
    FinderRules,
    build_fabric,
    exchange_time_s,
    find_topology,
    improved_circuits,
    regional_circuits,
)
from topoopt.pages import Chart, Series
from topoopt.plugins.papers.figure import Comparison, Figure, Row, StudySettings, description
from topoopt.plugins.papers.published_jobs import BULK, times
from topoopt.routing import Fabric
from topoopt.simulation import SimResult, pipeline_task_graph, simulate
from topoopt.transformers import (
    Configuration,
    ExpertLoads,
    System,
    find_calibration,
    loads_over_iterations,
    make_pipelined_step,
    predict_loads,
    token_matrix,
    uniform_loads,
    zipf_loads,
)
from topoopt.workloads.pipelined_step import PipelinedStep
from topoopt.workloads.transformer import TransformerModel, find_transformer

ACCELERATOR = "h100"
PER_SERVER = 8
NVSWITCH_BPS = 450e9 * 8
"""900 GB/s in both directions together."""
MICRO_BATCHES = 8
"""Micro-batches per replica and iteration; our choice, since the paper gives none."""
ACCELERATORS = 1024
"""Our choice, where the parallel degrees leave it open: 128 servers."""


@dataclass(frozen=True, slots=True)
class MoeJob:
    """One model as the paper splits it; sequences of 4096, micro-batches of 8.

    ``etp`` cuts each expert like the rest of its layer, so that the ``ep`` members of an all-to-all are as many
    tensor-parallel groups.
    """

    title: str
    model: str
    tp: int
    pp: int
    ep: int
    etp: int

    @property
    def configuration(self) -> Configuration:
        """The configuration on :data:`ACCELERATORS`."""
        dp = ACCELERATORS // (self.tp * self.pp)
        return Configuration(
            exchange="flat",
            tp=self.tp,
            pp=self.pp,
            dp=dp,
            ep=self.ep,
            etp=self.etp,
            sequence=4096,
            micro_batch=8,
            global_batch=dp * 8 * MICRO_BATCHES,
            sequence_parallel=self.tp > 1,
        )


JOBS: Mapping[str, MoeJob] = {
    "mixtral-8x22b": MoeJob("Mixtral 8×22B", "mixtral-8x22b", 8, 8, 8, 8),
    "llama-moe": MoeJob("LLaMA-MoE", "llama-moe-6.7b", 1, 4, 16, 1),
    "mixtral-8x7b": MoeJob("Mixtral 8×7B", "mixtral-8x7b", 4, 4, 8, 4),
    "qwen-moe": MoeJob("Qwen-MoE", "qwen-moe-14.3b", 1, 4, 16, 1),
    "deepseek-r1": MoeJob("DeepSeek-R1", "deepseek-r1", 1, 16, 64, 1),
}
FABRICS = ("fat-tree", "mixnet", "rail", "topoopt")
PUBLISHED: Mapping[tuple[str, float], Mapping[str, float]] = {
    (row["model"], row["bandwidth_bps"]): {fabric: row[fabric] for fabric in FABRICS}
    for row in description("mixnet").tables["normalized"]
}
"""Normalized iteration times by fabric, for each model and bandwidth of a NIC."""
ZIPF = 1.0
"""Exponent of the loads at the start of training; an assumption."""
OPTICAL = 6
FOLLOWED, PREDICTED = "follow the loads", "predicted from the layer before"
LAYER_BEFORE, WIRED_ONCE = "loads of the layer before", "wired once, at iteration 0"
EVEN, IMPROVED, TREE = "even", "follow, improved by exchanges", "fat-tree"
"""Objectives for choosing circuits; a fat-tree has none."""
SEEN = 20
"""Iterations from which the transitions between layers are fitted."""
AT_400G = 400e9
BY_RAIL = "mixtral-8x22b"
"""Model whose published times are over that on the reference."""
REFERENCE = "rail", 800e9
"""Network to which Mixtral 8×22B's published times are normalized: 1.000."""
Variant = tuple[str, str, FabricShape, bool]
"""Fabric, description of its circuits, settings, and whether passes are cut at every all-to-all."""
VARIANTS: tuple[Variant, ...] = (
    ("mixnet", "changes hidden but for what computing leaves", FabricShape(hiding="overlapped"), True),
    ("mixnet", "changes in 0 s", FabricShape(delay_s=0.0), False),
    ("mixnet", "4 of 8 ports electrical", FabricShape(electrical_ports=4), False),
)
"""Variants of MixNet."""
TEXT = description("mixnet")
TITLES: Mapping[str, str] = TEXT.charts["time"]["curves"]["names"]


@dataclass(frozen=True, slots=True)
class MixnetGrid:
    """Points of the figure.

    Attributes
    ----------
    cases : tuple of (job, bandwidth)
    iterations : tuple of int
        Training iterations, for loads that change.
    every : int
        Interval of the layers evaluated for these.
    variants_at_bps : tuple of float
        Bandwidths at which :data:`VARIANTS` are simulated, too.
    """

    cases: tuple[tuple[str, float], ...]
    iterations: tuple[int, ...]
    every: int
    variants_at_bps: tuple[float, ...]


QUICK = MixnetGrid(tuple(PUBLISHED), (0, 100, 1000), 14, (AT_400G,))
FULL = MixnetGrid(
    (*PUBLISHED, *((name, AT_400G) for name in JOBS if (name, AT_400G) not in PUBLISHED)),
    (0, 20, 100, 300, 1000),
    1,
    (100e9, 200e9, AT_400G, 800e9),
)


def mixnet(settings: StudySettings, on_progress: Progress) -> Figure:
    """Return iteration times on the four fabrics, and the gain of circuits when loads change."""
    return mixnet_on(QUICK if settings.quick else FULL, settings, on_progress)


def mixnet_on(grid: MixnetGrid, settings: StudySettings, on_progress: Progress) -> Figure:
    """Return the figure over any grid."""
    rows: list[Row] = []
    for done, (name, bandwidth_bps) in enumerate(grid.cases):
        on_progress(f"mixnet: {JOBS[name].title} at {bandwidth_bps / 1e9:g} Gb/s", done, len(grid.cases) + 1)
        variants = VARIANTS if bandwidth_bps in grid.variants_at_bps else ()
        rows += mixnet_rows(name, bandwidth_bps, variants)
    on_progress("mixnet: loads that change", len(grid.cases), len(grid.cases) + 1)
    loads = list(loads_rows("mixtral-8x22b", AT_400G, grid.iterations, grid.every, settings.seed))
    last = max(grid.iterations)
    slowest = max((row for row in rows if row["fabric"] == "topoopt"), key=lambda row: row["bandwidth_tax"])
    return TEXT.figure(
        [*(_normalized(row, rows) for row in rows), *loads],
        [*_compared(rows), *_order(rows)],
        [*_charts(rows), TEXT.chart("loads", loads)],
        accelerators=ACCELERATORS,
        micro_batches=MICRO_BATCHES,
        slowest=slowest,
        slowest_model=JOBS[slowest["model"]].title,
        zipf=ZIPF,
        last=last,
        ms={
            row["circuits"]: row["exchange_time_s"] * 1e3
            for row in loads
            if row["training_iteration"] == last
        },
    )


def _normalized(row: Row, rows: Sequence[Row]) -> Row:
    case = row["model"], row["bandwidth_bps"]
    published = PUBLISHED.get(case, {}).get(row["fabric"]) if not row["circuits"] else None
    normalized = row["iteration_time_s"] / reference_s(rows, *case)
    return {**row, "normalized": normalized, "published_normalized": published}


def _compared(rows: Sequence[Row]) -> Iterator[Comparison]:
    simulated = {(row["model"], row["bandwidth_bps"]) for row in rows}
    for case, published in PUBLISHED.items():
        by_rail = case[0] == BY_RAIL
        for fabric in FABRICS if case in simulated else ():
            if by_rail or fabric != "fat-tree":
                yield TEXT.comparison(
                    "normalized",
                    time_s(rows, *case, fabric) / reference_s(rows, *case),
                    fabric,
                    published=published[fabric] if by_rail else published[fabric] / published["fat-tree"],
                    job=_words(*case),
                    fabric=TITLES[fabric],
                    reference="rail at 800 Gb/s" if by_rail else "the fat-tree",
                )


def _order(rows: Sequence[Row]) -> Iterator[Comparison]:
    """Yield the statement that TopoOpt is the slowest on LLaMA-MoE, with every wiring."""
    case = "llama-moe", AT_400G
    if not any(row["model"] == case[0] for row in rows):
        return
    published = PUBLISHED[case]
    wired_s = min(time_s(rows, *case, name) for name in ("topoopt", "topoopt-released"))
    for other in ("fat-tree", "mixnet"):
        yield TEXT.comparison(
            "order",
            time_s(rows, *case, other) / wired_s,
            job=_words(*case),
            fabric=TITLES[other],
            ratio=published[other] / published["topoopt"],
        )


def _words(model: str, bandwidth_bps: float) -> str:
    return f"{JOBS[model].title}, {bandwidth_bps / 1e9:g} Gb/s"


def _charts(rows: Sequence[Row]) -> Iterator[Chart]:
    for name in dict.fromkeys(row["model"] for row in rows):
        drawn = [
            {**row, "nic_gbps": f"{row['bandwidth_bps'] / 1e9:g}"}
            for row in sorted(rows, key=lambda row: row["bandwidth_bps"])
            if row["model"] == name and not row["circuits"]
        ]
        words = {"name": name, "model": JOBS[name].title, "accelerators": ACCELERATORS}
        yield TEXT.chart("time", drawn, *_published(rows, name), **words)


def _published(rows: Sequence[Row], name: str) -> Iterator[Series]:
    """Yield the published times of a model over that of the reference, times ours."""
    simulated = {row["bandwidth_bps"] for row in rows if row["model"] == name}
    cases = {case: times for case, times in PUBLISHED.items() if case[0] == name and case[1] in simulated}
    if not cases or (name == BY_RAIL and REFERENCE[1] not in simulated):
        return
    for fabric, word in TEXT.charts["time"]["curves"]["names"].items():
        times_s = [
            times[fabric] / (1.0 if name == BY_RAIL else times["fat-tree"]) * reference_s(rows, *case)
            for case, times in cases.items()
        ]
        x = tuple(f"{bandwidth_bps / 1e9:g}" for _, bandwidth_bps in cases)
        yield Series(f"{word} (published)", x, tuple(times_s), published=True)


def mixnet_rows(name: str, bandwidth_bps: float, variants: tuple[Variant, ...]) -> Iterator[Row]:
    """Yield a job on the fabrics of the paper, on TopoOpt as its authors' code wires it, and on variants of MixNet.

    ``circuits`` sets the handling of those of MixNet, where special.
    """
    step = step_of(JOBS[name], bandwidth_bps)
    usual = [(fabric, "", FabricShape(), False) for fabric in (*FABRICS, "topoopt-released")]
    for fabric, circuits, shape, one_by_one in (*usual, *variants):
        laid = fabric_of(fabric, step, bandwidth_bps, shape)
        result = simulated_step(step, laid, one_by_one=one_by_one)
        yield {
            "model": name,
            "bandwidth_bps": bandwidth_bps,
            "fabric": fabric,
            "circuits": circuits,
            **times(result),
        }


def time_s(rows: Sequence[Row], model: str, bandwidth_bps: float, fabric: str) -> float:
    """Return the iteration time of one case."""
    case = {"model": model, "bandwidth_bps": bandwidth_bps, "fabric": fabric, "circuits": ""}
    (row,) = (row for row in rows if case.items() <= row.items())
    return float(row["iteration_time_s"])


def reference_s(rows: Sequence[Row], model: str, bandwidth_bps: float) -> float:
    """Return the time used for normalization: rail at 800 Gb/s as published, else the fat-tree beside it."""
    fabric, reference_bps = REFERENCE
    if model == BY_RAIL and any(row["bandwidth_bps"] == reference_bps for row in rows):
        return time_s(rows, model, reference_bps, fabric)
    return time_s(rows, model, bandwidth_bps, "fat-tree")


def loads_rows(
    name: str, bandwidth_bps: float, iterations: tuple[int, ...], every: int, seed: int
) -> Iterator[Row]:
    """Yield the mean time of an all-to-all on circuits chosen by several methods, for every ``every``-th layer.

    Members of an all-to-all are servers, each with an equal share of the experts. Circuits are chosen greedily from
    the loads of the layer itself, from those predicted by the layer before, from those of the last layer, from those
    of the layer in iteration 0 (wired once), or from even loads; and by exchanges from the layer's own.
    """
    job = JOBS[name]
    model = find_transformer(job.model)
    first = zipf_loads(model, ZIPF, seed)
    course = list(islice(loads_over_iterations(first, seed), max(iterations) + 1))
    for iteration in iterations:
        now, before = course[iteration], course[max(iteration - SEEN, 0) : iteration] or [course[0]]
        shifted = ExpertLoads(now.layers, np.roll(now.shares, 1, axis=0))
        guesses = {
            FOLLOWED: now,
            PREDICTED: predict_loads(before, now),
            LAYER_BEFORE: shifted,
            WIRED_ONCE: first,
            EVEN: uniform_loads(model),
        }
        layers = range(0, len(now.layers), every)
        actual = [_demand(job, model, now, layer) for layer in layers]
        times_s = {}
        for circuits, guess in guesses.items():
            planned = [_demand(job, model, guess, layer) for layer in layers]
            chosen = [regional_circuits(demand, OPTICAL, "break") for demand in planned]
            times_s[circuits] = _mean_s(actual, chosen, bandwidth_bps)
        chosen = [improved_circuits(demand, OPTICAL, 1.0, float(PER_SERVER - OPTICAL)) for demand in actual]
        times_s[IMPROVED] = _mean_s(actual, chosen, bandwidth_bps)
        busiest = [max(demand.sum(axis=0).max(), demand.sum(axis=1).max()) for demand in actual]
        times_s[TREE] = float(np.mean(busiest)) * 8.0 / (PER_SERVER * bandwidth_bps)
        for circuits, time_s in times_s.items():
            yield {
                "model": name,
                "bandwidth_bps": bandwidth_bps,
                "fabric": TREE if circuits == TREE else "mixnet",
                "circuits": circuits,
                "training_iteration": iteration,
                "exchange_time_s": time_s,
            }


def _demand(job: MoeJob, model: TransformerModel, loads: ExpertLoads, layer: int) -> Floats:
    """Return the bytes that the servers of an expert group send each other in one dispatch."""
    assert model.experts is not None
    one = job.configuration
    tokens = one.micro_batch * one.sequence / job.tp
    ranks = token_matrix(loads.shares[layer], job.ep, tokens, model.experts.per_token)
    per_server = max(PER_SERVER // job.etp, 1)  # expert ranks of a server
    servers = job.ep // per_server
    blocks = ranks.reshape(servers, per_server, servers, per_server).sum(axis=(1, 3))
    demand: Floats = blocks * model.hidden * 2.0 * job.etp
    np.fill_diagonal(demand, 0.0)
    return demand


def _mean_s(demands: list[Floats], circuits: list[Ints], bandwidth_bps: float) -> float:
    electrical_bps = (PER_SERVER - OPTICAL) * bandwidth_bps
    pairs = zip(demands, circuits, strict=True)
    return float(np.mean([exchange_time_s(d, c, bandwidth_bps, electrical_bps) for d, c in pairs]))


def step_of(job: MoeJob, bandwidth_bps: float) -> PipelinedStep:
    """Return one iteration of a job with even expert loads."""
    system = System(ACCELERATOR, PER_SERVER, NVSWITCH_BPS, bandwidth_bps)
    calibration = find_calibration(ACCELERATOR)
    return make_pipelined_step(find_transformer(job.model), job.configuration, system, calibration)


def fabric_of(
    name: str, step: PipelinedStep, bandwidth_bps: float, shape: FabricShape | None = None
) -> Fabric:
    """Return a fabric of 8 NICs a server; ``topoopt`` is wired once for the step, ``topoopt-released`` by the authors'.

    The authors' released rule puts all NICs on rings of all servers, Algorithm 1 of their paper shares them out.
    """
    if name == "topoopt":
        return find_topology(step.traffic, degree=PER_SERVER, bandwidth_bps=bandwidth_bps)
    if name == "topoopt-released":
        rules = FinderRules("all-to-allreduce", "lower-bound")
        return find_topology(step.traffic, degree=PER_SERVER, bandwidth_bps=bandwidth_bps, rules=rules)
    return build_fabric(
        name,
        FabricRequest(
            step.servers,
            PER_SERVER,
            bandwidth_bps,
            pipeline_task_graph(step).groups,
            server_bandwidth_bps=PER_SERVER * bandwidth_bps,
            shape=FabricShape() if shape is None else shape,
        ),
    )


def simulated_step(step: PipelinedStep, fabric: Fabric, *, one_by_one: bool = False) -> SimResult:
    """Return one iteration by the flow simulator, every AllReduce as one flow for all its rounds."""
    graph = pipeline_task_graph(step, one_by_one=one_by_one)
    tolerance = None if fabric.reconfiguration is None else 1e-6
    return simulate("flow", graph, fabric, replace(BULK, tolerance=tolerance))
