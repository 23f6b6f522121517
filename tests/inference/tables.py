"""Step tables by hand, whose numbers are sums of few powers of two: sums of such times are exact."""

import numpy as np

from topoopt.inference import Parallelism, Pool, Replicas, StepTable

SMALL = StepTable(
    tokens=np.array([1, 65, 1089, 5185]),  # 64, 1,024 and 4,096 apart
    base_s=np.array([16.0, 32.0, 288.0, 1312.0]) / 1024,
    prefill_base_s=np.array([24.0, 32.0, 288.0, 1312.0]) / 1024,
    head_s=np.array([1.0, 1.0, 2.0, 4.0]) / 1024,
    decode_s_per_token=2.0**-20,
    prefill_s_per_pair=2.0**-24,
)
"""Of a small model: 1/64 s for one token, 1.3 s for 5,185."""


def constant_table(step_s: float, stages: int = 1) -> StepTable:
    """Return steps that all take as long."""
    each = np.full(2, step_s)
    return StepTable(np.array([1, 2]), each, each, np.zeros(2), 0.0, 0.0, stages)


def replicas(
    table: StepTable, count: int = 1, pages: int = 10**6, batch: int = 256, budget: int = 8192
) -> Replicas:
    """Return replicas of one accelerator."""
    return Replicas(Pool(Parallelism(), count, batch, budget), table, pages)
