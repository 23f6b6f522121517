"""A binary heap of (time, code), and queues of tasks before devices; kernels of several packages call them.

Arrays (int64 or float64 only):

============== ======= ============ ====================================================================
name           dtype   shape        meaning
============== ======= ============ ====================================================================
keys           float64 (room,)      time; ``keys[:size]`` is the heap, the earliest on top; or int64
codes          int64   (room,)      event at that time; ties are served by the smallest code
ready          float64 (tasks,)     s; when a task in a queue could have begun
head, tail     int64   (devices,)   first and last task of a device's queue, -1: empty
after          int64   (tasks,)     the task behind a task in its queue, -1: none
============== ======= ============ ====================================================================
"""

from topoopt.base.arrays import Floats, Ints
from topoopt.base.kernel.compilation import shared


@shared
def push(keys: Floats | Ints, codes: Ints, size: int, key: float, code: int) -> int:
    """Add to the heap and return its new size."""
    hole = size
    while hole > 0:
        parent = (hole - 1) >> 1
        if keys[parent] < key or (keys[parent] == key and codes[parent] < code):
            break
        keys[hole] = keys[parent]
        codes[hole] = codes[parent]
        hole = parent
    keys[hole] = key
    codes[hole] = code
    return size + 1


@shared
def drop_top(keys: Floats | Ints, codes: Ints, size: int) -> int:
    """Remove the first of the heap and return its new size."""
    size -= 1
    key = keys[size]
    code = codes[size]
    hole = 0
    while True:
        child = 2 * hole + 1
        if child >= size:
            break
        right = child + 1
        if right < size and (
            keys[right] < keys[child] or (keys[right] == keys[child] and codes[right] < codes[child])
        ):
            child = right
        if key < keys[child] or (key == keys[child] and code < codes[child]):
            break
        keys[hole] = keys[child]
        codes[hole] = codes[child]
        hole = child
    keys[hole] = key
    codes[hole] = code
    return size


@shared
def enqueue(task: int, device: int, now: float, ready: Floats, head: Ints, tail: Ints, after: Ints) -> None:
    """Enqueue a task for its device, in order of (ready time, task)."""
    ready[task] = now
    last = tail[device]
    if last < 0:
        head[device] = task
        tail[device] = task
        after[task] = -1
        return
    if ready[last] < now or last < task:
        after[last] = task
        after[task] = -1
        tail[device] = task
        return
    before = -1
    here = head[device]
    while ready[here] < now or here < task:
        before = here
        here = after[here]
    after[task] = here
    if before < 0:
        head[device] = task
    else:
        after[before] = task
