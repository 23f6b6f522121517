"""Simulators of schedules on real buffers: step by step, and of MSCCL's XML by its thread blocks.

A send and its receive happen together, without buffers between two accelerators, so that a schedule that runs here
does not depend on the real buffer size. Only MSCCL's fused steps, which receive a chunk and forward it, need
buffers: their connections have room for two chunks. With less, the steps of a ring would deadlock: every rank has
sent, and none has room to go on. NCCL's Simple protocol has room for two: of its ``NCCL_STEPS`` slots a chunk
takes half (``MSCCL_CHUNKSTEPS``).
"""

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from xml.etree import ElementTree

import numpy as np

from topoopt.base.arrays import Flags, Ints, Words
from topoopt.base.errors import InvalidInput
from topoopt.collectives.msccl import BUFFERS, COLLECTIVES, check_attributes
from topoopt.collectives.schedule import Transfers


@dataclass(frozen=True, eq=False)
class Buffers:
    """Contents of every chunk on every rank, and whether the rank has it; shape (ranks, chunks)."""

    value: Words
    held: Flags

    def send(self, src: Ints, dst: Ints, chunk: Ints, reduce: Flags) -> None:
        """Send all of these chunks at once; sums are of 64-bit words and wrap around.

        Raises
        ------
        AssertionError
            If a rank sends a chunk that it does not have, or two store over the same chunk.
        """
        assert self.held[src, chunk].all(), "a rank sends a chunk that it does not have"
        carried = self.value[src, chunk]
        stored = ~reduce
        place = dst[stored] * self.value.shape[1] + chunk[stored]
        assert len(np.unique(place)) == len(place), "two store over the same chunk in one step"
        self.value[dst[stored], chunk[stored]] = carried[stored]
        self.held[dst[stored], chunk[stored]] = True
        assert self.held[dst[reduce], chunk[reduce]].all(), "a rank adds to a chunk that it does not have"
        np.add.at(self.value, (dst[reduce], chunk[reduce]), carried[reduce])


@dataclass(frozen=True, slots=True)
class PlayedSchedule:
    """Result of playing a schedule.

    Attributes
    ----------
    missing : int
        Chunks that did not arrive, or arrived wrong.
    transfers : int
        Messages: runs of chunks.
    chunks : int
        Chunks of the whole message.
    fullest : tuple of int
        Chunks that the busiest pair of sender and receiver exchanged in each step.
    """

    missing: int
    transfers: int
    chunks: int
    fullest: tuple[int, ...]

    def shards(self, ranks: int) -> tuple[Fraction, ...]:
        """Return :attr:`fullest` in shards, which are the message divided by the number of ranks."""
        return tuple(Fraction(count * ranks, self.chunks) for count in self.fullest)


ROOM = 2
FUSED = ("rcs", "rrs", "rrcs")
_MSCCL_SLOTS_SENDS = ("s", *FUSED)
_MSCCL_SLOTS_RECEIVES = ("r", "rrc", *FUSED)
_ADDS = ("rrc", "rrs", "rrcs")
_STORES = ("r", "rrc", "rcs", "rrcs")


@dataclass(slots=True)
class _Block:
    """A thread block with its steps, and how many are done."""

    rank: int
    number: int
    send: int
    receive: int
    channel: int
    steps: list[Mapping[str, str]]
    done: int = 0


_Number = tuple[int, int]  # of a thread block: accelerator, and which of its thread blocks


def _may_go_on(
    block: _Block, by_number: Mapping[_Number, _Block], waiting: Mapping[_Number, list[_Block]]
) -> bool:
    """Return whether the next step's dependency is done; if not, register the thread block to be woken."""
    step = block.steps[block.done]
    writer = block.rank, int(step["depid"])
    if writer[1] < 0:
        return True
    if by_number[writer].steps[int(step["deps"])]["hasdep"] != "1":
        raise InvalidInput(
            f"msccl: step {step['deps']} of thread block {writer[1]} is waited for without hasdep"
        )
    if by_number[writer].done > int(step["deps"]):
        return True
    waiting[writer].append(block)
    return False


class _SlotMachine:
    def __init__(self, blocks: Sequence[_Block], buffers: Buffers) -> None:
        self.buffers = buffers
        self.by_number = {(block.rank, block.number): block for block in blocks}
        self.sender = {(block.rank, block.send, block.channel): block for block in blocks}
        self.receiver = {(block.receive, block.rank, block.channel): block for block in blocks}
        self.slots: dict[tuple[int, int, int], deque[tuple[int, Words, Flags]]] = defaultdict(deque)
        self.waiting: dict[tuple[int, int], list[_Block]] = defaultdict(list)

    def did(self, block: _Block) -> bool:
        """Do the next step of a thread block, if it can be done."""
        step = block.steps[block.done]
        kind, first, count = step["type"], int(step["srcoff"]), int(step["cnt"])
        if kind not in (*_MSCCL_SLOTS_SENDS, *_MSCCL_SLOTS_RECEIVES) or (step["srcbuf"], step["dstbuf"]) != (
            "i",
            "i",
        ):
            raise InvalidInput(f"msccl: a fused step of type {kind} and buffer {step['srcbuf']} is not known")
        incoming = self.slots[block.receive, block.rank, block.channel]
        outgoing = self.slots[block.rank, block.send, block.channel]
        waits = (kind in _MSCCL_SLOTS_RECEIVES and not incoming) or (
            kind in _MSCCL_SLOTS_SENDS and len(outgoing) >= ROOM
        )
        if waits or not _may_go_on(block, self.by_number, self.waiting):
            return False
        run = (block.rank, slice(first, first + count))
        value, held = self.buffers.value[run].copy(), self.buffers.held[run].copy()
        if kind in _MSCCL_SLOTS_RECEIVES:
            there, came, whole = incoming.popleft()
            if there != first or len(came) != count:
                raise InvalidInput(
                    f"msccl: {block.receive} sends {block.rank} chunk {there}, which takes {first}"
                )
            value, held = (value + came, held & whole) if kind in _ADDS else (came, whole)
        if kind in _STORES:
            self.buffers.value[run], self.buffers.held[run] = value, held
        if kind in _MSCCL_SLOTS_SENDS:
            outgoing.append((first, value, np.asarray(held)))
        block.done += 1
        return True

    def woken(self, block: _Block) -> list[_Block]:
        """Return the thread blocks that may continue after a step of this one: its neighbors, and those waiting
        for it."""
        before = self.sender.get((block.receive, block.rank, block.channel))
        after = self.receiver.get((block.rank, block.send, block.channel))
        return [*filter(None, (before, after)), *self.waiting.pop((block.rank, block.number), ())]


_SENDS, _RECEIVES = ("s",), ("r", "rrc")
_OURS = {theirs: ours for ours, theirs in COLLECTIVES.items()} | {
    "reducescatter": "reduce-scatter"
}  # RCCL's name
MOST_NUMBERS = 50_000_000
"""Chunks of all ranks together that are played."""


@dataclass(frozen=True, slots=True)
class MscclRun:
    """Result of a run of MSCCL programs.

    Attributes
    ----------
    missing : int
        Chunks that did not arrive, or arrived wrong.
    steps : int
        Steps of the longest thread block.
    thread_blocks : int
        Thread blocks of the accelerator that has most.
    messages : int
        Sent in all.
    peers : int
        Others that an accelerator sends to, at most.
    """

    missing: int
    steps: int
    thread_blocks: int
    channels: int
    messages: int
    collective: str
    ranks: int
    peers: int


def run_msccl(text: str) -> MscclRun:
    """Run a file of the types ``s``, ``r``, ``rrc``, ``cpy`` and ``nop``, and an AllReduce of fused ones, too.

    Raises
    ------
    InvalidInput
        If it is not such a file, thread blocks wait for each other in a circle, or a chunk is sent that is not there.
    """
    try:
        root = ElementTree.fromstring(text)
        check_attributes(root)
        collective = _OURS[root.attrib["coll"]]
        ranks, chunks = int(root.attrib["ngpus"]), int(root.attrib["nchunksperloop"])
        channels = int(root.attrib["nchannels"])
        blocks = [_block(int(gpu.attrib["id"]), tb, (ranks, chunks)) for gpu in root for tb in gpu]
    except (ElementTree.ParseError, KeyError, ValueError) as error:
        reason = f"{error.args[0]}: missing or unknown" if isinstance(error, KeyError) else error
        raise InvalidInput(f"msccl: not a file of MSCCL: {reason}") from None
    whole = chunks * ranks if collective == "all-to-all" else chunks
    uneven = collective != "allreduce" and ranks > 0 and chunks % ranks
    if ranks < 1 or chunks < 1 or uneven or whole * ranks > MOST_NUMBERS or not blocks:
        raise InvalidInput(
            f"msccl: {len(blocks)} thread blocks, {ranks} ranks and {chunks} chunks: shards are whole chunks, at most "
            f"{MOST_NUMBERS} at all ranks together, and some thread block moves them"
        )
    before = buffers_before(collective, ranks, whole)
    after = Buffers(before.value.copy(), before.held.copy())
    fused = any(step["type"] in FUSED for block in blocks for step in block.steps)
    try:
        if fused and collective == "allreduce":
            run_fused(blocks, after)
        else:
            _Machine(collective, blocks, after).run()
    except (KeyError, ValueError, IndexError) as error:
        raise InvalidInput(f"msccl: a step or a thread block that it needs is missing: {error}") from None
    for block in blocks:
        if block.done < len(block.steps):
            raise InvalidInput(
                f"msccl: thread block {block.number} of accelerator {block.rank} waits forever at step {block.done}"
            )
    return MscclRun(
        missing_after(collective, before, after),
        max(len(block.steps) for block in blocks),
        max(Counter(block.rank for block in blocks).values()),
        channels,
        sum(step["type"] in (*_SENDS, *FUSED) for block in blocks for step in block.steps),
        collective,
        ranks,
        max(Counter(rank for rank, _ in {(block.rank, block.send) for block in blocks}).values()),
    )


def _block(rank: int, tb: ElementTree.Element, size: tuple[int, int]) -> _Block:
    number, send, receive, channel = (int(tb.attrib[key]) for key in ("id", "send", "recv", "chan"))
    if not 0 <= rank < size[0] or max(send, receive) >= size[0]:
        raise ValueError(f"rank {rank}, which sends {send} and hears {receive}, of {size[0]} ranks")
    for place, step in enumerate(tb):
        if int(step.attrib["s"]) != place:
            raise ValueError(f"step {place} of thread block {number} is called {step.attrib['s']}")
        kind, count = step.attrib["type"], int(step.attrib["cnt"])
        if kind not in (*_SENDS, *_RECEIVES, *FUSED, "cpy", "nop"):
            raise ValueError(f"steps of type {kind} are not run; known: s, r, rrc, cpy, nop, rcs, rrs, rrcs")
        for key in ("srcoff", "dstoff"):
            if kind != "nop" and not 0 <= int(step.attrib[key]) <= size[1] - max(count, 1):
                raise ValueError(f"step {step.get('s')}: {key} {step.attrib[key]} of {size[1]} chunks")
    return _Block(rank, number, send, receive, channel, [step.attrib for step in tb])


class _Machine:
    def __init__(self, collective: str, blocks: list[_Block], buffers: Buffers) -> None:
        self.collective, self.blocks, self.buffers = collective, blocks, buffers
        self.by_number = {(block.rank, block.number): block for block in blocks}
        self.sender = {(b.rank, b.send, b.channel): b for b in blocks if b.send >= 0}
        self.receiver = {(b.receive, b.rank, b.channel): b for b in blocks if b.receive >= 0}
        self.waiting: dict[tuple[int, int], list[_Block]] = defaultdict(list)

    def run(self) -> None:
        """Run until no thread block can do a step."""
        ready = deque(self.blocks)
        while ready:
            block = ready.popleft()
            while block.done < len(block.steps):
                moved = self._step(block)
                if not moved:
                    break
                for one in moved:
                    ready.extend(self.waiting.pop((one.rank, one.number), ()))
                    if one is not block:
                        ready.append(one)

    def _step(self, block: _Block) -> list[_Block]:
        """Do the next step of a thread block, with that of its peer; return the blocks that advanced."""
        step = block.steps[block.done]
        if not _may_go_on(block, self.by_number, self.waiting):
            return []
        kind = step["type"]
        if kind in ("nop", "cpy"):  # a rank's own part is where it should be in our buffers
            block.done += 1
            return [block]
        key = (block.rank, block.send, block.channel)
        if kind in _RECEIVES:
            key = (block.receive, block.rank, block.channel)
        sender, receiver = self.sender.get(key), self.receiver.get(key)
        if sender is None or receiver is None:
            raise InvalidInput(
                f"msccl: {key[0]} sends {key[1]} on channel {key[2]} what nobody takes, or the reverse"
            )
        other = receiver if block is sender else sender
        if other.done == len(other.steps) or not _may_go_on(other, self.by_number, self.waiting):
            return []
        sends, takes = sender.steps[sender.done], receiver.steps[receiver.done]
        if sends["type"] not in _SENDS or takes["type"] not in _RECEIVES:
            return []
        self._move(sender.rank, receiver.rank, sends, takes)
        sender.done += 1
        receiver.done += 1
        return [sender, receiver]

    def _move(self, src: int, dst: int, sends: Mapping[str, str], takes: Mapping[str, str]) -> None:
        count = int(sends["cnt"])
        if count != int(takes["cnt"]):
            raise InvalidInput(f"msccl: {src} sends {dst} {count} chunks, which takes {takes['cnt']}")
        first = self._first_chunk(src, dst, sends, takes)
        value, held = self.buffers.value, self.buffers.held
        run = slice(first, first + count)
        if not held[src, run].all():
            raise InvalidInput(f"msccl: {src} sends {dst} chunk {first} before it has it")
        if takes["type"] == "rrc":
            value[dst, run] += value[src, run]
        else:
            value[dst, run] = value[src, run]
            held[dst, run] = True

    def _first_chunk(self, src: int, dst: int, sends: Mapping[str, str], takes: Mapping[str, str]) -> int:
        """Return the first chunk of the message that two offsets mean."""
        if self.collective == "all-to-all":
            if (int(sends["srcoff"]), int(takes["dstoff"])) != (dst, src):
                raise InvalidInput(f"msccl: {src} sends {dst} what is another's")
            return src * len(self.buffers.value) + dst
        buffer = BUFFERS[self.collective]
        if (sends["srcbuf"], takes["dstbuf"]) != (buffer, buffer) or sends["srcoff"] != takes["dstoff"]:
            raise InvalidInput(f"msccl: {src} sends {dst} from one place to another")
        return int(sends["srcoff"])


def run_fused(blocks: Sequence[_Block], buffers: Buffers) -> None:
    """Run the thread blocks of an AllReduce in place until none can go on.

    Raises
    ------
    InvalidInput
        For another type of step or buffer, or a chunk that arrives at another offset than it was sent from.
    """
    machine = _SlotMachine(blocks, buffers)
    ready = deque(blocks)
    while ready:
        block = ready.popleft()
        while block.done < len(block.steps) and machine.did(block):
            ready.extend(machine.woken(block))


def buffers_before(collective: str, ranks: int, chunks: int) -> Buffers:
    """Return the contents of the ranks before a collective: random numbers."""
    value = np.random.default_rng(ranks).integers(0, 2**64, (ranks, chunks), np.uint64)
    rank, chunk = np.arange(ranks)[:, None], np.arange(chunks)
    if collective == "all-gather":
        held = chunk // (chunks // ranks) == rank
    elif collective == "all-to-all":
        held = chunk // ranks == rank
    else:
        held = np.ones((ranks, chunks), np.bool_)
    return Buffers(np.where(held, value, np.uint64(0)), held)


def missing_after(collective: str, before: Buffers, after: Buffers) -> int:
    """Return the number of chunks with a missing or wrong value."""
    ranks, chunks = before.value.shape
    rank, chunk = np.arange(ranks)[:, None], np.arange(chunks)
    goal = before.value.sum(axis=0, dtype=np.uint64)  # of what one rank alone had, that
    if collective == "reduce-scatter":
        wanted = chunk // (chunks // ranks) == rank
    elif collective == "all-to-all":
        wanted = chunk % ranks == rank
    else:
        wanted = np.ones((ranks, chunks), np.bool_)
    return int((wanted & ~(after.held & (after.value == goal))).sum())


def play(transfers: Transfers) -> PlayedSchedule:
    """Execute a schedule on real buffers, and return the result.

    Raises
    ------
    AssertionError
        If a rank sends a chunk that it does not have.
    """
    ranks = transfers.ranks
    before = buffers_before(transfers.collective, ranks, transfers.chunks)
    after = Buffers(before.value.copy(), before.held.copy())
    bounds = np.searchsorted(transfers.step, np.arange(transfers.steps + 1))
    fullest = []
    for begin, end in pairwise(bounds.tolist()):
        count = transfers.count[begin:end]
        row = np.repeat(np.arange(begin, end), count)
        inner = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
        src, dst = transfers.src[row], transfers.dst[row]
        after.send(src, dst, transfers.first[row] + inner, transfers.reduce[row])
        fullest.append(int(np.bincount(src * ranks + dst).max(initial=0)))
    missing = missing_after(transfers.collective, before, after)
    return PlayedSchedule(missing, len(transfers), transfers.chunks, tuple(fullest))
