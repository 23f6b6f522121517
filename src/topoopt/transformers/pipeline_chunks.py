"""Chunks of a pipeline: durations of their passes, and the exchanges between servers that go with these."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.communication.message import Communication
from topoopt.transformers.communication.ranks import (
    Places,
    ServerGroup,
    ServerPairs,
    server_groups,
    server_pairs,
)
from topoopt.transformers.configuration import Configuration, part_bit, recomputation_bits
from topoopt.transformers.configuration_table import configuration_table
from topoopt.transformers.degrees import ends_count_as_layers, trained_layers
from topoopt.transformers.expert_loads import ExpertLoads
from topoopt.transformers.step_time.calibration import Calibration
from topoopt.transformers.step_time.case import Case, case_of
from topoopt.transformers.step_time.closed_form import (
    ChunkTimes,
    combined_s,
    hidden_hops,
    slowest_stages,
    straggle,
    transfers_s,
)
from topoopt.transformers.step_time.collective_time import Links
from topoopt.transformers.step_time.data_parallel_time import optimizer_step_s, replica_exchanges
from topoopt.transformers.step_time.expert_exchange import forwarding_s_per_byte, overlaps
from topoopt.transformers.step_time.layer_time import layer_kernels
from topoopt.transformers.step_time.micro_batch import MicroBatch, key_round_s, micro_batch
from topoopt.transformers.system import LARGEST_SERVER, System
from topoopt.workloads.pipelined_step import Exchange
from topoopt.workloads.transformer import TransformerModel

Row = TypeVar("Row")
RINGS = ("allreduce", "reduce-scatter", "all-gather")
HIDDEN = "input again"
"""Suffix of parts that the backward pass does not wait for: inputs gathered once more for the gradients of the
weights, while those of the activations are computed (Korthikanti 2022, section 4.2.2)."""


def pass_exchanges(
    communications: Iterable[Communication],
    micro_batches: int,
    places: Places,
    links: Links,
    hidden: Mapping[str, float],
    forwarding_s: float,
    stage_layers: Floats,
) -> tuple[Exchange, ...]:
    """Return the exchanges inside all passes, without those inside a server.

    Collectives of one kind (such as the AllReduces of tensor parallelism) are added up over the layers of a chunk, and
    so are all-to-alls of equal loads. Groups of one communication take place at once. What hides keeps only the
    optimizer waiting.

    Parameters
    ----------
    forwarding_s : float
        Time per byte of the experts' all-to-alls beyond their time on the network at full rate.
    stage_layers : float64 array, shape (chunks of a stage, stages)
        As returned by :func:`layers_of_chunks`.
    """
    known: dict[tuple[int, str], dict[object, int]] = {}
    exchanges: list[Exchange] = []
    for one, count in _evened(communications, stage_layers):
        turns = known.setdefault((one.chunk, one.direction), {})
        turn = turns.setdefault((one.kind, one.collective, one.weights.tobytes()), len(turns))
        share = 1.0 if one.part.endswith(HIDDEN) else hidden.get(one.kind, 0.0)
        times = count / micro_batches
        rows = (
            _rings(one, times, turn, places, links)
            if one.collective in RINGS
            else _pairs(one, times, turn, places, links, forwarding_s)
        )
        for exchange in rows:
            exchanges += hidden_and_not(exchange, share, "after")
    return merged_exchanges(exchanges)


def _evened(communications: Iterable[Communication], layers: Floats) -> Iterator[tuple[Communication, float]]:
    """Yield the communications of passes with counts, equally many per layer in all chunks: see :func:`estimate`.

    Communications that a stage lacks, or has with other loads, keep their counts.
    """
    families: dict[object, dict[int, list[Communication]]] = {}
    for one in communications:
        if one.chunk >= 0 and one.kind != "pp":
            key = one.kind, one.part, one.collective, one.direction, one.message_bytes, one.weights.tobytes()
            families.setdefault(key, {}).setdefault(one.stage, []).append(one)
    stages = layers.shape[1]
    for family in families.values():
        rows = [one for of_stage in family.values() for one in of_stage]
        if len(family) < stages or max(one.chunk for one in rows) >= layers.size:
            yield from ((one, float(one.count)) for one in rows)
            continue
        each = sum(one.count for one in rows) / layers.sum()
        for chunk in np.flatnonzero(layers):
            yield replace(family[int(chunk) % stages][0], chunk=int(chunk)), each * layers.flat[chunk]


def merged_exchanges(exchanges: Iterable[Exchange]) -> tuple[Exchange, ...]:
    """Return exchanges with those added up that differ in their bytes only."""
    return merged(exchanges, ("size_bytes", "count", "delay_s", "pair_bytes", "nic_s"))


def merged(rows: Iterable[Row], amounts: Sequence[str]) -> tuple[Row, ...]:
    """Return nouns with those added up that differ in these fields only, of which tables are equally long."""
    sums: dict[Any, Row] = {}
    for row in rows:
        kept = [getattr(row, one.name) for one in fields(row) if one.name not in amounts]  # type: ignore[arg-type]
        alike = *kept, *(len(value) for name in amounts if isinstance(value := getattr(row, name), tuple))
        sums[alike] = _added(sums[alike], row, amounts) if alike in sums else row
    return tuple(sums.values())


def _added(one: Row, other: Row, names: Iterable[str]) -> Row:
    return replace(one, **{name: _sum(getattr(one, name), getattr(other, name)) for name in names})  # type: ignore[type-var]


def _sum(one: Any, other: Any) -> Any:
    """Return the sum of two numbers, or of two equal tables of them."""
    if isinstance(one, tuple):
        return tuple(_sum(*pair) for pair in zip(one, other, strict=True))
    return one + other


def hidden_and_not(whole: Exchange, share: float, moment: str) -> Iterator[Exchange]:
    """Yield the part of an exchange that hides ``before`` or ``after`` its pass, and the rest, which is inside it."""
    if share <= 0:
        yield whole
        return
    yield _scaled(whole, share, moment=moment, turn=0)
    if share < 1:
        yield _scaled(whole, 1 - share)


def _scaled(whole: Exchange, share: float, **others: Any) -> Exchange:
    return replace(
        whole,
        size_bytes=round(whole.size_bytes * share),
        delay_s=whole.delay_s * share,
        nic_s=whole.nic_s * share,
        pair_bytes=tuple(tuple(round(size * share) for size in row) for row in whole.pair_bytes),
        **others,
    )


def _rings(one: Communication, times: float, turn: int, places: Places, links: Links) -> Iterator[Exchange]:
    size_bytes = round(one.message_bytes * times)
    for group in server_groups(one.groups, places, across=True):
        delay_s = links.inside_ring_s(one.collective, group, size_bytes, times)
        whole = exchange_of(one, group, one.collective, size_bytes * group.groups, times, delay_s, turn)
        yield replace(whole, nic_s=links.ring_nic_s(one.collective, group, size_bytes))


def _pairs(
    one: Communication, times: float, turn: int, places: Places, links: Links, forwarding_s: float
) -> Iterator[Exchange]:
    size, pattern = one.groups.shape[1], "all-to-all"
    if one.collective != pattern:
        one, pattern = replace(one, weights=np.roll(np.eye(size), 1, axis=1)), "ring"
    total = one.message_bytes * times
    known: dict[int, Exchange] = {}
    for group in server_pairs(one.groups, lambda index: total * one.server_weights(index), places):
        if id(group.pair_bytes) not in known:  # groups placed alike share their arrays
            size_bytes, pair_bytes = _even(group)
            inside, fewest = size / len(group.members), size * float(group.ranks.min() / group.ranks.sum())
            beyond_s = links.beyond_network_s_per_byte(size, inside, fewest, pattern)
            each_s = forwarding_s if one.kind == "ep" else beyond_s
            delay_s = links.starts_s(times, 1.0 if pattern == "ring" else inside) + total * each_s
            whole = exchange_of(one, group, "all-to-all", size_bytes, times, delay_s, turn)
            known[id(group.pair_bytes)] = replace(whole, pair_bytes=pair_bytes, nic_s=links.pair_nic_s(group))
        yield replace(known[id(group.pair_bytes)], replicas=group.replicas, members=group.members)


def exchange_of(
    one: Communication,
    group: ServerGroup | ServerPairs,
    collective: str,
    size_bytes: int,
    times: float,
    delay_s: float,
    turn: int,
) -> Exchange:
    """Return the exchange of a group of servers inside the pass of a communication."""
    who, count = (group.replicas, group.members), max(round(times), 1)
    return Exchange(
        one.chunk, one.direction, "inside", *who, collective, size_bytes, count, delay_s, turn=turn
    )


def _even(group: ServerPairs) -> tuple[int, tuple[tuple[int, ...], ...]]:
    """Return the buffer of an even all-to-all, or the bytes of each pair of another."""
    size = len(group.members)
    away = np.rint(group.pair_bytes[~np.eye(size, dtype=bool)]).astype(np.int64)
    if int(np.ptp(away)) == 0:
        return int(away[0]) * size, ()
    return 0, tuple(map(tuple, np.rint(group.pair_bytes).astype(np.int64).tolist()))


def chunk_times(
    model: TransformerModel,
    configuration: Configuration,
    system: System,
    calibration: Calibration,
    loads: ExpertLoads | None = None,
) -> ChunkTimes:
    """Return forward and backward time of one micro-batch in each chunk, consistent with :func:`estimate`.

    Chunk c runs on stage ``c % pp``. Layers that do not divide evenly go to the first stages, one more each; the
    last chunk has the logits, which the chunks of the last stage share evenly where it has fewer layers than
    others, as if layers were moved between them. Communication between servers is excluded: pipeline transfers,
    data parallel collectives, and tensor, context or expert groups that span servers. With ``loads`` of the
    experts every chunk takes as long as its hottest ranks, on average over its layers.
    """
    case = case_of(model, configuration_table([configuration]), system, calibration, loads)
    layers = layers_of_chunks(model, configuration)
    if loads is not None:
        return _chunk_by_chunk(model, configuration, system, case, loads)
    return _chunk_times(configuration, system, case, layers)


def _chunk_by_chunk(
    model: TransformerModel, configuration: Configuration, system: System, case: Case, loads: ExpertLoads
) -> ChunkTimes:
    """Return the times of chunks whose layers have loads of their own."""
    layers = layers_of_chunks(model, configuration)
    names = "forward_s", "backward_s", "inside_s", "weights_s"
    columns: list[list[float]] = []
    for chunk, own in enumerate(trained_layers(model, len(layers))):
        rows = [row for row, layer in enumerate(loads.layers) if layer in own]
        times = _chunk_times(configuration, system, replace(case, shares=case.shares[rows]), layers)
        columns.append([float(getattr(times, name)[chunk]) for name in names])
    return ChunkTimes(step_s=times.step_s, **dict(zip(names, np.array(columns).T, strict=True)))


def _chunk_times(configuration: Configuration, system: System, case: Case, layers: Floats) -> ChunkTimes:
    one, outputs = micro_batch(case), float(case.outputs)
    forward, backward = _passes(one, layers, outputs)
    launches = layers * one.launch_s + one.chunk_launch_s
    # The host goes on launching while ranks wait, so launches are weighed against all waits before any is left out;
    # those of one chunk hide behind the kernels of a stage's other chunks.
    kernels_and_waits_s, launches = (
        column.reshape(-1, configuration.pp).sum(axis=0) for column in (forward + backward, launches)
    )
    kernels_and_waits_s = np.maximum(kernels_and_waits_s, 1e-12)  # a stage with the embedding alone has none
    longer = combined_s(kernels_and_waits_s, launches) / kernels_and_waits_s
    factor = np.tile(longer, configuration.vpp) * straggle(case)
    # the micro-batch without the waits for groups that span servers
    size = system.accelerators_per_server
    alone = configuration.accelerators <= size or size <= LARGEST_SERVER
    tp, cp = configuration.tp, configuration.tp * configuration.cp
    ep = configuration.ep * configuration.etp
    inside_a_server = _waiting(
        one, *(float(span <= size and (alone or size % span == 0)) for span in (tp, cp, ep))
    )
    within_forward, within_backward = _passes(inside_a_server, layers, outputs)
    kernels_s = sum(_passes(_waiting(one, 0.0, 0.0, 0.0), layers, outputs))
    step_s = optimizer_step_s(case, layers[: configuration.pp].max(keepdims=True) * configuration.vpp)
    of_logits = np.zeros_like(layers)
    of_logits[-1] = outputs
    weights_s = np.asarray(
        layers * one.kernels.weights_s + of_logits * one.kernels.logits_weights_s, np.float64
    )
    columns = (
        forward * factor - (forward - within_forward),
        backward * factor - (backward - within_backward),
        within_forward + within_backward - kernels_s,
        weights_s * factor,
    )
    last = slice(configuration.pp - 1, None, configuration.pp)
    of_stage = layers.reshape(-1, configuration.pp).sum(axis=0)
    if of_stage[-1] < of_stage.max() and len(layers) <= np.max(case.shapes.layers):
        for column in columns:
            column[last] = column[last].mean()
    forward, backward, inside, weights = columns
    return ChunkTimes(forward, backward, float(step_s[0]), inside, weights)


def hidden_shares(
    model: TransformerModel, configuration: Configuration, system: System, calibration: Calibration
) -> Mapping[str, float]:
    """Return the share by the kind of communication; of kinds that are not named, nothing hides.

    Tensor-parallel collectives hide only with sequence parallelism, by the calibrated share. Keys and values in
    the context-parallel ring hide behind the attention's core, as far as it is long enough; other context
    exchanges and gathers do not. Exchanges of replicas hide as in :func:`estimate`: ``every`` with every
    micro-batch (ZeRO 2 and 3), ``gather`` after the step (ZeRO 2), ``reduce`` between shards, ``once`` (ZeRO 0 and
    1).
    """
    case = case_of(model, configuration_table([configuration]), system, calibration)
    fused = configuration.sequence_parallel and not bool(case.runs_apart("sums"))
    shares = {"tp": calibration.tensor_overlap if fused else 0.0}
    if configuration.dp > 1:
        one = micro_batch(case)
        of_replicas = replica_exchanges(case, slowest_stages(case, one)[0].layers, one)
        for name, (waits_s, all_s) in of_replicas.items():
            shares[name] = float(np.ravel(1 - waits_s / np.maximum(all_s, 1e-30))[0])
    if bool(overlaps(case)) and configuration.ep > 1:
        one = micro_batch(case)
        shares["ep"] = 1 - float(one.ep_s[0] / one.ep_alone_s[0])
    if configuration.cp == 1 or configuration.context != "ring":
        return shares
    core_s, ring_s = float(layer_kernels(case).core_s[0]), float(key_round_s(case)[0])
    passes = 3 if recomputation_bits(configuration.recompute) & part_bit("core") else 2
    return {**shares, "cp": min(passes * core_s / ((passes + 1) * ring_s), 1.0)}


BEHIND: Mapping[str, str] = {
    "tensor parallel": "matrix products, cut into pieces",
    "context parallel": "attention to keys that are there",
    "experts": "the other micro-batch",
    "gradients, every micro-batch": "the layers after, backward",
    "weights and gradients, every micro-batch": "the layers before and after, forward and backward",
    "weights, after the step": "the next forward pass",
    "gradients between shards": "the last backward pass",
    "gradients and weights, once": "the last backward and the next forward pass",
    "transfers between stages": "passes of other micro-batches",
}
"""Computation that communication may hide behind."""


def communication_windows(
    model: TransformerModel, configuration: Configuration, system: System, calibration: Calibration
) -> tuple[dict[str, str | float], ...]:
    """Return the time of each communication of the slowest stage, and its exposed part.

    Returns
    -------
    tuple of dict
        Dicts with ``communication``, ``alone_s`` and ``exposed_s`` of an iteration, and the work that it hides
        ``behind``. Transfers between stages are those while the pipeline is full; the others are part of its
        bubble.
    """
    case = case_of(model, configuration_table([configuration]), system, calibration)
    one = micro_batch(case)
    stage = slowest_stages(case, one)[0]
    shares = hidden_shares(model, configuration, system, calibration)
    each = case.batches * straggle(case) * stage.layers
    waits: dict[str, tuple[Floats, Floats | float]] = {
        "tensor parallel": (each * one.tp_s, shares.get("tp", 0.0)),
        "context parallel": (each * one.cp_s, shares.get("cp", 0.0)),
        "experts": (each * one.ep_s, 1 - one.ep_s / np.maximum(one.ep_alone_s, 1e-30)),
    }
    found = {name: (wait_s, wait_s / np.maximum(1 - share, 1e-30)) for name, (wait_s, share) in waits.items()}
    if configuration.dp > 1:
        of_replicas = replica_exchanges(case, stage.layers, one)
        kinds = (("once",), ("once",), ("every", "gather", "reduce"), ("every", "reduce"))[configuration.zero]
        every = list(BEHIND)[3 if configuration.zero == 2 else 4]
        names = dict(zip(("every", "gather", "reduce", "once"), (every, *list(BEHIND)[5:8]), strict=True))
        found |= {names[kind]: of_replicas[kind] for kind in kinds}
    sent_s = case.batches * transfers_s(case)
    found["transfers between stages"] = sent_s * (1 - hidden_hops(case)), sent_s
    return tuple(
        {
            "communication": name,
            "alone_s": alone_s,
            "exposed_s": exposed_s,
            "behind": BEHIND[name] if exposed_s < alone_s else "nothing",
        }
        for name, (exposed_s, alone_s) in (
            (name, (float(np.ravel(pair[0])[0]), float(np.ravel(pair[1])[0]))) for name, pair in found.items()
        )
        if alone_s > 0
    )


def forwarding_s(
    model: TransformerModel, configuration: Configuration, system: System, calibration: Calibration
) -> float:
    """Return the time per byte of experts' tokens beyond their time on the network at full rate."""
    if model.experts is None or configuration.ep == 1:
        return 0.0
    case = case_of(model, configuration_table([configuration]), system, calibration)
    return float(forwarding_s_per_byte(case)[0])


def _passes(one: MicroBatch, layers: Floats, outputs: float) -> tuple[Floats, Floats]:
    """Return the forward and backward time of each chunk without its launches; the last has the logits."""
    kernels, logits = one.kernels, np.zeros_like(layers)
    logits[-1] = outputs
    waits = one.tp_s + one.cp_s + one.ep_s
    forward = layers * (kernels.forward_s + (1 - one.backward_share) * waits)
    backward = layers * (kernels.backward_s + one.recompute_s + one.backward_share * waits)
    return (
        forward + logits * (kernels.logits_forward_s + one.logits_tp_s / 2),
        backward + logits * (kernels.logits_backward_s + one.logits_tp_s / 2),
    )


def layers_of_chunks(model: TransformerModel, configuration: Configuration) -> Floats:
    """Return the layers of each chunk; those of a stage are spread over its chunks evenly, in fractions.

    If chunks have one layer, the first holds only the embedding, and the last only the output layer.
    """
    mtp, chunks = model.mtp_layers, configuration.pp * configuration.vpp
    if chunks > model.layers:
        return np.array([len(layers) for layers in trained_layers(model, chunks)], np.float64)
    given = 2 * mtp if (model.layers + 2 * mtp) // configuration.pp > 2 * mtp else 0
    fewest, spare = divmod(model.layers + given, configuration.pp)
    stages = np.array([fewest + (stage < spare) for stage in range(configuration.pp)], np.float64)
    if mtp == 0 and ends_count_as_layers(model.layers, chunks):
        stages = np.full(configuration.pp, (model.layers + 2) / configuration.pp)
        stages[[0, -1]] -= 1
    layers = np.tile(stages / configuration.vpp, configuration.vpp)
    layers[-1] += mtp - given
    return layers


def _waiting(one: MicroBatch, tp: float, cp: float, ep: float) -> MicroBatch:
    return replace(
        one, tp_s=one.tp_s * tp, logits_tp_s=one.logits_tp_s * tp, cp_s=one.cp_s * cp, ep_s=one.ep_s * ep
    )
