"""Shards: the part of the weights that every accelerator holds, before and after a transfer."""

from dataclasses import dataclass
from math import lcm

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.inference import Parallelism
from topoopt.transformers import Configuration, rank_numbers


@dataclass(frozen=True, slots=True, eq=False)
class Shards:
    """Layers are cut into stages and each layer into slices; every accelerator holds one slice of one stage.

    Attributes
    ----------
    stages, slices : int
    """

    stage: Ints
    slice: Ints
    stages: int
    slices: int

    @property
    def accelerators(self) -> int:
        """Number of accelerators."""
        return len(self.stage)

    @property
    def copies(self) -> int:
        """Number of full copies of the weights."""
        return self.accelerators // (self.stages * self.slices)

    def holders(self) -> Ints:
        """Return the holder of each slice, shape (stages, slices, copies), in order of number."""
        order = np.lexsort((self.slice, self.stage))
        return order.reshape(self.stages, self.slices, self.copies)


def training_shards(configuration: Configuration, of_experts: bool = False) -> Shards:
    """Return the shards of training: tensor and pipeline parallel; those of experts by the experts' own degrees."""
    ranks = rank_numbers(configuration)
    grid = ranks.expert if of_experts else ranks.dense
    if not of_experts:  # replicas and parts of a sequence hold the same
        grid = grid.reshape(configuration.pp, configuration.dp * configuration.cp, configuration.tp)
    else:
        grid = grid.reshape(configuration.pp, configuration.expert_dp, configuration.ep * configuration.etp)
    stage, piece = np.empty(grid.size, np.int64), np.empty(grid.size, np.int64)
    places = np.indices(grid.shape)
    stage[grid], piece[grid] = places[0], places[2]
    return Shards(stage, piece, grid.shape[0], grid.shape[2])


def rollout_shards(parallelism: Parallelism, replicas: int, of_experts: bool = False) -> Shards:
    """Return the shards of consecutive replicas, each with consecutive stages."""
    number = np.arange(replicas * parallelism.accelerators)
    inside = number % parallelism.accelerators
    stage, place = np.divmod(inside, parallelism.stage_accelerators)
    slices = parallelism.expert * parallelism.expert_tensor if of_experts else parallelism.tensor
    return Shards(stage, place % slices, parallelism.pipeline, slices)


def nested_shards(training: Shards, stages: int, slices: int) -> Shards | None:
    """Return rollout shards that include their accelerator's training shard; None where degrees do not divide.

    Accelerators that train neighboring slices, not those with neighboring numbers, then make different replicas
    (HybridFlow, EuroSys 2025, section 5.3).
    """
    if training.stages % stages or training.slices % slices:
        return None
    stage = training.stage // (training.stages // stages)
    return Shards(stage, training.slice // (training.slices // slices), stages, slices)


def missing_bytes(held: Shards, needed: Shards, size_bytes: float) -> Floats:
    """Return the missing bytes of every accelerator's new shard, shape (accelerators,): shard less intersection."""
    same = _overlap(held.stage, held.stages, needed.stage, needed.stages)
    same *= _overlap(held.slice, held.slices, needed.slice, needed.slices)
    whole = 1.0 / (needed.stages * needed.slices)
    return (whole - same) * size_bytes


def _overlap(one: Ints, ones: int, other: Ints, others: int) -> Floats:
    """Return the fraction of the whole that two pieces of two partitions share."""
    grid = lcm(ones, others)
    first = np.maximum(one * (grid // ones), other * (grid // others))
    end = np.minimum((one + 1) * (grid // ones), (other + 1) * (grid // others))
    return np.asarray(np.maximum(end - first, 0) / grid)


def in_place_bytes(training_shards: int, rollout_shards: int, size_bytes: float) -> float:
    """Return the bytes received per accelerator where its training shard is part of its new one, in closed form.

    (t·p − t_g·p_g) / (t_g·p_g·t·p) · M, see [1]_.

    Parameters
    ----------
    training_shards, rollout_shards
        t·p and t_g·p_g.

    References
    ----------
    .. [1] G. Sheng et al., "HybridFlow: A Flexible and Efficient RLHF Framework", EuroSys 2025, Table 2.

    Examples
    --------
    Weights of 16 GB over 8, brought together to 2 on each: 8 GB less the 2 GB that are there.

    >>> in_place_bytes(8, 2, 16e9)
    6000000000.0
    """
    return (training_shards - rollout_shards) / (rollout_shards * training_shards) * size_bytes


def point_to_point(
    held: Shards,
    needed: Shards,
    size_bytes: float,
    servers_of_held: Ints,
    servers_of_needed: Ints,
    servers: int,
    once_a_server: bool = True,
) -> Floats:
    """Return the bytes between servers when every accelerator gets its missing bytes from a holder.

    A holder in its own server comes first, the others take turns.

    Parameters
    ----------
    servers_of_held, servers_of_needed : arrays (accelerators,) of int
        Servers of the accelerators that hold and that need weights; transfers within a server are on the diagonal.
    once_a_server
        Whether a piece that several accelerators of a server need comes there once, and is handed on inside.

    Returns
    -------
    array (servers, servers) of float
    """
    stages, slices = lcm(held.stages, needed.stages), lcm(held.slices, needed.slices)
    deep, wide = stages // needed.stages, slices // needed.slices
    number = np.arange(needed.accelerators)
    cell_stage = (needed.stage * deep)[:, None, None] + np.arange(deep)[None, :, None]
    cell_slice = (needed.slice * wide)[:, None, None] + np.arange(wide)[None, None, :]
    cell_stage, cell_slice = np.broadcast_arrays(cell_stage, cell_slice)
    receiver = np.broadcast_to(number[:, None, None], cell_stage.shape).ravel()
    cell_stage, cell_slice = cell_stage.ravel(), cell_slice.ravel()
    target = servers_of_needed[receiver]
    if once_a_server:
        keys = (target * stages + cell_stage) * slices + cell_slice
        _, first = np.unique(keys, return_index=True)
        receiver, cell_stage, cell_slice, target = (
            part[first] for part in (receiver, cell_stage, cell_slice, target)
        )
    holders = held.holders()[cell_stage // (stages // held.stages), cell_slice // (slices // held.slices)]
    near = servers_of_held[holders] == target[:, None]
    turn = receiver % held.copies if not once_a_server else target % held.copies
    chosen = np.where(near.any(axis=1), near.argmax(axis=1), turn)
    source = servers_of_held[holders[np.arange(len(holders)), chosen]]
    matrix = np.zeros((servers, servers))
    np.add.at(matrix, (source, target), size_bytes / (stages * slices))
    return matrix
