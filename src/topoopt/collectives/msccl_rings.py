"""Rings side by side as MSCCL's XML: an AllReduce whose message is cut into an equal part for each ring.

Every ring has a channel of its own, and on it an accelerator has one thread block, which sends to the next and hears
the one before. A step receives a chunk, adds to it and sends it on at once. Of more than 128 accelerators the steps do
not fit into a thread block: what is left goes on in another one, on a channel further on, and waits for the first.

References
----------
.. [1] github.com/microsoft/msccl-tools, ``msccl/language/ir.py``: the types of steps.
.. [2] github.com/microsoft/msccl, ``src/include/msccl.h``: the limits.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.collectives.msccl import MOST_CHANNELS, MOST_MESSAGES, MOST_STEPS

_STEP = (
    '      <step s="{}" type="{}" srcbuf="i" srcoff="{}" dstbuf="i" dstoff="{}" cnt="1" '
    'depid="{}" deps="{}" hasdep="{}"/>'
)


LARGEST_BYTES = 2**63 - 1


class _Part(NamedTuple):
    """Messages ``first`` up to ``end`` of a ring, and the thread block before that they wait for."""

    channel: int
    ring: int
    first: int
    end: int
    before: int


def rings_xml(orders: Sequence[Sequence[int]], name: str) -> str:
    """Return the XML of an AllReduce along several rings at once, for messages of any size.

    Parameters
    ----------
    orders
        The ranks ``0 .. n-1`` in the order of each ring.
    name
        What NCCL's log calls it.

    Raises
    ------
    InvalidInput
        If an order does not name every rank once.
    Infeasible
        If the rings take more than ``MOST_CHANNELS`` channels or
        ``MOST_MESSAGES`` messages.
    """
    ranks, rings = len(orders[0]), len(orders)
    for order in orders:
        if sorted(order) != list(range(ranks)) or ranks < 2:
            raise InvalidInput(f"msccl: an order of {ranks} ranks names each of 0..{ranks - 1} once")
    messages = 2 * (ranks - 1)
    if messages * ranks * rings > MOST_MESSAGES:
        raise Infeasible(
            f"msccl: {rings} rings of {ranks} servers send {messages * ranks * rings} messages, files are written of "
            f"at most {MOST_MESSAGES}"
        )
    parts = _parts(rings, messages)
    if len(parts) > MOST_CHANNELS:
        raise Infeasible(
            f"msccl: {rings} rings of {messages + 1} steps take {len(parts)} channels of at most {MOST_STEPS} steps, "
            f"MSCCL has {MOST_CHANNELS}"
        )
    return "\n".join(_lines(orders, parts, name)) + "\n"


def _parts(rings: int, messages: int) -> list[_Part]:
    """Return the thread blocks that every accelerator has, the first of all rings before any second one."""
    most = (
        MOST_STEPS - 1
    )  # a thread block of m messages has m+1 steps: the first only sends, the last only receives
    parts: list[_Part] = []
    for turn, first in enumerate(range(0, messages, most)):
        for ring in range(rings):
            before = len(parts) - rings if turn else -1
            parts.append(_Part(len(parts), ring, first, min(first + most, messages), before))
    return parts


def _lines(orders: Sequence[Sequence[int]], parts: list[_Part], name: str) -> Iterator[str]:
    ranks, rings = len(orders[0]), len(orders)
    places = [{rank: place for place, rank in enumerate(order)} for order in orders]
    chunks = rings * ranks
    yield (
        f'<algo name={quoteattr(name)} proto="Simple" nchannels="{len(parts)}" nchunksperloop="{chunks}" '
        f'ngpus="{ranks}" coll="allreduce" inplace="1" minBytes="0" maxBytes="{LARGEST_BYTES}">'
    )
    for rank in range(ranks):
        yield f'  <gpu id="{rank}" i_chunks="{chunks}" o_chunks="0" s_chunks="0">'
        for number, part in enumerate(parts):
            order, place = orders[part.ring], places[part.ring][rank]
            send, receive = order[(place + 1) % ranks], order[place - 1]
            yield f'    <tb id="{number}" send="{send}" recv="{receive}" chan="{part.channel}">'
            yield from _steps(part, place, ranks)
            yield "    </tb>"
        yield "  </gpu>"
    yield "</algo>"


def _steps(part: _Part, place: int, ranks: int) -> Iterator[str]:
    """Yield the steps of the accelerator at a place of the ring; of message m it sends chunk ``place - m``."""
    base, last = part.ring * ranks, 2 * (ranks - 1)
    chunk = base + (place - part.first) % ranks
    waited = (part.before, MOST_STEPS - 1) if part.before >= 0 else (-1, -1)
    yield _STEP.format(0, "s", chunk, chunk, *waited, 0)
    for step, message in enumerate(range(part.first, part.end - 1), start=1):
        chunk = base + (place - 1 - message) % ranks
        kind = "rrs" if message < ranks - 2 else "rrcs" if message == ranks - 2 else "rcs"
        yield _STEP.format(step, kind, chunk, chunk, -1, -1, 0)
    message = part.end - 1
    chunk = base + (place - 1 - message) % ranks
    kind = "rrc" if message < ranks - 1 else "r"
    yield _STEP.format(part.end - part.first, kind, chunk, chunk, -1, -1, int(part.end < last))
