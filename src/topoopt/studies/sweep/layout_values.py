"""What a row says of a transformer: the configuration that is the fastest on its fabric, and how well it trains."""

from typing import Any, Final

from topoopt.jobs import Job, TransformerWork, job_mfu
from topoopt.workloads.strategy import ParallelStrategy

DEGREES: Final = ("tp", "pp", "dp", "cp", "ep", "vpp", "micro_batch")
"""Of a configuration, columns each."""


def layout_values(job: Job, strategy: ParallelStrategy, iteration_time_s: float) -> dict[str, Any]:
    """Return the columns that only transformers have; empty for all else."""
    work = job.work
    if not isinstance(work, TransformerWork):
        return {}
    layout = work.layout(strategy)
    return {
        "sequence": work.sequence,
        "tokens_per_s": work.tokens_per_s(iteration_time_s),
        "mfu": job_mfu(job, iteration_time_s),
        "memory_bytes": layout.total_memory_bytes,
        **{name: layout.configuration.get(name, 1) for name in DEGREES},
    }
