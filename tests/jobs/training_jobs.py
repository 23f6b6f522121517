"""A small job of a transformer, its layouts made by hand, for all tests that need one."""

import numpy as np

from topoopt.catalog import ClusterSpec
from topoopt.jobs import Job, Layout, TransformerWork, training_job
from topoopt.workloads.pipelined_step import Chunk, PipelinedStep, Synchronization
from topoopt.workloads.transformer import TransformerModel

SERVERS, MICRO_BATCHES = 8, 4
MODEL = TransformerModel("small", "llama", 8, 512, 8, 2048, 1000, 1024, 8, 64)


def small_layout(stages: int, seconds: float, gradient_bytes: int) -> Layout:
    """Return a layout of whole servers: as many replicas as the stages leave."""
    replicas = SERVERS // stages
    servers = np.arange(SERVERS).reshape(stages, replicas, 1)
    chunks = tuple(
        Chunk(seconds / stages, 2 * seconds / stages, 4_000_000 if index < stages - 1 else 0)
        for index in range(stages)
    )
    syncs = tuple(
        Synchronization(
            (stage,),
            tuple(range(replicas)),
            tuple(servers[stage, :, 0].tolist()),
            "allreduce",
            gradient_bytes // stages,
        )
        for stage in range(stages)
        if replicas > 1
    )
    step = PipelinedStep(SERVERS, MICRO_BATCHES, chunks, servers, (), syncs)
    configuration: dict[str, int | float | str | bool] = {
        "tp": 8,
        "pp": stages,
        "dp": replicas,
        "cp": 1,
        "ep": 1,
        "vpp": 1,
        "micro_batch": 1,
        "zero": 1,
        "recompute": "none",
        "precision": "bf16",
        "sequence_parallel": True,
        "offload_optimizer": 0.5,
    }
    memory = {"parameters": 1e9, "gradients": 2e9, "optimizer": 3e9, "activations": 4e9, "logits": 5e8}
    return Layout(configuration, "tp-cp-ep-dp-pp", 5 * seconds, memory, step)


def small_training() -> TransformerWork:
    """Return one stage, two and four, each on eight servers."""
    layouts = (
        small_layout(1, 0.020, 400_000_000),
        small_layout(2, 0.021, 400_000_000),
        small_layout(4, 0.022, 400_000_000),
    )
    return TransformerWork(MODEL, layouts, 32, 1024, 5e15, "by hand", 100, 30_000_000, 80e9)


def small_training_job(degree: int = 4) -> Job:
    """Return the job on eight servers of eight accelerators."""
    cluster = ClusterSpec(SERVERS, degree, 100e9, 8, "h100", 3.6e12)
    return training_job(small_training(), cluster, "bf16")
