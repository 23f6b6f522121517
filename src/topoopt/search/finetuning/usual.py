"""What a fine-tuning is where nobody says: batch, length of a sequence, ports of a server."""

from topoopt.catalog import largest_degree
from topoopt.transformers import System
from topoopt.workloads.transformer import TransformerModel

USUAL_BATCH = 128
"""Sequences of a step: pre-training's millions of tokens would leave a data set of a few million no steps."""

USUAL_SEQUENCE = 4096

LARGEST_DEGREE = 8
"""Interfaces of a server: one for each accelerator, of larger servers fewer and faster ones."""


def usual_scale(model: TransformerModel, accelerators: int) -> tuple[int, int]:
    """Return sequences of a step, the same for each accelerator, and tokens of a sequence.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> usual_scale(find_transformer("llama3-70b"), 24)
    (144, 4096)
    """
    batch = accelerators * -(-USUAL_BATCH // accelerators)
    return batch, min(model.sequence, USUAL_SEQUENCE)


def usual_degree(system: System, servers: int) -> tuple[int, float]:
    """Return the interfaces of a server and the bandwidth of one, so that all accelerators have theirs together."""
    degree = min(system.accelerators_per_server, LARGEST_DEGREE, largest_degree(servers))
    return degree, system.network_bandwidth_bps * system.accelerators_per_server / degree
