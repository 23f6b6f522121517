"""The jobs of the MixNet paper, the published times, and our simulation of one iteration on one fabric."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from topoopt.finder import FabricRequest, FabricShape, FinderRules, build_fabric, find_topology
from topoopt.plugins.papers.description import description
from topoopt.plugins.papers.published_jobs import BULK
from topoopt.routing import Fabric
from topoopt.simulation import SimResult, pipeline_task_graph, simulate
from topoopt.transformers import Configuration, System, find_calibration, make_pipelined_step
from topoopt.workloads.pipelined_step import PipelinedStep
from topoopt.workloads.transformer import find_transformer

ACCELERATOR = "h100"
PER_SERVER = 8
NVSWITCH_BPS = 450e9 * 8
"""900 GB/s in both directions together."""

MICRO_BATCHES = 8
"""Of a replica in an iteration; our choice, the paper's number is not known to us."""

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
