"""Memory of the fullest accelerator of every server, by cause.

Dense operators are replicated over a server's accelerators, which share the batch of their part. An embedding table
sits on one accelerator: tables of a server go, largest first, to the emptiest one. Embedding gradients are
sparse and update in place, so tables have no gradient buffer.
"""

from dataclasses import dataclass

from topoopt.base.errors import check_known
from topoopt.workloads.graph import OperatorGraph
from topoopt.workloads.strategy.extract import part_samples
from topoopt.workloads.strategy.strategy import ParallelStrategy

OPTIMIZER_BYTES_PER_PARAMETER_BYTE = {"sgd": 0, "momentum": 1, "adam": 2}
"""Optimizer state in units of the float32 parameter: none, one buffer, two moments."""


@dataclass(frozen=True, slots=True)
class MemoryUse:
    """Bytes on the fullest accelerator of one server."""

    server: int
    parameters_bytes: float
    gradients_bytes: float
    optimizer_bytes: float
    embedding_bytes: float
    activations_bytes: float

    @property
    def total_bytes(self) -> float:
        """Sum of all causes."""
        return sum(self.by_cause.values())

    @property
    def by_cause(self) -> dict[str, float]:
        """What the bytes are for, in a word each."""
        return {
            "parameters": self.parameters_bytes,
            "gradients": self.gradients_bytes,
            "optimizer": self.optimizer_bytes,
            "tables": self.embedding_bytes,
            "activations": self.activations_bytes,
        }


def memory_use(
    graph: OperatorGraph,
    strategy: ParallelStrategy,
    global_batch: int,
    accelerators_per_server: int,
    optimizer: str = "sgd",
) -> tuple[MemoryUse, ...]:
    """Return the memory of every server's fullest accelerator, shape (servers,).

    Raises
    ------
    InvalidInput
        For an optimizer outside :data:`OPTIMIZER_BYTES_PER_PARAMETER_BYTE`.
    """
    check_known("optimizer", optimizer, OPTIMIZER_BYTES_PER_PARAMETER_BYTE)
    states = OPTIMIZER_BYTES_PER_PARAMETER_BYTE[optimizer]
    parameters = [0.0] * strategy.servers
    activations = [0.0] * strategy.servers
    tables: list[list[float]] = [[] for _ in range(strategy.servers)]
    for op, split in zip(graph.operators, strategy.splits, strict=True):
        output_bytes = op.output_bytes_per_sample * part_samples(split, global_batch)
        if split.channel_dim in ("out", "columns"):
            output_bytes /= split.channel_degree
        share = op.parameter_bytes / split.channel_degree
        for server in split.servers(strategy.servers):
            activations[server] += output_bytes / accelerators_per_server
            if op.is_embedding:
                tables[server].append(share)
            else:
                parameters[server] += share
    return tuple(
        MemoryUse(
            server,
            parameters[server],
            parameters[server],
            states * parameters[server],
            (1 + states) * fullest_bin(tables[server], accelerators_per_server),
            activations[server],
        )
        for server in range(strategy.servers)
    )


def fullest_bin(sizes: list[float], bins: int) -> float:
    """Return the fullest bin's content when sizes go, largest first, to the emptiest bin.

    Examples
    --------
    >>> fullest_bin([5.0, 5.0, 5.0], 2)
    10.0
    """
    filled = [0.0] * bins
    for size in sorted(sizes, reverse=True):
        emptiest = filled.index(min(filled))
        filled[emptiest] += size
    return max(filled)
