"""Two binary heaps: links by the arrival of their first packet, and timers by (time, code)."""

from topoopt.kernel import compiled, inlined
from topoopt.simulate.packet.kernel.layout import HEAP_SIZE, TIMER_SIZE, State


@inlined
def push_link(s: State, key: int, link: int) -> None:
    """Add a link."""
    hole = s.count[HEAP_SIZE]
    s.count[HEAP_SIZE] = hole + 1
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
    """Put a link in the place of the first; ``size`` is that of the heap afterwards.

    The hole goes down to a leaf first, always to the earlier child, and then the new key rises: it mostly
    belongs near the bottom, and the way down has no branch to guess.
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
def drop_top_link(s: State) -> None:
    """Remove the first link."""
    size = s.count[HEAP_SIZE] - 1
    s.count[HEAP_SIZE] = size
    if size > 0:
        replace_top_link(s, s.due[size], s.due_link[size], size)


@compiled
def remove_link(s: State, link: int) -> None:
    """Remove a link, wherever it stands."""
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
    hole = s.count[TIMER_SIZE]
    s.count[TIMER_SIZE] = hole + 1
    while hole > 0:
        parent = (hole - 1) >> 1
        if s.timer[parent] < key or (s.timer[parent] == key and s.timer_code[parent] <= code):
            break
        s.timer[hole] = s.timer[parent]
        s.timer_code[hole] = s.timer_code[parent]
        hole = parent
    s.timer[hole] = key
    s.timer_code[hole] = code


@compiled
def drop_top_timer(s: State) -> None:
    """Remove the first timer."""
    size = s.count[TIMER_SIZE] - 1
    s.count[TIMER_SIZE] = size
    key, code = s.timer[size], s.timer_code[size]
    hole = 0
    child = 1
    while child < size:
        right = child + 1
        if right < size and (
            s.timer[right] < s.timer[child]
            or (s.timer[right] == s.timer[child] and s.timer_code[right] < s.timer_code[child])
        ):
            child = right
        if key < s.timer[child] or (key == s.timer[child] and code <= s.timer_code[child]):
            break
        s.timer[hole] = s.timer[child]
        s.timer_code[hole] = s.timer_code[child]
        hole = child
        child = 2 * hole + 1
    s.timer[hole] = key
    s.timer_code[hole] = code
