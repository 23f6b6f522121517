"""Everything that the ranks of a configuration send each other in one iteration, exactly and without running it.

Counted as Megatron-LM does it; its papers are [1]_ [2]_, the volumes of a first-stage rank are also in [3]_.

References
----------
.. [1] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC'21.
.. [2] V. Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models", 2022, section 4.2.
.. [3] W. Li et al., "Understanding Communication Characteristics of Distributed Training", APNet 2024.
"""

from dataclasses import dataclass, field
from functools import cache
from math import comb, prod

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.catalog import BYTES_PER_ELEMENT
from topoopt.transformers.configuration import Configuration
from topoopt.workloads import ring_rounds
from topoopt.workloads.transformer import Experts


@dataclass(frozen=True, slots=True)
class Routing:
    """A hierarchical all-to-all of the tokens of experts.

    Attributes
    ----------
    experts : Experts
    back : bool
        Whether tokens come back from their experts.
    """

    experts: Experts
    back: bool

    def between_ranks(self, weights: Floats) -> Floats:
        """Return the weights of an all-to-all in which every rank gets a token once."""
        one = self.experts
        shares, which = np.unique(weights, return_inverse=True)
        copies = [
            share
            * expected_places(one.count, one.per_token, 1 / share, one.route_groups, one.groups_per_token)
            if share > 0
            else 0.0
            for share in shares.tolist()
        ]
        return (np.array(copies) / one.per_token)[which].reshape(weights.shape)

    def between_servers(self, weights: Floats, index: Ints) -> Floats:
        """Return the same for servers, shape (servers, servers).

        The diagonal is forwarding inside: to each rank except the one at which a token enters the server.
        """
        there = weights.T if self.back else weights
        inside = np.zeros((len(index), int(index.max()) + 1))
        inside[np.arange(len(index)), index] = 1.0
        between = inside.T @ self.between_ranks(there @ inside)
        others = 1 - 1 / inside.sum(axis=0)
        np.fill_diagonal(between, (self.between_ranks(there) @ inside).sum(axis=0) * others)
        return between.T if self.back else between


KINDS = ("tp", "cp", "ep", "pp", "dp", "embedding")
"""Reasons for communication between ranks; ``dp`` includes the gradients of experts."""
DISPATCH_BYTES = {"fp32": 4.0, "bf16": 2.0, "fp8": 1 + 4 / 128}
"""Bytes per element of a token sent to experts; in 8 bits with a 4-byte scale per 128 (DeepSeek-V3, 3.3.1)."""
SUMMED_IN_32_BITS = ("bf16",)
"""Precisions whose gradients Megatron-LM sums and reduces in 32 bits (arguments.py: ``bf16`` sets
``accumulate_allreduce_grads_in_fp32``). The 8-bit and 4-bit recipes of NeMo and Megatron Bridge reduce them in 16
(``grad_reduce_in_fp32=False``)."""


def no_weights() -> Floats:
    """Return the weights of collectives other than all-to-all."""
    return np.zeros((0, 0))


@dataclass(frozen=True, eq=False)
class Communication:
    """One collective that all its groups do ``count`` times in an iteration.

    Attributes
    ----------
    kind : str
        One of :data:`KINDS`.
    part : str
        Description of the part of the model that it belongs to.
    collective : str
        One of :data:`COLLECTIVES`.
    groups : int64 array, shape (groups, size)
        Ranks, in ring order.
    message_bytes : int
        The whole buffer S of one rank: the summed buffer of an AllReduce, the result of an all-gather, the input of a
        reduce-scatter, the data of a rank for all ranks of an all-to-all, the message of a send.
    count : int
    stage : int
        Pipeline stage of the groups; of a ``send`` the sender's, of ``embedding`` the first. What DualPipe does with
        the weights of a stage, its ranks do together with those of the mirrored one.
    direction : str
        Pass of a micro-batch that it belongs to, ``forward`` or ``backward`` (recomputation is part of the
        latter), or ``step``: none.
    chunk : int
        Chunk with whose passes it goes, on stage ``configuration.stage_of(c)``; -1 for a ``step``.
    weights : float64 array, shape (size, size)
        Share of ``message_bytes`` from each member of an all-to-all to each, itself included. Empty for others.
    routing : Routing or None
        Routing of an all-to-all in which a server gets a token once; ``weights`` are those of a copy for each
        expert.
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
        """Share of ``message_bytes`` from each member of an all-to-all to each."""
        return self.weights if self.routing is None else self.routing.between_ranks(self.weights)

    def server_weights(self, index: Ints) -> Floats:
        """Return the same of servers, shape (servers, servers); ``index`` has the server of each member."""
        if self.routing is not None:
            return self.routing.between_servers(self.weights, index)
        matrix = np.zeros((int(index.max()) + 1,) * 2)
        np.add.at(matrix, (index[:, None], index[None, :]), self.weights)
        return matrix

    @property
    def wire_bytes(self) -> float:
        """Bytes that leave ranks for others in the whole iteration, over all groups.

        AllReduce 2(n-1)·S for each group; all-gather and reduce-scatter half of it; all-to-all the bytes that do
        not stay.
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
    return 1.0 if collective == "send" else float(ring_rounds(collective, size))


def weight_bytes(configuration: Configuration) -> int:
    """Return the bytes of a gathered weight: those of ``weights`` in 8 bits, else of the precision."""
    return 1 if configuration.weights == "fp8" else wire_element_bytes(configuration.precision)


def gradient_bytes(configuration: Configuration) -> int:
    """Return the bytes of a gradient that is reduced.

    Those of ``gradients``. If that is not given: 32 bits for :data:`SUMMED_IN_32_BITS` with ZeRO 0 and 1, else 16, or
    those of the precision. PyTorch's FSDP reduces in the precision of the weights by default.
    """
    if configuration.gradients:
        return {"fp32": 4, "bf16": 2, "fp8": 1}[configuration.gradients]
    summed_in_32_bits = configuration.precision in SUMMED_IN_32_BITS and configuration.zero < 2
    return 4 if summed_in_32_bits else wire_element_bytes(configuration.precision)


def wire_element_bytes(precision: str) -> int:
    """Return the bytes of an activation, weight or gradient on the wire.

    Only the matrix products of ``fp8`` and ``fp4`` training are in fewer bits; messages have at least 16.
    """
    return max(2, int(BYTES_PER_ELEMENT[precision]))


@cache
def expected_places(
    experts: float, per_token: float, places: float, groups: float = 0, groups_per_token: float = 0
) -> float:
    """Return in how many of ``places`` equal parts of the experts those of a token lie, on average.

    A token's experts are any ``k`` of ``n``: a part of ``n/p`` of them has none with a probability of
    ``C(n - n/p, k)/C(n, k)``. With group-limited routing they are any ``k`` of the experts of ``g`` groups, which are
    any of ``G``: DeepSeek-V3's 8 of 256 experts on 8 servers lie in 3.63 of them instead of 5.29.

    Parameters
    ----------
    places : float
        Servers or ranks, each with a block of the experts; a fraction where blocks are uneven.
    groups, groups_per_token : float
        Groups of group-limited routing; 0 for none.

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, sections 2.1.2 (node-limited routing) and 3.2.2.

    Examples
    --------
    >>> round(expected_places(8, 2, 2), 4), round(expected_places(256, 8, 8, 8, 4), 2)
    (1.5714, 3.63)
    """
    if places <= 1:
        return 1.0
    if not 0 < groups_per_token < groups:
        return places * (1 - _none(experts, experts / places, per_token))
    size = experts / groups
    if places >= groups:  # a place has a part of a group
        allowed = groups_per_token * size
        return places * groups_per_token / groups * (1 - _none(allowed, experts / places, per_token))
    held = max(round(groups / places), 1)  # a place has some groups
    missed = sum(
        _ways(held, few, int(groups), int(groups_per_token))
        * _none(groups_per_token * size, few * size, per_token)
        for few in range(min(held, int(groups_per_token)) + 1)
    )
    return places * (1 - missed)


def _ways(held: int, few: int, groups: int, chosen: int) -> float:
    """Return the probability that ``few`` of the ``held`` groups are among the chosen ones."""
    return comb(held, few) * comb(groups - held, chosen - few) / comb(groups, chosen)


def _none(count: float, here: float, chosen: float) -> float:
    """Return the probability that ``chosen`` of ``count`` experts are all outside of ``here`` of them."""
    outside = count - here
    if outside < chosen:
        return 0.0
    return prod((outside - step) / (count - step) for step in range(int(chosen)))
