"""Hot loops of the topology room on plain arrays.

Arrays
------
first : int64 (nodes+1,)        CSR pointer: links out of node v are first[v] : first[v+1]
dst : int32 (links,)            end of each link
sources : int64 (sources,)      nodes to start from
hops : int32 (sources, nodes)   links on a shortest path, -1 where there is none
"""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def breadth_first(
    first: NDArray[np.int64], dst: NDArray[np.int32], sources: NDArray[np.int64], hops: NDArray[np.int32]
) -> None:
    """Fill ``hops`` from every source."""
    queue = np.empty(len(first) - 1, np.int64)
    for row in range(len(sources)):
        found = hops[row]
        found[:] = -1
        found[sources[row]] = 0
        queue[0] = sources[row]
        head, tail = 0, 1
        while head < tail:
            here = queue[head]
            head += 1
            for link in range(first[here], first[here + 1]):
                there = dst[link]
                if found[there] < 0:
                    found[there] = found[here] + 1
                    queue[tail] = there
                    tail += 1
