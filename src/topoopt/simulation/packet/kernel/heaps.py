"""Two binary heaps: links by the arrival of their first packet, and timers, in the heap of all kernels.

That of links has no second key and changes its top in place: it is asked for every packet.
"""

from topoopt.base.kernel import compiled, drop_top, inlined, push
from topoopt.simulation.packet.kernel.layout import Count, State


@inlined
def push_link(s: State, key: int, link: int) -> None:
    """Add a link."""
    hole = s.count[Count.HEAP_SIZE]
    s.count[Count.HEAP_SIZE] = hole + 1
    _rise(s, hole, key, link)


@inlined
def _rise(s: State, hole: int, key: int, link: int) -> None:
    """Insert a link at a hole, or above it, by its key."""
    while hole > 0:
        parent = (hole - 1) >> 1
        if s.due[parent] <= key:
            break
        s.due[hole] = s.due[parent]
        s.due_link[hole] = s.due_link[parent]
        hole = parent
    s.due[hole] = key
    s.due_link[hole] = link


@inlined
def replace_top_link(s: State, key: int, link: int, size: int) -> None:
    """Replace the first link of the heap; ``size`` is that of the heap afterwards.

    The hole goes down to a leaf first, always to the earlier child, and then the new key rises: it mostly
    belongs near the bottom, and the descent has no unpredictable branch.
    """
    hole = 0
    child = 1
    while child + 1 < size:
        child += s.due[child + 1] < s.due[child]
        s.due[hole] = s.due[child]
        s.due_link[hole] = s.due_link[child]
        hole = child
        child = 2 * hole + 1
    if child < size:
        s.due[hole] = s.due[child]
        s.due_link[hole] = s.due_link[child]
        hole = child
    _rise(s, hole, key, link)


@inlined
def drop_top_link(s: State) -> None:
    """Remove the first link."""
    size = s.count[Count.HEAP_SIZE] - 1
    s.count[Count.HEAP_SIZE] = size
    if size > 0:
        replace_top_link(s, s.due[size], s.due_link[size], size)


@compiled
def remove_link(s: State, link: int) -> None:
    """Remove a link from the heap."""
    place = 0
    while s.due_link[place] != link:
        place += 1
    while place > 0:  # those above it come down, and it is the first
        parent = (place - 1) >> 1
        s.due[place] = s.due[parent]
        s.due_link[place] = s.due_link[parent]
        place = parent
    drop_top_link(s)


@compiled
def push_timer(s: State, key: int, code: int) -> None:
    """Add a timer."""
    s.count[Count.TIMER_SIZE] = push(s.timer, s.timer_code, s.count[Count.TIMER_SIZE], key, code)


@compiled
def drop_top_timer(s: State) -> None:
    """Remove the first timer."""
    s.count[Count.TIMER_SIZE] = drop_top(s.timer, s.timer_code, s.count[Count.TIMER_SIZE])
