"""Communication as rows that people read: what one rank takes part in, and what all ranks send by kind."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Ints
from topoopt.transformers.communication.matrix import server_matrix
from topoopt.transformers.communication.message import KINDS, Communication, wire_factor


@dataclass(frozen=True, slots=True)
class RankRow:
    """Equal messages that one rank takes part in.

    Attributes
    ----------
    size : int
        Ranks of the group.
    message_bytes, count : int
        As of :class:`~topoopt.transformers.Communication`, ``count`` over all parts of the model in one iteration; of a
        ``send`` what is received, too.
    sent_bytes : float
        What leaves the rank.
    parts : tuple of str
        Which parts of the model these are.
    """

    kind: str
    collective: str
    size: int
    message_bytes: int
    count: int
    sent_bytes: float
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KindRow:
    """All that the ranks send with one collective for one reason.

    Attributes
    ----------
    groups : int
        Different groups.
    size : int
    smallest_bytes, largest_bytes : int
        Of the messages.
    count : int
        Messages of all groups in one iteration.
    wire_bytes, network_bytes : float
        What leaves ranks, and of that what leaves servers.
    """

    kind: str
    collective: str
    groups: int
    size: int
    smallest_bytes: int
    largest_bytes: int
    count: int
    wire_bytes: float
    network_bytes: float


def rank_rows(communications: Iterable[Communication], rank: int = 0) -> tuple[RankRow, ...]:
    """Return what a rank takes part in, in the order of :data:`~topoopt.transformers.KINDS`, most bytes first."""
    sums: dict[tuple[str, str, int, int], tuple[int, float, dict[str, None]]] = {}
    for one in communications:
        places = np.argwhere(one.groups == rank)
        if not len(places):
            continue
        key = (one.kind, one.collective, one.groups.shape[1], one.message_bytes)
        count, sent, parts = sums.get(key, (0, 0.0, {}))
        more = sum(_sent_share(one, int(place)) for _, place in places) * one.message_bytes * one.count
        sums[key] = (count + one.count * len(places), sent + more, {**parts, one.part: None})
    rows = (RankRow(*key, count, sent, tuple(parts)) for key, (count, sent, parts) in sums.items())
    return tuple(sorted(rows, key=lambda row: (KINDS.index(row.kind), -row.sent_bytes, -row.message_bytes)))


def kind_rows(communications: Iterable[Communication], servers_of_rank: Ints) -> tuple[KindRow, ...]:
    """Return what all ranks send, by kind, collective and size of the group.

    Parameters
    ----------
    servers_of_rank : int64 array, shape (ranks,)
        As of :func:`~topoopt.transformers.place_ranks`.
    """
    alike: dict[tuple[str, str, int], list[Communication]] = {}
    for one in communications:
        alike.setdefault((one.kind, one.collective, one.groups.shape[1]), []).append(one)
    rows = (_kind_row(*key, some, servers_of_rank) for key, some in alike.items())
    return tuple(sorted(rows, key=lambda row: (KINDS.index(row.kind), -row.wire_bytes, row.collective)))


def _kind_row(
    kind: str, collective: str, size: int, some: list[Communication], servers_of_rank: Ints
) -> KindRow:
    matrix = server_matrix(some, servers_of_rank)
    groups = {group for one in some for group in map(bytes, one.groups)}
    sizes = [one.message_bytes for one in some]
    return KindRow(
        kind=kind,
        collective=collective,
        groups=len(groups),
        size=size,
        smallest_bytes=min(sizes),
        largest_bytes=max(sizes),
        count=sum(one.count * len(one.groups) for one in some),
        wire_bytes=sum(one.wire_bytes for one in some),
        network_bytes=float(matrix.sum() - np.trace(matrix)),
    )


def _sent_share(one: Communication, place: int) -> float:
    """Return the bytes that leave the member at a place of its group, over ``message_bytes``."""
    if one.collective == "all-to-all":
        weights = one.rank_weights
        return float(weights[place].sum() - weights[place, place])
    size = one.groups.shape[1]
    if one.collective == "send":
        return float(place == 0)
    return wire_factor(one.collective, size, one.weights) / float(size)
