"""Communication in the passes of micro-batches through a chunk: tensor, context, expert and pipeline parallelism.

The part of its activations that each tensor-parallel rank sends to the next stage is defined here, for times and
for traffic.

Every rank of a group has all activations of its tokens, unless the sequence is split. Megatron-LM of 2021 sends a slice
from each, and puts the slices together again over the links inside a server [1]_, which is not counted. Other software
sends all of them from each: it has the word ``sends`` of :data:`~topoopt.transformers.UNFUSED_PARTS`.

References
----------
.. [1] D. Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters", SC'21, section 4.1.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.transformers.communication.message import (
    DISPATCH_BYTES,
    Communication,
    Routing,
    no_weights,
    wire_element_bytes,
)
from topoopt.transformers.communication.ranks import Ranks
from topoopt.transformers.configuration import FULL, Configuration, part_bit, recomputation_bits
from topoopt.transformers.configuration_table import Bools
from topoopt.transformers.expert_loads import ExpertLoads, experts_of, rank_shares, taken_shares
from topoopt.transformers.system import is_apart
from topoopt.workloads.transformer import TransformerModel

Times = tuple[int, int, int]
"""Repetitions of a message for one micro-batch and layer: forward, backward, and when the layer is recomputed."""


@dataclass(frozen=True, eq=False)
class Passes:
    """The passes through one chunk, with the sizes that its communications share."""

    model: TransformerModel
    configuration: Configuration
    ranks: Ranks
    loads: ExpertLoads
    chunk: int
    layers: Sequence[int]
    unfused: str = "none"

    @property
    def stage(self) -> int:
        """Stage of the chunk."""
        return self.configuration.stage_of(self.chunk)

    @property
    def place(self) -> int:
        """Position of the chunk on the path of a micro-batch."""
        return self.chunk % (self.configuration.pp * self.configuration.vpp)

    @property
    def tokens(self) -> int:
        """Tokens of a micro-batch on one context-parallel rank."""
        return self.configuration.micro_batch * self.configuration.sequence // self.configuration.cp

    @property
    def activation_bytes(self) -> int:
        """Hidden states of these tokens: b·s·h numbers."""
        return self.tokens * self.model.hidden * wire_element_bytes(self.configuration.precision)

    def communications(self) -> Iterator[Communication]:
        """Yield the communications of the passes."""
        one, experts = self.configuration, self.model.experts
        moe = [layer for layer in self.layers if self.model.is_moe(layer)]
        shared = moe if experts is not None and experts.shared_ffn > 0 else []
        dense = [layer for layer in self.layers if self.model.feed_forward(layer) == "-"]
        attention, recurrence = (
            [layer for layer in self.layers if self.model.mixer(layer) == kind] for kind in "*M"
        )
        yield from self._tensor("attention", attention)
        yield from self._tensor("recurrence", recurrence)
        yield from self._tensor("feed-forward", dense, shared)
        yield from self._context(attention)
        yield from self._states(recurrence)
        if self.place == 0:
            yield from self._embedding()
        if self.place == one.pp * one.vpp - 1:
            yield from self._logits()
        yield from self._experts(moe)
        yield from self._sends()

    def _again(self, layers: Sequence[int], what: str = "full") -> int:
        """Return how many of the layers recompute a part; these are the first ones of each chunk."""
        one = self.configuration
        if not recomputation_bits(one.recompute) & part_bit(what):
            return 0
        some = self.layers[: one.recompute_layers or None]
        return sum(layer in some for layer in layers)

    def _done(
        self,
        kind: str,
        part: str,
        collective: str,
        size_bytes: int,
        times: tuple[int, int, int],
        groups: Ints | None = None,
        weights: Floats | None = None,
        routing: Routing | None = None,
    ) -> Iterator[Communication]:
        """Yield a collective of both passes.

        Parameters
        ----------
        times
            Repetitions for one micro-batch: forward, backward, and when recomputing.
        groups
            All of this kind on this stage if not given.
        weights, routing
            Weights and routing of an all-to-all.
        """
        if groups is None:
            groups = self.ranks.stage_groups(kind, self.stage)
        if groups.shape[1] < 2 or size_bytes == 0:
            return
        forward, backward, again = times
        backward += again
        for direction, count in (("forward", forward), ("backward", backward)):
            if count:
                yield Communication(
                    kind,
                    part,
                    collective,
                    groups,
                    size_bytes,
                    count * self.configuration.chunk_batches,
                    self.stage,
                    direction,
                    self.chunk,
                    no_weights() if weights is None else weights,
                    routing,
                )

    def _tensor(self, part: str, layers: list[int], shared: Sequence[int] = ()) -> Iterator[Communication]:
        """Yield the collectives of column- and row-parallel pairs of matrices, in layers and in shared experts."""
        size, count = self.activation_bytes, len(layers) + len(shared)
        times = (count, count, self._again(layers) + self._again(shared, "experts"))
        if not self.configuration.sequence_parallel:
            yield from self._done("tp", part, "allreduce", size, times)
            alone = self._inputs_apart(part) * len(layers)
            yield from self._done("tp", f"{part}, input by input", "allreduce", size, (0, alone, 0))
            return
        for collective in ("all-gather", "reduce-scatter"):
            yield from self._done("tp", part, collective, size, times)
        # The input is kept in slices, and gathered once more for the gradients of the weights.
        yield from self._done("tp", f"{part}, input again", "all-gather", size, (0, count, 0))

    def _inputs_apart(self, part: str) -> int:
        """Return the additional AllReduces of a part's input gradients, where adjacent matrices run separately."""
        if part == "attention":
            return 2 * is_apart("queries", self.unfused)
        return int(part == "feed-forward" and self.model.gated and is_apart("gate", self.unfused))

    def _context(self, layers: list[int]) -> Iterator[Communication]:
        """Yield the exchange of keys and values between context parallel ranks."""
        if self.configuration.cp > 1:
            for part, collective, size, times in context_messages(self.model, self.configuration):
                weights = None
                if collective == "all-to-all":
                    weights = np.full((self.configuration.cp,) * 2, 1 / self.configuration.cp)
                forward, backward, again = times
                counts = (forward * len(layers), backward * len(layers), again * self._again(layers))
                yield from self._done("cp", part, collective, size, counts, weights=weights)

    def _states(self, layers: list[int]) -> Iterator[Communication]:
        """Yield the exchange of heads for tokens around a recurrence, so that each rank follows whole sequences."""
        one, recurrence = self.configuration, self.model.recurrence
        if one.cp == 1 or recurrence is None or not layers:
            return
        even = np.full((one.cp, one.cp), 1 / one.cp)
        for part, width in (("into", recurrence.projected), ("out of", recurrence.inner)):
            size = self.tokens * width // one.tp * wire_element_bytes(one.precision)
            counts = (len(layers), len(layers), self._again(layers))
            yield from self._done("cp", f"{part} a recurrence", "all-to-all", size, counts, weights=even)

    def _embedding(self) -> Iterator[Communication]:
        """Yield the sum over the slices of a vocabulary that is split."""
        size = self.activation_bytes
        if not self.configuration.sequence_parallel:
            yield from self._done("tp", "embedding", "allreduce", size, (1, 0, 0))
            return
        # Learned positions are added to whole sums, which are cut after that.
        summed = "allreduce" if self.model.positions else "reduce-scatter"
        yield from self._done("tp", "embedding", summed, size, (1, 0, 0))
        yield from self._done("tp", "embedding", "all-gather", size, (0, 1, 0))

    def _logits(self) -> Iterator[Communication]:
        """Yield the collectives of the split output layer and its cross-entropy: maximum, sum and the target's
        logit."""
        size, often = self.activation_bytes, 1 + self.model.mtp_layers
        if self.configuration.sequence_parallel:
            yield from self._done("tp", "logits", "all-gather", size, (often, often, 0))
            yield from self._done("tp", "logits", "reduce-scatter", size, (0, often, 0))
        else:
            yield from self._done("tp", "logits", "allreduce", size, (0, often, 0))
        if is_apart("logits", self.unfused):  # every rank has the loss of all
            whole = self.activation_bytes // self.model.hidden * self.model.vocabulary
            yield from self._done("tp", "all logits", "all-gather", whole, (often, 0, 0))
            return
        yield from self._done("tp", "loss", "allreduce", 4 * self.tokens, (3 * often, 0, 0))

    def _experts(self, layers: list[int]) -> Iterator[Communication]:
        """Yield the exchanges of routed experts; layers of equal loads are merged.

        Each rank of a tensor-parallel group sends its slice of the tokens. Dispatch and combine are done forward, and
        backward for the gradients. Without sequence parallelism the slices are put together again behind the experts.
        """
        if not layers:
            return
        one, experts = self.configuration, experts_of(self.model)
        if not one.sequence_parallel:
            times = (len(layers), len(layers), self._again(layers, "experts"))
            yield from self._done("tp", "tokens behind experts", "all-gather", self.activation_bytes, times)
        row_of = {layer: row for row, layer in enumerate(self.loads.layers)}
        of_rank = rank_shares(taken_shares(self.loads, experts), one.ep)
        alike: dict[bytes, list[int]] = {}
        for layer in layers:
            alike.setdefault(of_rank[row_of[layer]].tobytes(), []).append(layer)
        for same in alike.values():
            yield from self._expert_layers(of_rank[row_of[same[0]]], same, experts.per_token)

    def _expert_layers(self, share: Floats, layers: list[int], per_token: int) -> Iterator[Communication]:
        one = self.configuration
        times = (len(layers), len(layers), self._again(layers, "experts"))
        width = experts_of(self.model).width or self.model.hidden
        size = round(self.activation_bytes * width / self.model.hidden * per_token / one.tp)
        there = np.tile(share, (one.ep, 1))
        routed = one.exchange == "hierarchical"
        ways = (
            ("dispatch", self._dispatch_bytes(per_token), there),
            ("combine", size, np.ascontiguousarray(there.T)),
        )
        for part, sent, weights in ways:
            routing = Routing(experts_of(self.model), part == "combine") if routed else None
            yield from self._done("ep", part, "all-to-all", sent, times, weights=weights, routing=routing)
        if one.etp == 1:
            return
        # An expert that is cut needs the tokens of all ranks that hold a part of it.
        by_size: dict[int, list[int]] = {}
        for index, part_of in enumerate(share.tolist()):
            by_size.setdefault(round(one.etp * one.ep * size * part_of), []).append(index)
        groups = self.ranks.stage_groups("etp", self.stage)
        place = np.arange(len(groups)) % one.ep  # they are in the order (expert-dp, ep)
        for whole, indices in by_size.items():
            some = groups[np.isin(place, indices)]
            for collective in ("all-gather", "reduce-scatter"):
                yield from self._done("tp", "experts", collective, whole, times, some)

    def _dispatch_bytes(self, per_token: int) -> int:
        """Return the bytes of a rank's tokens sent to experts, including the scales of low precisions."""
        one = self.configuration
        element = float(wire_element_bytes(one.precision))
        if one.dispatch:
            element = DISPATCH_BYTES[one.dispatch]
        width = experts_of(self.model).width or self.model.hidden
        return round(self.tokens * width * element * per_token / one.tp)

    def _sends(self) -> Iterator[Communication]:
        """Yield the activations to the next chunk and the gradients to the one before."""
        one, chunk = self.configuration, self.chunk
        if one.pp == 1:
            return
        whole = is_apart("sends", self.unfused)
        size = self.activation_bytes // int(sent_slices(one.tp, one.sequence_parallel, whole))
        ways = (("forward", 1, "activations"), ("backward", -1, "gradients of activations"))
        for direction, step, part in ways:
            if 0 <= self.place + step < one.pp * one.vpp:
                here, there = (self.ranks.dense[one.stage_of(c)].ravel() for c in (chunk, chunk + step))
                pairs = np.stack([here, there], axis=1)
                yield Communication(
                    "pp", part, "send", pairs, size, one.chunk_batches, self.stage, direction, chunk
                )


def context_messages(
    model: TransformerModel, configuration: Configuration
) -> Iterator[tuple[str, str, int, Times]]:
    """Yield description, collective, bytes, and repetitions.

    ``ring``: keys and values go around once forward, and once backward with their gradients beside them (Liu 2023).
    ``ulysses``: tokens of all heads are exchanged for all tokens of some heads before the core, and back behind it
    (Jacobs 2023). ``all-gather``: every rank gathers keys and values, backward once more (Llama 3, section 3.3.2).
    """
    bits = recomputation_bits(configuration.recompute)
    again = 1 if bits & part_bit("core") and not bits & FULL else 0
    yield from {"ring": _ring, "ulysses": _exchanges, "all-gather": _gathers}[configuration.context](
        model, configuration, again
    )


def _ring(model: TransformerModel, one: Configuration, again: int) -> Iterator[tuple[str, str, int, Times]]:
    size, hops = _tokens_bytes(one) * sum(_key_widths(model, one)), one.cp - 1
    yield "keys and values", "ring-exchange", size, (hops, hops * (1 + again), hops)
    yield "gradients of keys and values", "ring-exchange", size, (0, hops, 0)


def _exchanges(
    model: TransformerModel, one: Configuration, again: int
) -> Iterator[tuple[str, str, int, Times]]:
    """Heads of keys and values are repeated where there are fewer than ranks."""
    keys, values = _key_widths(model, one, one.cp)
    queries, output = (model.heads // one.tp * width for width in model.head_widths)
    for part, width in (
        ("queries", queries),
        ("keys", keys),
        ("values", values),
        ("output of the core", output),
    ):
        yield part, "all-to-all", _tokens_bytes(one) * width, (1, 1 + again, 1)


def _gathers(
    model: TransformerModel, one: Configuration, again: int
) -> Iterator[tuple[str, str, int, Times]]:
    size = _tokens_bytes(one) * sum(_key_widths(model, one)) * one.cp
    yield "keys and values", "all-gather", size, (1, 1 + again, 1)
    yield "gradients of keys and values", "reduce-scatter", size, (0, 1, 0)


def _tokens_bytes(one: Configuration) -> int:
    """Return the bytes that the tokens of a rank have of one channel."""
    return one.micro_batch * one.sequence // one.cp * wire_element_bytes(one.precision)


def _key_widths(model: TransformerModel, one: Configuration, least: int = 1) -> tuple[int, int]:
    """Return the channels of keys and of values that a tensor parallel rank has; latent ones are expanded."""
    count = model.heads if model.latent is not None else model.kv_heads
    heads = max(count // one.tp, least)
    of_key, of_value = model.head_widths
    return heads * of_key, heads * of_value


def sent_slices(
    tp: Floats | Ints | int, sequence_parallel: Bools | Ints | bool, whole: Bools | bool
) -> Floats | Ints | int:
    """Return the number of ranks that share the transfers between stages; all arguments may be columns.

    Parameters
    ----------
    whole
        Whether every rank sends all that it has.

    Examples
    --------
    >>> sent_slices(8, False, False), int(sent_slices(8, False, True)), int(sent_slices(8, True, True))
    (8, 1, 8)
    """
    if not np.any(whole):
        return tp
    return np.where(np.logical_and(whole, np.logical_not(sequence_parallel)), 1, tp)
