"""Sums over the links of classes, added in order and without room for what is added, compiled.

Arrays
------
first, link, coefficient : int64 (classes+1,), int32 (entries,), float64 (entries,)  the links of each class
class_bytes : float64 (classes,)
link_bytes : float64 (links,)    what is added to
values, total : float64 (entries,), (classes,)
"""

from topoopt.arrays import Floats, Ints, Ints32
from topoopt.kernel import entry


@entry
def add_rows(first: Ints, values: Floats, total: Floats) -> None:
    """Fill the sum of each row."""
    for row in range(len(total)):
        total[row] = 0.0
        for e in range(first[row], first[row + 1]):
            total[row] += values[e]


@entry
def carry(first: Ints, link: Ints32, coefficient: Floats, class_bytes: Floats, link_bytes: Floats) -> None:
    """Add what each class carries to its links."""
    for row in range(len(class_bytes)):
        for e in range(first[row], first[row + 1]):
            link_bytes[link[e]] += class_bytes[row] * coefficient[e]
