"""Links that can never be short before another one is: they decide no rate, and are left out."""

import numpy as np
from numba import njit
from numpy.typing import NDArray

from topoopt.base.arrays import Floats, Ints
from topoopt.simulation import TIE


@njit(cache=True, error_model="numpy")
def covered_links(first: Ints, of_class: Ints, part: Floats, classes: int) -> NDArray[np.bool_]:
    """Return which links can never be short before another one is, shape (links,).

    Link m has the classes ``of_class[first[m] : first[m+1]]``, ascending, and takes ``part`` of each. Another link that
    takes as much of all these classes is full no later; of equal links the first stays.
    """
    links = len(first) - 1
    users = np.zeros(classes + 1, np.int64)
    for e in range(first[links]):
        users[of_class[e] + 1] += 1
    for c in range(classes):
        users[c + 1] += users[c]
    place = users[:classes].copy()
    member = np.empty(first[links], np.int64)
    covered = np.zeros(links, np.bool_)
    for m in range(links):
        for e in range(first[m], first[m + 1]):
            member[place[of_class[e]]] = m
            place[of_class[e]] += 1
    for m in range(links):
        rarest = of_class[first[m]]
        for e in range(first[m], first[m + 1]):
            c = of_class[e]
            if users[c + 1] - users[c] < users[rarest + 1] - users[rarest]:
                rarest = c
        for k in range(users[rarest], users[rarest + 1]):
            other = member[k]
            if other == m:
                continue
            here = first[m]
            less = False
            for e in range(first[other], first[other + 1]):
                if here < first[m + 1] and of_class[e] == of_class[here]:
                    if part[e] < part[here] * (1.0 - TIE):
                        break
                    less = less or part[e] > part[here] * (1.0 + TIE)
                    here += 1
                else:
                    less = True
            if here == first[m + 1] and (less or other < m):
                covered[m] = True
                break
    return covered
