"""An interpreter of MSCCL's fused steps, which receive a chunk and send it on: connections have room for two.

With less room the steps of a ring would wait for each other: everyone has sent, and nobody has room to go on. NCCL's
Simple protocol has room for two: of its ``NCCL_STEPS`` slots a chunk takes half (``MSCCL_CHUNKSTEPS``).
"""

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from topoopt.base.arrays import Flags, Words
from topoopt.base.errors import InvalidInput
from topoopt.collectives.play import Buffers

ROOM = 2
FUSED = ("rcs", "rrs", "rrcs")
_SENDS = ("s", *FUSED)
_RECEIVES = ("r", "rrc", *FUSED)
_ADDS = ("rrc", "rrs", "rrcs")
_STORES = ("r", "rrc", "rcs", "rrcs")


class Block(Protocol):
    """A thread block with its steps, and how many are done."""

    rank: int
    number: int
    send: int
    receive: int
    channel: int
    steps: list[Mapping[str, str]]
    done: int


def run_fused(blocks: Sequence[Block], buffers: Buffers) -> None:
    """Run the thread blocks of an AllReduce in place until none can go on.

    Raises
    ------
    InvalidInput
        For another type of step or buffer, or a chunk that comes to another place than it was sent from.
    """
    machine = _Machine(blocks, buffers)
    ready = deque(blocks)
    while ready:
        block = ready.popleft()
        while block.done < len(block.steps) and machine.did(block):
            ready.extend(machine.woken(block))


class _Machine:
    def __init__(self, blocks: Sequence[Block], buffers: Buffers) -> None:
        self.buffers = buffers
        self.by_number = {(block.rank, block.number): block for block in blocks}
        self.sender = {(block.rank, block.send, block.channel): block for block in blocks}
        self.receiver = {(block.receive, block.rank, block.channel): block for block in blocks}
        self.slots: dict[tuple[int, int, int], deque[tuple[int, Words, Flags]]] = defaultdict(deque)
        self.waiting: dict[tuple[int, int], list[Block]] = defaultdict(list)

    def did(self, block: Block) -> bool:
        """Do the next step of a thread block, if it can be done."""
        step = block.steps[block.done]
        kind, first, count = step["type"], int(step["srcoff"]), int(step["cnt"])
        if kind not in (*_SENDS, *_RECEIVES) or (step["srcbuf"], step["dstbuf"]) != ("i", "i"):
            raise InvalidInput(f"msccl: a fused step of type {kind} and buffer {step['srcbuf']} is not known")
        incoming = self.slots[block.receive, block.rank, block.channel]
        outgoing = self.slots[block.rank, block.send, block.channel]
        waits = (kind in _RECEIVES and not incoming) or (kind in _SENDS and len(outgoing) >= ROOM)
        if waits or not self._may(block, step):
            return False
        run = (block.rank, slice(first, first + count))
        value, held = self.buffers.value[run].copy(), self.buffers.held[run].copy()
        if kind in _RECEIVES:
            there, came, whole = incoming.popleft()
            if there != first or len(came) != count:
                raise InvalidInput(
                    f"msccl: {block.receive} sends {block.rank} chunk {there}, which takes {first}"
                )
            value, held = (value + came, held & whole) if kind in _ADDS else (came, whole)
        if kind in _STORES:
            self.buffers.value[run], self.buffers.held[run] = value, held
        if kind in _SENDS:
            outgoing.append((first, value, np.asarray(held)))
        block.done += 1
        return True

    def woken(self, block: Block) -> list[Block]:
        """Return who may go on since a thread block did a step: its neighbors, and those that waited for it."""
        before = self.sender.get((block.receive, block.rank, block.channel))
        after = self.receiver.get((block.rank, block.send, block.channel))
        return [*filter(None, (before, after)), *self.waiting.pop((block.rank, block.number), ())]

    def _may(self, block: Block, step: Mapping[str, str]) -> bool:
        writer = int(step["depid"])
        if writer < 0 or self.by_number[block.rank, writer].done > int(step["deps"]):
            return True
        self.waiting[block.rank, writer].append(block)
        return False
