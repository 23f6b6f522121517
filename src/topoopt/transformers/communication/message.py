"""Everything that the ranks of a configuration send each other in one iteration, exactly and without running it.

Counted as Megatron-LM does it; its papers are [1]_ [2]_, the volumes of a first-stage rank are also in [3]_.

References
----------
.. [1] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC'21.
.. [2] V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.2.
.. [3] W. Li et al., "Understanding Communication Characteristics of Distributed Training", APNet 2024.
"""

from dataclasses import dataclass, field

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import BYTES_PER_ELEMENT
from topoopt.transformers.communication.routing import Routing
from topoopt.transformers.configuration import Configuration

KINDS = ("tp", "cp", "ep", "pp", "dp", "embedding")
"""Why ranks communicate; ``dp`` includes the gradients of experts."""


DISPATCH_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp8": 1 + 4 / 128}
"""Of an element of a token on its way to experts; in 8 bits with a scale of 4 bytes for each 128 (DeepSeek-V3, section
3.3.1)."""
SUMMED_IN_32_BITS = ("bf16", "fp8", "fp4")
"""Precisions in which sums of many gradients lose too much."""


def no_weights() -> Floats:
    """Return the weights of what is no all-to-all."""
    return np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Communication:
    """One collective that all its groups do ``count`` times in an iteration.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    part : str
        What of the model it belongs to, in words.
    collective : str
        One of :data:`COLLECTIVES`.
    groups : int64 array, shape (groups, size)
        Ranks, in ring order.
    message_bytes : int
        The whole buffer S of one rank: what an AllReduce sums, what is there after an all-gather or before a
        reduce-scatter, what a rank has for all ranks of an all-to-all, what is sent.
    count : int
    stage : int
        Pipeline stage of the groups; of a ``send`` the sender's, of ``embedding`` the first. What DualPipe does with
        the weights of a stage, its ranks do together with those of the mirrored one.
    direction : str
        With which pass of a micro-batch it goes, ``forward`` or ``backward`` (recomputation is part of the latter), or
        ``step``: with none.
    chunk : int
        Chunk with whose passes it goes, on stage ``configuration.stage_of(c)``; -1 for a ``step``.
    weights : float64 array, shape (size, size)
        Of an all-to-all: the share of ``message_bytes`` that goes from each member to each, itself included. Empty
        for others.
    routing : Routing or None
        Of an all-to-all in which a server gets a token once; ``weights`` are those of a copy for each expert.
    """

    kind: str
    part: str
    collective: str
    groups: Ints
    message_bytes: int
    count: int
    stage: int
    direction: str = "step"
    chunk: int = -1
    weights: Floats = field(default_factory=no_weights)
    routing: Routing | None = None

    @property
    def rank_weights(self) -> Floats:
        """Of an all-to-all: the share of ``message_bytes`` from each member to each."""
        return self.weights if self.routing is None else self.routing.between_ranks(self.weights)

    def server_weights(self, index: Ints) -> Floats:
        """Return the same of servers, shape (servers, servers); ``index`` says on which each member is."""
        if self.routing is not None:
            return self.routing.between_servers(self.weights, index)
        matrix = np.zeros((int(index.max()) + 1,) * 2)
        np.add.at(matrix, (index[:, None], index[None, :]), self.weights)
        return matrix

    @property
    def wire_bytes(self) -> float:
        """Bytes that leave ranks for others in the whole iteration, over all groups.

        AllReduce 2(n-1)·S for each group; all-gather and reduce-scatter half of it; all-to-all what does not stay.
        """
        size = self.groups.shape[1]
        return (
            wire_factor(self.collective, size, self.rank_weights)
            * self.message_bytes
            * self.count
            * len(self.groups)
        )


def wire_factor(collective: str, size: int, weights: Floats) -> float:
    """Return the bytes that leave ranks of one group in one collective, over ``message_bytes``."""
    if collective == "all-to-all":
        return float(weights.sum() - np.trace(weights))
    if collective == "ring-exchange":
        return float(size if size > 1 else 0)
    return {"allreduce": 2.0 * (size - 1), "send": 1.0}.get(collective, float(size - 1))


def weight_bytes(configuration: Configuration) -> int:
    """Return the bytes of a weight that is gathered: those of ``weights`` in 8 bits, else of the precision."""
    return 1 if configuration.weights == "fp8" else wire_element_bytes(configuration.precision)


def gradient_bytes(configuration: Configuration) -> int:
    """Return the bytes of a gradient that is reduced.

    Those of ``gradients``. If that is not given: 32 bits for bf16 and fewer bits with ZeRO 0 and 1, as Megatron-LM sums
    and reduces them (arguments.py: ``bf16`` sets ``accumulate_allreduce_grads_in_fp32``), else those of the precision.
    PyTorch's FSDP reduces in the precision of the weights unless told otherwise.
    """
    if configuration.gradients:
        return {"fp32": 4, "bf16": 2, "fp8": 1}[configuration.gradients]
    summed_in_32_bits = configuration.precision in SUMMED_IN_32_BITS and configuration.zero < 2
    return 4 if summed_in_32_bits else wire_element_bytes(configuration.precision)


def wire_element_bytes(precision: str) -> int:
    """Return the bytes of an activation, weight or gradient on the wire.

    Only the matrix products of ``fp8`` and ``fp4`` training are in fewer bits; what is sent has 16 at least.
    """
    return max(2, int(BYTES_PER_ELEMENT[precision]))
