"""The weights of one step: which shards are where before and after, and the move that this makes necessary."""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.catalog import BYTES_PER_ELEMENT
from topoopt.inference import Parallelism
from topoopt.reinforcement.shards import Shards, nested_shards, rollout_shards, training_shards
from topoopt.reinforcement.weight_move import WeightMove
from topoopt.transformers import Configuration
from topoopt.workloads.transformer import TransformerModel, count_parameters


@dataclass(frozen=True, slots=True)
class Places:
    """Where the pools are: those that train stand first, those that answer behind them, or on the same ones.

    Attributes
    ----------
    training, rollout : int
        Accelerators of each.
    accelerators_per_server : int
    disjoint : bool
    """

    training: int
    rollout: int
    accelerators_per_server: int
    disjoint: bool

    @property
    def servers_of_training(self) -> Ints:
        """The server of each that trains."""
        return np.arange(self.training) // self.accelerators_per_server

    @property
    def servers_of_rollout(self) -> Ints:
        """The server of each that answers."""
        first = self.training if self.disjoint else 0
        return (first + np.arange(self.rollout)) // self.accelerators_per_server

    @property
    def servers(self) -> int:
        """Of all pools."""
        return int(max(self.servers_of_training[-1], self.servers_of_rollout[-1])) + 1


def weight_bytes(model: TransformerModel, precision: str) -> tuple[float, float]:
    """Return the bytes of all parameters but those of experts, and of these, in the rollout's precision.

    Who sends 8 bits casts before.
    """
    count = count_parameters(model)
    each = BYTES_PER_ELEMENT[precision]
    return (count.total - count.experts) * each, count.experts * each


def weight_moves(
    model: TransformerModel,
    precision: str,
    training: Configuration,
    rollout: Parallelism,
    replicas: int,
    places: Places,
) -> tuple[WeightMove, ...]:
    """Return the moves that are possible: replicas of neighbors, and in place also of those whose shards nest."""
    dense_bytes, expert_bytes = weight_bytes(model, precision)
    sizes = [(dense_bytes, False)] + [(expert_bytes, True)] * (expert_bytes > 0)
    held = [training_shards(training, of_experts) for _, of_experts in sizes]
    plain = [rollout_shards(rollout, replicas, of_experts) for _, of_experts in sizes]
    choices = [plain]
    if not places.disjoint:
        nested = [nested_shards(mine, one.stages, one.slices) for mine, one in zip(held, plain, strict=True)]
        whole = [one for one in nested if one is not None]
        choices += [whole] * (len(whole) == len(held))
    return tuple(_move(sizes, held, needed, places) for needed in choices)


def _move(
    sizes: list[tuple[float, bool]], held: list[Shards], needed: list[Shards], places: Places
) -> WeightMove:
    parts = tuple((size, mine, wanted) for (size, _), mine, wanted in zip(sizes, held, needed, strict=True))
    return WeightMove(parts, places.servers_of_training, places.servers_of_rollout, places.servers)
