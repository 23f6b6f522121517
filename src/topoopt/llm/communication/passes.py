"""What goes with the passes of micro-batches through a chunk: tensor, context, expert and pipeline parallelism."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from topoopt.llm.columns import Floats, Ints
from topoopt.llm.communication.message import Communication, no_weights, wire_element_bytes
from topoopt.llm.communication.ranks import Ranks
from topoopt.llm.communication.token_matrix import rank_shares, taken_shares
from topoopt.llm.configuration import Configuration
from topoopt.llm.experts.loads import ExpertLoads, experts_of
from topoopt.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class _Operation:
    """A collective by how often it is done for one micro-batch: forward, backward, and when recomputing.

    ``weights`` are those of an all-to-all, ``only`` the rows of the group array that take part (empty for all).
    """

    kind: str
    part: str
    collective: str
    group: str
    message_bytes: int
    forward: int
    backward: int
    again: int = 0
    weights: Floats = field(default_factory=no_weights)
    only: tuple[int, ...] = ()


@dataclass(frozen=True, eq=False)
class Passes:
    """A model and its configuration, with the sizes that all chunks share."""

    model: TransformerModel
    configuration: Configuration
    ranks: Ranks
    loads: ExpertLoads

    @property
    def tokens(self) -> int:
        """Tokens of a micro-batch on one context-parallel rank."""
        return self.configuration.micro_batch * self.configuration.sequence // self.configuration.cp

    @property
    def activation_bytes(self) -> int:
        """Hidden states of these tokens: b·s·h numbers."""
        return self.tokens * self.model.hidden * wire_element_bytes(self.configuration.precision)

    def chunk(self, chunk: int, layers: range) -> Iterator[Communication]:
        """Yield what goes with the passes through one chunk."""
        one = self.configuration
        stage, last = chunk % one.pp, chunk == one.pp * one.vpp - 1
        dense = [layer for layer in layers if not self.model.is_moe(layer)]
        moe = [layer for layer in layers if self.model.is_moe(layer)]
        shared = self.model.experts is not None and self.model.experts.shared_ffn > 0
        split = len(dense) + (len(moe) if shared else 0)
        operations = [
            *self._tensor("attention", len(layers)),
            *self._tensor("feed-forward", split),
            *self._context(len(layers)),
            *(self._embedding() if chunk == 0 else ()),
            *(self._logits() if last else ()),
            *self._experts(moe),
        ]
        for operation in operations:
            yield from self._counted(operation, chunk, stage)
        yield from self._sends(chunk)

    def _tensor(self, part: str, layers: int) -> Iterator[_Operation]:
        """Yield the collectives of column- and row-parallel pairs of matrices."""
        if not self.configuration.sequence_parallel:
            yield _Operation("tp", part, "allreduce", "tp", self.activation_bytes, layers, layers, layers)
            return
        for collective in ("all-gather", "reduce-scatter"):
            yield _Operation("tp", part, collective, "tp", self.activation_bytes, layers, layers, layers)
        # The input is kept in slices, and gathered once more for the gradients of the weights.
        yield _Operation("tp", f"{part}, input again", "all-gather", "tp", self.activation_bytes, 0, layers)

    def _context(self, layers: int) -> Iterator[_Operation]:
        """Yield the ring of keys and values: forward around once, backward once with their gradients beside them."""
        one, model = self.configuration, self.model
        heads = max(model.kv_heads // one.tp, 1)
        width = heads * 2 * model.head_dim
        if model.latent is not None:
            latent = model.latent
            width = (
                model.heads // one.tp * (latent.nope_head_dim + latent.rope_head_dim + latent.value_head_dim)
            )
        size = self.tokens * width * wire_element_bytes(one.precision)
        hops = (one.cp - 1) * layers
        again = hops if one.recompute == "selective" else 0
        yield _Operation("cp", "keys and values", "ring-exchange", "cp", size, hops, hops + again, hops)
        yield _Operation("cp", "gradients of keys and values", "ring-exchange", "cp", size, 0, hops)

    def _embedding(self) -> Iterator[_Operation]:
        """Yield the sum over the slices of a vocabulary that is split."""
        size = self.activation_bytes
        if not self.configuration.sequence_parallel:
            yield _Operation("tp", "embedding", "allreduce", "tp", size, 1, 0)
            return
        # Learned positions are added to whole sums, which are cut after that.
        summed = "allreduce" if self.model.positions else "reduce-scatter"
        yield _Operation("tp", "embedding", summed, "tp", size, 1, 0)
        yield _Operation("tp", "embedding", "all-gather", "tp", size, 0, 1)

    def _logits(self) -> Iterator[_Operation]:
        """Yield what the split output layer and its cross-entropy need: maximum, sum and the target's logit."""
        if self.configuration.sequence_parallel:
            yield _Operation("tp", "logits", "all-gather", "tp", self.activation_bytes, 1, 1)
            yield _Operation("tp", "logits", "reduce-scatter", "tp", self.activation_bytes, 0, 1)
        else:
            yield _Operation("tp", "logits", "allreduce", "tp", self.activation_bytes, 0, 1)
        yield _Operation("tp", "loss", "allreduce", "tp", 4 * self.tokens, 3, 0)

    def _experts(self, layers: list[int]) -> Iterator[_Operation]:
        """Yield what routed experts need; layers of equal loads together.

        Each rank of a tensor-parallel group sends its slice of the tokens. Dispatch and combine are done forward, and
        backward for the gradients. Without sequence parallelism the slices are put together again behind the experts.
        """
        if not layers:
            return
        one, experts = self.configuration, experts_of(self.model)
        if not one.sequence_parallel:
            count = len(layers)
            yield _Operation(
                "tp", "tokens behind experts", "all-gather", "tp", self.activation_bytes, count, count, count
            )
        row_of = {layer: row for row, layer in enumerate(self.loads.layers)}
        of_rank = rank_shares(taken_shares(self.loads, experts), one.ep)
        alike: dict[bytes, list[int]] = {}
        for layer in layers:
            alike.setdefault(of_rank[row_of[layer]].tobytes(), []).append(layer)
        for same in alike.values():
            yield from self._expert_layers(of_rank[row_of[same[0]]], len(same), experts.per_token)

    def _expert_layers(self, share: Floats, count: int, per_token: int) -> Iterator[_Operation]:
        one = self.configuration
        size = round(self.activation_bytes * per_token / one.tp)
        there = np.tile(share, (one.ep, 1))
        for part, weights in (("dispatch", there), ("combine", np.ascontiguousarray(there.T))):
            yield _Operation("ep", part, "all-to-all", "ep", size, count, count, count, weights)
        if one.etp == 1:
            return
        # An expert that is cut needs the tokens of all ranks that hold a part of it.
        by_size: dict[int, list[int]] = {}
        for index, part_of in enumerate(share.tolist()):
            by_size.setdefault(round(one.etp * one.ep * size * part_of), []).append(index)
        for whole, indices in by_size.items():
            for collective in ("all-gather", "reduce-scatter"):
                yield _Operation(
                    "tp", "experts", collective, "etp", whole, count, count, count, only=tuple(indices)
                )

    def _counted(self, operation: _Operation, chunk: int, stage: int) -> Iterator[Communication]:
        groups = self._groups(operation, stage)
        if groups.shape[1] < 2 or operation.message_bytes == 0:
            return
        one = self.configuration
        again = operation.again if one.recompute == "full" else 0
        for direction, times in (("forward", operation.forward), ("backward", operation.backward + again)):
            if times:
                yield Communication(
                    operation.kind,
                    operation.part,
                    operation.collective,
                    groups,
                    operation.message_bytes,
                    times * one.micro_batches,
                    stage,
                    direction,
                    chunk,
                    operation.weights,
                )

    def _groups(self, operation: _Operation, stage: int) -> Ints:
        groups = self.ranks.stage_groups(operation.group, stage)
        if not operation.only:
            return groups
        # Groups of one expert tensor dimension are in the order (expert-dp, ep).
        place = np.arange(len(groups)) % self.configuration.ep
        return groups[np.isin(place, operation.only)]

    def _sends(self, chunk: int) -> Iterator[Communication]:
        """Yield the activations to the next chunk and the gradients to the one before."""
        one = self.configuration
        if one.pp == 1:
            return
        size = self.activation_bytes // (one.tp if one.sequence_parallel else 1)
        for direction, other in (("forward", chunk + 1), ("backward", chunk - 1)):
            if 0 <= other < one.pp * one.vpp:
                here, there = (self.ranks.dense[c % one.pp].ravel() for c in (chunk, other))
                pairs = np.stack([here, there], axis=1)
                part = "activations" if direction == "forward" else "gradients of activations"
                yield Communication(
                    "pp", part, "send", pairs, size, one.micro_batches, chunk % one.pp, direction, chunk
                )
