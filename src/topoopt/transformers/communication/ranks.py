"""Ranks: their order, their groups and servers, and the parameters that each of them holds."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput, check_known
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.degrees import trained_layers
from topoopt.workloads.transformer import (
    LayerParameters,
    TransformerModel,
    adapter_parameters,
    layer_kinds,
    layer_parameters,
)


@dataclass(frozen=True, slots=True)
class RankParameters:
    """Parameters on one rank of a stage.

    Attributes
    ----------
    dense, experts : tuple of int
        Parameters of each layer of the stage: without the routed experts, and of the routed experts.
    embedding : int
        The share of the token embedding that the first stage, and a last one that is tied to it, has.
    others : int
        Position embedding on the first stage; last norm, output layer and other non-layer parameters on the last.
    replicated : int
        The part of ``dense`` and of the last norm that all ranks of a tensor-parallel group hold whole, and whose
        gradients sequence parallelism leaves unsummed: norms, router, biases after a sum, projections down.
    """

    dense: tuple[int, ...]
    experts: tuple[int, ...]
    embedding: int
    others: int
    replicated: int

    @property
    def all_dense(self) -> int:
        """Everything but routed experts."""
        return sum(self.dense) + self.embedding + self.others

    @property
    def total(self) -> int:
        """Everything."""
        return self.all_dense + sum(self.experts)


@dataclass(frozen=True, eq=False)
class Places:
    """Places of ranks, each array of shape (ranks,).

    Attributes
    ----------
    server, replica : int64 arrays
        ``replica`` is the data-parallel index.
    """

    server: Ints
    replica: Ints


@dataclass(frozen=True, slots=True)
class ServerGroup:
    """Groups of ranks with equal replicas and equal servers, as one.

    Attributes
    ----------
    replicas, members : tuples of int
        ``members`` are servers; one if the groups lie inside it.
    groups : int
        Number of these groups of ranks.
    ranks, inside, fewest : int
        Ranks of one of them: all, those on the server that has most, and on the one that has fewest.
    """

    replicas: tuple[int, ...]
    members: tuple[int, ...]
    groups: int
    ranks: int
    inside: int
    fewest: int


@dataclass(frozen=True, eq=False)
class ServerPairs:
    """A :class:`ServerGroup` exchanging in pairs: ``pair_bytes`` from each member to each, zero for itself.

    ``ranks`` is the number of ranks taking part on each of the members.
    """

    replicas: tuple[int, ...]
    members: tuple[int, ...]
    pair_bytes: Floats
    ranks: Ints


ORDER = "tp-cp-ep-dp-pp"
"""The order that Megatron-LM takes by default; the first dimension changes fastest."""
GROUP_KINDS = ("tp", "cp", "dp", "etp", "ep", "expert-dp", "pp", "embedding")
"""Kinds of groups: ``dp`` sums gradients other than of experts (dp·cp ranks), ``expert-dp`` those of experts."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """The ranks of a configuration, twice: by the dimensions of the dense part and by those of the experts.

    Attributes
    ----------
    dense : int64 array, shape (pp, dp, cp, tp)
    expert : int64 array, shape (pp, expert_dp, ep, etp)
        The same ranks by experts; a stage has the same ones in both.
    """

    dense: Ints
    expert: Ints

    def groups(self, kind: str) -> Ints:
        """Return all groups of a kind, shape (groups, size); every rank is in exactly one, see :data:`GROUP_KINDS`.

        Members are in the order of the dimension: a pipeline group begins with the first stage. Only ranks of the
        first and the last stage are in an embedding group.
        """
        check_known("group", kind, GROUP_KINDS)
        if kind == "embedding":
            return self.stage_groups("pp")[:, :: max(len(self.dense) - 1, 1)]
        stages = range(1 if kind == "pp" else len(self.dense))
        return np.concatenate([self.stage_groups(kind, stage) for stage in stages])

    def stage_groups(self, kind: str, stage: int = 0) -> Ints:
        """Return the groups of one stage, shape (groups, size); of ``pp`` all groups, whatever the stage."""
        stages, dense, expert = len(self.dense), self.dense, self.expert
        if kind == "pp":
            return np.ascontiguousarray(dense.reshape(stages, -1).T)
        if kind in ("etp", "ep", "expert-dp"):
            axis = {"etp": 2, "ep": 1, "expert-dp": 0}[kind]
            return _lines(expert[stage], axis)
        if kind == "dp":
            return np.ascontiguousarray(dense[stage].reshape(-1, dense.shape[3]).T)
        return _lines(dense[stage], {"tp": 2, "cp": 1}[kind])


def rank_numbers(configuration: Configuration, order: str = ORDER) -> Ranks:
    """Return the ranks of a configuration.

    Within a stage the ranks are numbered by the order without ``pp``, once with the degrees tp, cp, dp and once, for
    the experts, with etp, ep and expert-dp in the places of tp, ep and dp.

    Raises
    ------
    InvalidInput
        If ``order`` is not tp, cp, ep, dp and pp, each once, or the experts' degrees do not divide a stage.

    Examples
    --------
    >>> ranks = rank_numbers(Configuration(tp=2, pp=2, dp=2, global_batch=8, sequence=8))
    >>> ranks.groups("tp").tolist(), ranks.groups("dp").tolist()
    ([[0, 1], [2, 3], [4, 5], [6, 7]], [[0, 2], [1, 3], [4, 6], [5, 7]])
    """
    words, one = order.split("-"), configuration
    if sorted(words) != sorted(ORDER.split("-")):
        raise InvalidInput(
            f'order: expected tp, cp, ep, dp and pp, each once, fastest first, such as {ORDER}; got "{order}"'
        )
    in_stage = one.tp * one.cp * one.dp
    if in_stage % (one.ep * one.etp):
        raise InvalidInput(
            f"ep: ep·etp = {one.ep * one.etp} must divide the tp·cp·dp = {in_stage} ranks of a stage"
        )
    sizes = {"tp": one.tp, "cp": one.cp, "dp": one.dp, "pp": one.pp}
    dense = _grid([word for word in words if word != "ep"], sizes, ("pp", "dp", "cp", "tp"))
    # Ranks of a stage in rising order, whatever the place of pp in the order.
    stages = np.sort(dense.reshape(one.pp, -1), axis=1)
    inside = _grid(
        [word for word in words if word not in ("cp", "pp")],
        {"tp": one.etp, "ep": one.ep, "dp": one.expert_dp},
        ("dp", "ep", "tp"),
    )
    return Ranks(dense, stages[:, inside])


def place_ranks(accelerators: int, per_server: int, slots: Sequence[int] | Ints | None = None) -> Ints:
    """Return the server of each rank, shape (accelerators,).

    Parameters
    ----------
    slots : integers, optional
        The accelerator on which each rank runs; accelerator a is in server ``a // per_server``. In order if not given.

    Raises
    ------
    InvalidInput
        If ``slots`` is not each of ``0..accelerators-1`` once.

    Examples
    --------
    >>> place_ranks(4, 2).tolist(), place_ranks(4, 2, [0, 2, 1, 3]).tolist()
    ([0, 0, 1, 1], [0, 1, 0, 1])
    """
    if accelerators < 1 or per_server < 1:
        raise InvalidInput(
            f"ranks: accelerators and accelerators per server must be >= 1, got {accelerators} and {per_server}"
        )
    places = np.arange(accelerators) if slots is None else np.asarray(slots, np.int64)
    if not np.array_equal(np.sort(places), np.arange(accelerators)):
        raise InvalidInput(
            f"ranks: slots must hold each of 0..{accelerators - 1} once, got {len(places)} numbers"
        )
    return places // per_server


def _grid(words: Sequence[str], sizes: dict[str, int], axes: Sequence[str]) -> Ints:
    """Number the points of a grid, the first axis fastest, and return it with the axes in the given order."""
    slowest_first = list(reversed(words))
    shape = [sizes[word] for word in slowest_first]
    numbers = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    return np.ascontiguousarray(numbers.transpose([slowest_first.index(word) for word in axes]))


def _lines(grid: Ints, axis: int) -> Ints:
    return np.ascontiguousarray(np.moveaxis(grid, axis, -1).reshape(-1, grid.shape[axis]))


def server_groups(groups: Ints, places: Places, *, across: bool) -> tuple[ServerGroup, ...]:
    """Return groups of ranks, shape (groups, size), as groups of servers; with ``across``, only those over servers."""
    size, found = groups.shape[1], []
    for key, rows in _by_servers(_spanning(groups, places) if across else groups, places).items():
        counts = [np.bincount(index) for index, _ in rows]
        ranks = int(np.max(counts)), int(np.min(counts))
        found.append(ServerGroup(*key, sum(count for _, count in rows), size, *ranks))
    return tuple(found)


def server_pairs(groups: Ints, between: Callable[[Ints], Floats], places: Places) -> tuple[ServerPairs, ...]:
    """Return the bytes between servers; groups of ranks placed alike share their arrays.

    Parameters
    ----------
    between
        Returns the bytes from each server to each, from the place of each group member among its servers.
    """
    known: dict[tuple[tuple[int, int], ...], tuple[Floats, Ints]] = {}
    pairs = []
    for key, rows in _by_servers(_spanning(groups, places), places).items():
        alike = tuple((id(index), count) for index, count in rows)
        if alike not in known:
            each = [(between(index), np.bincount(index)) for index, count in rows for _ in range(count)]
            matrix, ranks = (np.sum(column, axis=0) for column in zip(*each, strict=True))
            np.fill_diagonal(matrix, 0.0)
            known[alike] = matrix, ranks
        pairs.append(ServerPairs(*key, *known[alike]))
    return tuple(pairs)


def _by_servers(
    groups: Ints, places: Places
) -> dict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[Ints, int]]]:
    """Return the replicas and servers that groups of ranks, shape (groups, size), are on.

    Each with the place of every rank among its servers, and how many groups are placed so. Groups that differ from
    others by a number of servers and of replicas only are looked at once.
    """
    if not len(groups):
        return {}
    both = places.server[groups], places.replica[groups]
    least = [column.min(axis=1, keepdims=True) for column in both]
    moved = np.concatenate([column - first for column, first in zip(both, least, strict=True)], axis=1)
    kinds, kind = np.unique(moved, axis=0, return_inverse=True)
    shapes = [
        (*np.unique(servers, return_inverse=True), np.unique(replicas))
        for servers, replicas in (np.split(row, 2) for row in kinds)
    ]
    rows, first, count = np.unique(
        np.column_stack((kind.ravel(), *least)), axis=0, return_index=True, return_counts=True
    )
    found: dict[tuple[tuple[int, ...], tuple[int, ...]], list[tuple[Ints, int]]] = defaultdict(list)
    for place in np.argsort(first, kind="stable"):
        which, server, replica = rows[place].tolist()
        members, index, replicas = shapes[which]
        key = tuple((replica + replicas).tolist()), tuple((server + members).tolist())
        found[key].append((index, int(count[place])))
    return found


def _spanning(groups: Ints, places: Places) -> Ints:
    rows: Ints = groups[np.ptp(places.server[groups], axis=1) > 0]
    return rows


def rank_parameters(model: TransformerModel, configuration: Configuration, stage: int) -> RankParameters:
    """Return the parameters on one rank of a stage, as Megatron-LM splits them.

    Matrices are split over tp, biases of the columns with them; norms, the biases of sums, positions and the router
    are whole on every rank. Where there are fewer heads of keys and values than tp, they are repeated. A vocabulary
    that tp does not divide is filled up.

    Examples
    --------
    >>> from topoopt.workloads.transformer import find_transformer
    >>> one = Configuration(tp=8, pp=1, dp=1, global_batch=1, sequence=2048)
    >>> rank_parameters(find_transformer("llama2-7b"), one, 0).total
    842534912
    """
    pp, tp = configuration.pp, configuration.tp
    chunks = trained_layers(model, pp * configuration.vpp)
    layers = [layer for chunk in chunks[stage::pp] for layer in chunk]
    of_layer = {
        layer: (kind.model, layer_parameters(kind.model, kind.is_moe))
        for kind in layer_kinds(model)
        for layer in kind.layers
    }
    rows = [of_layer[layer] for layer in layers]
    table, norm = -(-model.vocabulary // tp) * model.hidden, model.norm_parameters
    first, last = stage == 0, stage == pp - 1
    others = model.positions * model.hidden * first
    if last:
        others += norm + model.extra_parameters + (0 if model.tied else table)
        others += model.mtp_layers * (2 * model.hidden**2 // tp + 3 * norm)
    return RankParameters(
        dense=tuple(_dense(kind, row, tp) for kind, row in rows),
        experts=tuple(_experts(kind, row, configuration) for kind, row in rows),
        embedding=table if first or (last and model.tied) else 0,
        others=others,
        replicated=sum(_whole(kind, row) for kind, row in rows) + norm * last,
    )


def _dense(model: TransformerModel, layer: LayerParameters, tp: int) -> int:
    whole = _whole(model, layer)
    split = layer.total - layer.experts - whole
    repeated = 0
    if model.mixer(0) == "*" and model.latent is None and tp > model.kv_heads:
        one_head = 2 * model.head_dim * (model.hidden + model.attention_bias)
        repeated = one_head * (tp - model.kv_heads)
    return whole + (split + repeated) // tp


def _whole(model: TransformerModel, layer: LayerParameters) -> int:
    """Return the parameters outside experts that every tensor-parallel rank holds whole."""
    parts = (layer.mlp > 0) + (layer.shared > 0)
    gate = model.hidden * (layer.shared > 0 and model.experts is not None and model.experts.shared_gate)
    return layer.replicated + model.hidden * model.mlp_bias * parts + gate


def _experts(model: TransformerModel, layer: LayerParameters, configuration: Configuration) -> int:
    if layer.experts == 0:
        return 0
    assert model.experts is not None
    bias = (model.experts.width or model.hidden) * model.mlp_bias
    one = bias + (layer.one_expert - bias) // configuration.etp
    return layer.experts // layer.one_expert // configuration.ep * one


def trained_parameters(model: TransformerModel, configuration: Configuration, stage: int) -> RankParameters:
    """Return the parameters on one rank of a stage that have gradients: those of adapters, or without any, all."""
    rank = configuration.adapter_rank
    if rank == 0:
        return rank_parameters(model, configuration, stage)
    chunks = trained_layers(model, configuration.pp * configuration.vpp)
    layers = [layer for chunk in chunks[stage :: configuration.pp] for layer in chunk]
    of_layer = {
        layer: adapter_parameters(kind.model, kind.is_moe, configuration.adapters)
        for kind in layer_kinds(model)
        for layer in kind.layers
    }
    rows = [of_layer[layer] for layer in layers]
    ep, etp, tp = configuration.ep, configuration.etp, configuration.tp
    return RankParameters(
        dense=tuple(rank * (row.whole + row.split // tp) for row in rows),
        experts=tuple(rank * (row.expert_whole + row.expert_split // etp) // ep for row in rows),
        embedding=0,
        others=0,
        replicated=rank * sum(row.whole for row in rows),
    )
