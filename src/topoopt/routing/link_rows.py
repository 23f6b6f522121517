"""The noun LinkRows: which links many pairs use, where those of one are those of another, turned."""

from dataclasses import dataclass, replace

import numpy as np

from topoopt.base.arrays import Ints, Ints32
from topoopt.routing.link_rows_kernel import turn_links
from topoopt.routing.pair_links import PairLinks


@dataclass(frozen=True, slots=True)
class LinkRows:
    """Links of a list of ordered pairs: of a few rows, each of them that of many pairs but for a turn.

    The links of pair k are ``link_of[(rows.link + turn[k]) % links]`` of the row ``row[k]``, with its shares.

    Attributes
    ----------
    rows : PairLinks
        With codes in the place of links.
    row, turn : int32 arrays, shape (pairs,)
        The row of each pair, and what its turn adds to codes.
    link_of : int32 array, shape (links,)
        The link of each code.
    """

    rows: PairLinks
    row: Ints32
    turn: Ints32
    link_of: Ints32

    @property
    def is_laid_out(self) -> bool:
        """Whether every pair has the row of its number, and codes are links."""
        alone = len(self.row) == len(self.rows) and not self.turn.any()
        return alone and all((part == np.arange(len(part))).all() for part in (self.row, self.link_of))

    def laid_out(self) -> PairLinks:
        """Return the links pair by pair."""
        if self.is_laid_out:
            return self.rows
        size = np.diff(self.rows.pair_first)[self.row]
        first = np.concatenate(([0], np.cumsum(size)))
        link, share = np.empty(first[-1], np.int32), np.empty(first[-1])
        rows = self.rows
        turn_links(
            self.row, self.turn, rows.pair_first, rows.link, rows.share, self.link_of, first, link, share
        )
        return PairLinks(first, link, share)


def own_rows(pairs: PairLinks, links: int) -> LinkRows:
    """Return links of pairs of which each has a row of its own."""
    count = len(pairs)
    return LinkRows(
        pairs, np.arange(count, dtype=np.int32), np.zeros(count, np.int32), np.arange(links, dtype=np.int32)
    )


def turned_rows(
    rows: PairLinks, row: Ints, turn: Ints, link_of: Ints32, code: Ints32 | None = None
) -> LinkRows:
    """Return links of pairs of which some have one row; ``code`` is that of each link, where rows have links."""
    coded = rows if code is None else replace(rows, link=code[rows.link])
    return LinkRows(coded, row.astype(np.int32), turn.astype(np.int32), link_of)
