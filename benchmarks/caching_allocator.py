"""PyTorch's caching allocator on a device of some bytes: what it gives, splits, joins and hands back.

As ``c10/cuda/CUDACachingAllocator.cpp`` of PyTorch 2.0 has it for large tensors of one stream, without expandable
segments: the smallest free block that is large enough is taken and, where more than 1 MiB is left, split; free
neighbors become one; a segment that is free as a whole goes back to the device only when there is no room.
"""

from bisect import bisect_left, insort
from dataclasses import dataclass

MEBIBYTE = 2**20
SMALL = MEBIBYTE
"""Tensors up to this size are in segments of their own; they are not counted."""


class NoRoom(Exception):
    """The device has no segment of this size."""


@dataclass(slots=True, eq=False)
class Block:
    """A part of a segment, between its neighbors."""

    segment: int
    offset: int
    size: int
    before: "Block | None" = None
    after: "Block | None" = None
    free: bool = False

    @property
    def order(self) -> tuple[int, int, int]:
        """By size, then by address."""
        return self.size, self.segment, self.offset


class CachingAllocator:
    """Bytes that tensors have, and those of all segments, now and at most."""

    def __init__(self, capacity: float) -> None:
        self.capacity = capacity
        self.allocated = self.reserved = self.most_allocated = self.most_reserved = 0
        self._segments = 0
        self._free: list[tuple[tuple[int, int, int], Block]] = []

    def take(self, size: float) -> Block | None:
        """Return a block for a tensor; None for small ones."""
        wanted = -(-int(size) // 512) * 512
        if wanted <= SMALL:
            return None
        place = bisect_left(self._free, wanted, key=lambda entry: entry[0][0])
        block = self._free.pop(place)[1] if place < len(self._free) else self._segment(wanted)
        block.free = False
        if block.size - wanted > SMALL:
            self._split(block, wanted)
        self.allocated += block.size
        self.most_allocated = max(self.most_allocated, self.allocated)
        return block

    def give_back(self, block: Block) -> None:
        """Free a block, and join it with its free neighbors."""
        self.allocated -= block.size
        block.free = True
        if block.before and block.before.free:
            self._join(block.before, block)
            block = block.before
        if block.after and block.after.free:
            self._join(block, block.after, listed=block.after)
        insort(self._free, (block.order, block), key=lambda entry: entry[0])

    def _join(self, first: Block, second: Block, listed: Block | None = None) -> None:
        self._unlist(listed or first)
        first.size += second.size
        first.after = second.after
        if first.after:
            first.after.before = first

    def _unlist(self, block: Block) -> None:
        place = bisect_left(self._free, block.order, key=lambda entry: entry[0])
        assert self._free[place][1] is block
        self._free.pop(place)

    def _split(self, block: Block, size: int) -> None:
        rest = Block(block.segment, block.offset + size, block.size - size, block, block.after, free=True)
        if rest.after:
            rest.after.before = rest
        block.after, block.size = rest, size
        insort(self._free, (rest.order, rest), key=lambda entry: entry[0])

    def _segment(self, wanted: int) -> Block:
        """Return a new segment: of 20 MiB for less than 10, of whole pairs of MiB for more."""
        pair = 2 * MEBIBYTE
        size = 10 * pair if wanted < 5 * pair else -(-wanted // pair) * pair
        if self.reserved + size > self.capacity:
            self._release()
        if self.reserved + size > self.capacity:
            raise NoRoom
        self.reserved += size
        self.most_reserved = max(self.most_reserved, self.reserved)
        self._segments += 1
        return Block(self._segments, 0, size)

    def _release(self) -> None:
        """Hand segments that are free as a whole back to the device."""
        kept = [entry for entry in self._free if entry[1].before or entry[1].after]
        self.reserved -= sum(block.size for _, block in self._free) - sum(block.size for _, block in kept)
        self._free = kept
