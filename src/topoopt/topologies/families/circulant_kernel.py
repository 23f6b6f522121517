"""The circulant of least diameter and hops among many, compiled.

Arrays
------
offsets : int32 (sets, steps)   candidate circulants: each row the steps, 0..size-1, a server has links along
                                (0 is allowed and does nothing)
met_by, queue : int32 (size,)   room to work in; ``met_by`` enters as -1
"""

from topoopt.base.arrays import Ints32
from topoopt.base.kernel import entry


@entry
def best_circulant(
    offsets: Ints32, diameter: int, total: int, met_by: Ints32, queue: Ints32
) -> tuple[int, int, int]:
    """Return (row, diameter, total hops) of the best circulant below the given bound, row -1 if none is.

    ``total`` is the sum of hops from one server to all others. A row is given up as soon as it cannot beat
    the best any more: if all servers not yet met were one hop beyond the current ones.
    """
    size, winner = len(met_by), -1
    for row in range(offsets.shape[0]):
        met_by[0] = row
        queue[0] = 0
        head, tail, hops, sum_hops = 0, 1, 0, 0
        beaten = False
        while head < tail < size:
            level_end = tail
            if hops + 1 > diameter or (
                hops + 1 == diameter and sum_hops + (size - tail) * (hops + 1) >= total
            ):
                beaten = True
                break
            hops += 1
            while head < level_end:
                here = queue[head]
                head += 1
                for c in range(offsets.shape[1]):
                    there = here + offsets[row, c]
                    if there >= size:
                        there -= size
                    if met_by[there] != row:
                        met_by[there] = row
                        queue[tail] = there
                        tail += 1
            sum_hops += hops * (tail - level_end)
        if not beaten and tail == size and (hops < diameter or (hops == diameter and sum_hops < total)):
            winner, diameter, total = row, hops, sum_hops
    return winner, diameter, total
