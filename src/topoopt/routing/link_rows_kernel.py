"""The links of pairs that are those of other pairs, turned: compiled.

Arrays
------
row, turn : int32 (pairs,)       the row of each pair, and what its turn adds to the codes of links
row_first : int64 (rows+1,)      links of a row, as codes
row_code, row_share : int32, float64 (steps,)
link_of : int32 (links,)         link of a code
first : int64 (pairs+1,)         where the links of each pair begin
link, share : int32, float64 (entries,)  filled
"""

from topoopt.base.arrays import Floats, Ints, Ints32
from topoopt.base.kernel import concurrent_entry


@concurrent_entry
def turn_links(
    row: Ints32,
    turn: Ints32,
    row_first: Ints,
    row_code: Ints32,
    row_share: Floats,
    link_of: Ints32,
    first: Ints,
    link: Ints32,
    share: Floats,
) -> None:
    """Fill the links of every pair."""
    links = len(link_of)
    for pair in range(len(row)):
        place = first[pair]
        for e in range(row_first[row[pair]], row_first[row[pair] + 1]):
            code = row_code[e] + turn[pair]
            link[place] = link_of[code if code < links else code - links]
            share[place] = row_share[e]
            place += 1
