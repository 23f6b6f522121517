"""What goes with the passes of a chunk between servers, as exchanges of a pipelined step."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from topoopt.transformers.communication.message import Communication
from topoopt.transformers.communication.ranks import (
    Places,
    ServerGroup,
    ServerPairs,
    server_groups,
    server_pairs,
)
from topoopt.transformers.step_time.collective_time import Links
from topoopt.workloads.pipelined_step import Exchange

Row = TypeVar("Row")

RINGS = ("allreduce", "reduce-scatter", "all-gather")

HIDDEN = "input again"
"""How the part of what the backward pass does not wait for ends: inputs gathered once more for the gradients of the
weights, while those of the activations are computed (Korthikanti 2022, section 4.2.2)."""


def pass_exchanges(
    communications: Iterable[Communication],
    micro_batches: int,
    places: Places,
    links: Links,
    hidden: Mapping[str, float],
    beside_s: float = 0.0,
) -> tuple[Exchange, ...]:
    """Return the exchanges inside all passes; what stays inside a server is left out.

    Collectives of one kind (such as the AllReduces of tensor parallelism) are added up over the layers of a chunk, and
    so are all-to-alls of equal loads. Groups of one communication take place at once. What hides keeps only the
    optimizer waiting.

    Parameters
    ----------
    beside_s : float
        What a byte of the all-to-alls of experts takes beyond its time on the network at full rate.
    """
    known: dict[tuple[int, str], dict[object, int]] = {}
    exchanges: list[Exchange] = []
    for one in communications:
        if one.chunk >= 0 and one.kind != "pp":
            turns = known.setdefault((one.chunk, one.direction), {})
            turn = turns.setdefault((one.kind, one.collective, one.weights.tobytes()), len(turns))
            rings = one.collective in RINGS
            inside_s = beside_s if one.kind == "ep" else 0.0
            share = 1.0 if one.part.endswith(HIDDEN) else hidden.get(one.kind, 0.0)
            times = one.count // micro_batches
            rows = (
                _rings(one, times, turn, places, links)
                if rings
                else _pairs(one, times, turn, places, links, inside_s)
            )
            for exchange in rows:
                exchanges += hidden_and_not(exchange, share, "after")
    return merged_exchanges(exchanges)


def merged_exchanges(exchanges: Iterable[Exchange]) -> tuple[Exchange, ...]:
    """Return exchanges with those added up that differ in their bytes only."""
    return merged(exchanges, {"size_bytes": 0, "count": 1, "delay_s": 0.0, "pair_bytes": ()})


def merged(rows: Iterable[Row], amounts: Mapping[str, Any]) -> tuple[Row, ...]:
    """Return nouns with those added up that differ in these fields only; the values make one look like the others."""
    sums: dict[Row, Row] = {}
    for row in rows:
        alike = replace(row, **amounts)  # type: ignore[type-var]
        sums[alike] = _added(sums[alike], row, amounts) if alike in sums else row
    return tuple(sums.values())


def _added(one: Row, other: Row, names: Iterable[str]) -> Row:
    sums = {name: _sum(getattr(one, name), getattr(other, name)) for name in names}
    return replace(one, **sums)  # type: ignore[type-var]


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
        pair_bytes=tuple(tuple(round(size * share) for size in row) for row in whole.pair_bytes),
        **others,
    )


def _rings(one: Communication, times: int, turn: int, places: Places, links: Links) -> Iterator[Exchange]:
    size_bytes = one.message_bytes * times
    for group in server_groups(one.groups, places, across=True):
        delay_s = links.inside_ring_s(one.collective, group, size_bytes, times)
        yield exchange_of(one, group, one.collective, size_bytes * group.groups, times, delay_s, turn)


def _pairs(
    one: Communication, times: int, turn: int, places: Places, links: Links, beside_s: float
) -> Iterator[Exchange]:
    if one.collective != "all-to-all":
        one = replace(one, weights=np.roll(np.eye(one.groups.shape[1]), 1, axis=1))
    total = one.message_bytes * times
    delay_s = links.starts_s(times) + total * beside_s
    for group in server_pairs(one.groups, lambda index: total * one.server_weights(index), places):
        size_bytes, pair_bytes = _even(group)
        whole = exchange_of(one, group, "all-to-all", size_bytes, times, delay_s, turn)
        yield replace(whole, pair_bytes=pair_bytes)


def exchange_of(
    one: Communication,
    group: ServerGroup | ServerPairs,
    collective: str,
    size_bytes: int,
    count: int,
    delay_s: float,
    turn: int,
) -> Exchange:
    """Return the exchange of a group of servers inside the pass of a communication."""
    who = (group.replicas, group.members)
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
