"""A schedule as MSCCL's XML: the sends, receives, reductions and dependencies of every accelerator's thread blocks.

An accelerator sends to each neighbor from a separate thread block, and receives from each in another. A thread
block does its steps in order; across thread blocks, a step waits for the last writer of the chunk that it reads or
adds to.

Rings side by side as MSCCL's XML: an AllReduce whose message is cut into an equal part for each ring.

Every ring has its own channel, and on it an accelerator has one thread block, which sends to the next and receives
from the previous one. A step receives a chunk, adds to it and forwards it at once. With more than 128 accelerators
the steps do not fit into a thread block: the rest continues in another one, on a later channel, and waits for the
first.

References
----------
.. [1] github.com/microsoft/msccl-tools, ``msccl/language/ir.py`` (``ir_to_xml``), and the runtime's reader of these
   files in github.com/microsoft/msccl: elements, attributes and limits.
.. [2] github.com/ROCm/rccl, ``src/misc/msccl/msccl_parser.cc``: ``outofplace`` is read, too, and must be there.
.. [3] github.com/microsoft/msccl, ``src/include/msccl.h``: the limits.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

from topoopt.base.errors import Infeasible, InvalidInput, hint, shown
from topoopt.collectives.schedule import Transfers
from topoopt.workloads import ring_rounds

MOST_STEPS = 256
"""Steps per thread block; further steps go to another one, on the next channel."""
MOST_COUNT = 71
"""Chunks that one step moves."""
MOST_CHANNELS = 32
MOST_PEERS = 32
"""Peers that an accelerator sends to, or receives from, on one channel."""
MOST_MESSAGES = 200_000
"""A file of more is tens of megabytes for every accelerator to read."""
COLLECTIVES = {
    "allreduce": "allreduce",
    "all-gather": "allgather",
    "reduce-scatter": "reduce_scatter",
    "all-to-all": "alltoall",
}
"""Our names, and MSCCL's."""
BUFFERS = {"allreduce": "i", "all-gather": "o", "reduce-scatter": "i"}
"""The buffer that holds the whole message, with MSCCL's in-place calls."""
_PARTS = {"all-gather": "i", "reduce-scatter": "o"}
"""The buffer that is a rank's own part of it."""
IN_PLACE = {"allreduce": (1, 0), "reduce-scatter": (1, 0), "all-gather": (1, 1), "all-to-all": (0, 1)}
"""Whether calls take it whose buffers are the same, and whose are not: the first two add up in the input."""
_ATTRIBUTES = (
    "name proto nchannels nchunksperloop ngpus coll redop inplace outofplace minBytes maxBytes nthreadblocks",
    "id i_chunks o_chunks s_chunks",
    "id send recv chan",
    "s type srcbuf srcoff dstbuf dstoff cnt depid deps hasdep",
)
"""Attributes of a file, an accelerator, a thread block and a step."""
_TEXTS = ("name", "proto", "coll", "redop", "type", "srcbuf", "dstbuf")
_FLAGS = ("inplace", "outofplace", "hasdep")
_Place = tuple[int, int]  # thread block, step


@dataclass(slots=True)
class _Step:
    type: str
    src: tuple[str, int]
    dst: tuple[str, int]
    count: int
    waits: _Place = (-1, -1)
    waited_for: bool = False


@dataclass(slots=True)
class _Block:
    peer: tuple[int, int]  # send, receive; -1 for none
    channel: int
    steps: list[_Step] = field(default_factory=list)
    seen: dict[int, int] = field(default_factory=dict)  # how far this one has waited for others


class _Accelerator:
    """The thread blocks of one rank, and the last writer of each chunk."""

    def __init__(self) -> None:
        self.blocks: list[_Block] = []
        self.block_of: dict[tuple[int, int, int], int] = {}
        self.writer: dict[int, _Place] = {}
        self.peers: Counter[tuple[str, int]] = Counter()  # sent to, and heard, on each channel

    def block(self, send: int, receive: int, channel: int) -> int:
        key = send, receive, channel
        if key not in self.block_of:
            self.block_of[key] = len(self.blocks)
            self.blocks.append(_Block((send, receive), channel))
            self.peers["send" if send >= 0 else "receive", channel] += 1
        return self.block_of[key]

    def waits_of(self, block: int, first: int, count: int) -> list[_Place]:
        """Return the last steps of other thread blocks that wrote any of these chunks, where not yet waited for."""
        last: dict[int, int] = {}
        for chunk in range(first, first + count):
            writer, step = self.writer.get(chunk, (block, 0))
            if writer != block and step > self.blocks[block].seen.get(writer, -1):
                last[writer] = max(last.get(writer, -1), step)
        return sorted(last.items())

    def add(self, block: int, step: _Step, waits: list[_Place]) -> _Place:
        """Append a step, preceded by empty steps if it has more than one dependency."""
        steps, seen = self.blocks[block].steps, self.blocks[block].seen
        for writer, at in waits:
            self.blocks[writer].steps[at].waited_for = True
            seen[writer] = at
        for place in waits[:-1]:
            steps.append(_Step("nop", ("i", -1), ("o", -1), 0, place))
        if waits:
            step.waits = waits[-1]
        steps.append(step)
        return block, len(steps) - 1


def msccl_xml(transfers: Transfers, name: str, sizes: tuple[int, int]) -> str:
    """Return the XML of a schedule.

    Parameters
    ----------
    name
        Name shown in NCCL's log.
    sizes
        Least and most bytes of a call that takes it.

    Raises
    ------
    InvalidInput
        For more than :data:`MOST_MESSAGES` messages.
    Infeasible
        For more than :data:`MOST_CHANNELS` channels.
    """
    if len(transfers) > MOST_MESSAGES:
        raise InvalidInput(
            f"export: {len(transfers)} messages, MSCCL files are written of at most {MOST_MESSAGES}; take fewer servers"
        )
    ranks = _blocks(transfers)
    channels = 1 + max(block.channel for rank in ranks for block in rank.blocks)
    if channels > MOST_CHANNELS:
        raise Infeasible(
            f"export: {channels} channels of {MOST_STEPS} steps, MSCCL has {MOST_CHANNELS}; take fewer servers"
        )
    return "\n".join(_lines(transfers, ranks, channels, name, sizes)) + "\n"


def _blocks(transfers: Transfers) -> list[_Accelerator]:
    ranks = [_Accelerator() for _ in range(transfers.ranks)]
    channel: dict[tuple[int, int], int] = {}
    gathers = transfers.collective == "all-gather"
    own = transfers.chunks // transfers.ranks if gathers else 1
    for rank, accelerator in enumerate(ranks if gathers or transfers.collective == "all-to-all" else ()):
        for part in range(0, own, MOST_COUNT):  # what a rank keeps
            chunk, count = rank * own + part, min(MOST_COUNT, own - part)
            step = _Step("cpy", ("i", part if gathers else rank), ("o", chunk), count)
            done = accelerator.add(accelerator.block(-1, -1, 0), step, [])
            if gathers:
                accelerator.writer.update(dict.fromkeys(range(chunk, chunk + count), done))
    for src, dst, first, count, reduce in _messages(transfers):
        if (src, dst) not in channel:
            channel[src, dst] = _next_channel(ranks[src], ranks[dst], 0)
        for _ in range(2):
            sends = ranks[src].block(dst, -1, channel[src, dst])
            receives = ranks[dst].block(-1, src, channel[src, dst])
            before = ranks[src].waits_of(sends, first, count)
            under = ranks[dst].waits_of(receives, first, count) if reduce else []
            longest = max(
                len(ranks[src].blocks[sends].steps) + len(before),
                len(ranks[dst].blocks[receives].steps) + len(under),
            )
            if longest < MOST_STEPS - 1:
                break
            channel[src, dst] = _next_channel(ranks[src], ranks[dst], channel[src, dst] + 1)
        here, there = _places(transfers, src, dst, first)
        ranks[src].add(sends, _Step("s", here, there, count), before)
        kept = _Step("rrc" if reduce else "r", there if reduce else here, there, count)
        place = ranks[dst].add(receives, kept, under)
        ranks[dst].writer.update(dict.fromkeys(range(first, first + count), place))
    return ranks


def _next_channel(sender: _Accelerator, receiver: _Accelerator, first: int) -> int:
    """Return the first channel from one on, on which both have room for a peer."""
    channel = first
    while MOST_PEERS in (sender.peers["send", channel], receiver.peers["receive", channel]):
        channel += 1
    return channel


def _messages(transfers: Transfers) -> Iterator[tuple[int, int, int, int, bool]]:
    columns = (transfers.src, transfers.dst, transfers.first, transfers.count, transfers.reduce)
    for src, dst, first, count, reduce in zip(*(column.tolist() for column in columns), strict=True):
        for part in range(0, count, MOST_COUNT):
            yield src, dst, first + part, min(MOST_COUNT, count - part), reduce


def check_attributes(element: Element, where: str = "", depth: int = 0) -> None:
    """Refuse an element, or one inside it, with an attribute that is not known or no number where one is expected.

    Raises
    ------
    ValueError
        With the accelerator, thread block and step, the attribute, its value and the values allowed.
    """
    known = _ATTRIBUTES[depth].split()
    for name, value in element.attrib.items():
        if name not in known:
            raise ValueError(f'{where}unknown attribute "{name}"; {hint(name, known)}')
        if name in _FLAGS and value not in ("0", "1"):
            raise ValueError(f"{where}{name}: expected 0 or 1, got {shown(value)}")
        if name not in _TEXTS and not re.fullmatch(r"-?[0-9]{1,19}", value):
            raise ValueError(f"{where}{name}: expected an integer, got {shown(value)}")
    for inner in element if depth + 1 < len(_ATTRIBUTES) else ():
        number = inner.get("s" if inner.tag == "step" else "id")
        check_attributes(inner, f"{where}{inner.tag} {number}: ", depth + 1)


def _places(transfers: Transfers, src: int, dst: int, first: int) -> tuple[tuple[str, int], tuple[str, int]]:
    """Return buffer and offset at the sender and at the receiver."""
    if transfers.collective == "all-to-all":
        return ("i", dst), ("o", src)
    buffer = BUFFERS[transfers.collective]
    return (buffer, first), (buffer, first)


def _lines(
    transfers: Transfers, ranks: list[_Accelerator], channels: int, name: str, sizes: tuple[int, int]
) -> Iterator[str]:
    collective = transfers.collective
    chunks = transfers.ranks if collective == "all-to-all" else transfers.chunks
    part = _PARTS.get(collective, "")
    same, other = IN_PLACE[collective]
    size = {buffer: chunks // transfers.ranks if buffer == part else chunks for buffer in "io"}
    yield (
        f'<algo name={quoteattr(name)} proto="Simple" nchannels="{channels}" nchunksperloop="{chunks}" '
        f'ngpus="{transfers.ranks}" coll="{COLLECTIVES[collective]}" inplace="{same}" '
        f'outofplace="{other}" minBytes="{sizes[0]}" maxBytes="{sizes[1]}">'
    )
    for rank, accelerator in enumerate(ranks):
        yield f'  <gpu id="{rank}" i_chunks="{size["i"]}" o_chunks="{size["o"]}" s_chunks="0">'
        for index, block in enumerate(accelerator.blocks):
            yield f'    <tb id="{index}" send="{block.peer[0]}" recv="{block.peer[1]}" chan="{block.channel}">'
            for s, step in enumerate(block.steps):
                yield (
                    f'      <step s="{s}" type="{step.type}" srcbuf="{step.src[0]}" srcoff="{step.src[1]}" '
                    f'dstbuf="{step.dst[0]}" dstoff="{step.dst[1]}" cnt="{step.count}" depid="{step.waits[0]}" '
                    f'deps="{step.waits[1]}" hasdep="{int(step.waited_for)}"/>'
                )
            yield "    </tb>"
        yield "  </gpu>"
    yield "</algo>"


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
        Name shown in NCCL's log.

    Raises
    ------
    InvalidInput
        If an order does not name every rank once.
    Infeasible
        If the rings take more than ``MOST_CHANNELS`` channels or ``MOST_MESSAGES`` messages.
    """
    ranks, rings = len(orders[0]), len(orders)
    for order in orders:
        if sorted(order) != list(range(ranks)) or ranks < 2:
            raise InvalidInput(f"msccl: an order of {ranks} ranks names each of 0..{ranks - 1} once")
    messages = ring_rounds("allreduce", ranks)
    if messages * ranks * rings > MOST_MESSAGES:
        raise Infeasible(
            f"msccl: {rings} rings of {ranks} servers send {messages * ranks * rings} messages, files are written of "
            f"at most {MOST_MESSAGES}"
        )
    most = (
        MOST_STEPS - 1
    )  # a thread block of m messages has m+1 steps: the first only sends, the last only receives
    parts: list[_Part] = []
    for turn, first in enumerate(range(0, messages, most)):
        for ring in range(rings):
            before = len(parts) - rings if turn else -1
            parts.append(_Part(len(parts), ring, first, min(first + most, messages), before))
    if len(parts) > MOST_CHANNELS:
        raise Infeasible(
            f"msccl: {rings} rings of {messages + 1} steps take {len(parts)} channels of at most {MOST_STEPS} steps, "
            f"MSCCL has {MOST_CHANNELS}"
        )
    return "\n".join(_msccl_rings_lines(orders, parts, name)) + "\n"


def _msccl_rings_lines(orders: Sequence[Sequence[int]], parts: list[_Part], name: str) -> Iterator[str]:
    ranks, rings = len(orders[0]), len(orders)
    places = [{rank: place for place, rank in enumerate(order)} for order in orders]
    chunks = rings * ranks
    yield (
        f'<algo name={quoteattr(name)} proto="Simple" nchannels="{len(parts)}" nchunksperloop="{chunks}" '
        f'ngpus="{ranks}" coll="allreduce" inplace="1" outofplace="0" minBytes="0" maxBytes="{LARGEST_BYTES}">'
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
    base, last = part.ring * ranks, ring_rounds("allreduce", ranks)
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
