"""Sums over the links of classes, added in order and without temporary arrays, compiled.

Arrays
------
first, code, coefficient : int64 (rows+1,), int32 (entries,), float64 (entries,)  the links of each row
row, turn : int32 (classes,)     the row of each class, and the offset of its codes
link_of : int32 (links,)         link of a code
class_bytes : float64 (classes,)
link_bytes : float64 (links,)    output
values, total : float64 (entries,), (classes,)
"""

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import entry


@entry
def add_rows(first: Ints, values: Floats, total: Floats) -> None:
    """Fill the sum of each row."""
    for row in range(len(total)):
        total[row] = 0.0
        for e in range(first[row], first[row + 1]):
            total[row] += values[e]


@entry
def carry(
    first: Ints,
    code: Ints32,
    coefficient: Floats,
    row: Ints32,
    turn: Ints32,
    link_of: Ints32,
    class_bytes: Floats,
    link_bytes: Floats,
) -> None:
    """Add the bytes of each class to its links."""
    links = len(link_of)
    for c in range(len(class_bytes)):
        for e in range(first[row[c]], first[row[c] + 1]):
            turned = code[e] + turn[c]
            link_bytes[link_of[turned if turned < links else turned - links]] += (
                class_bytes[c] * coefficient[e]
            )
