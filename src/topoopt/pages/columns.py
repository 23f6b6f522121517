"""How wide the columns of a table are, and which of them stand beside each other, in a terminal of given width."""

from collections.abc import Sequence
from itertools import pairwise

SENTENCE = 24
"""A last column of text is not made narrower than this; what is shorter is a name and is not wrapped."""

BETWEEN = 3
"""Spaces between two columns."""


def column_blocks(
    headings: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str], width: int
) -> list[dict[int, int]]:
    """Return the blocks of a table, each from column index to width in characters.

    One block where everything fits in ``width``, headings and the sentences of the last column wrapped if they
    must be. Otherwise several, each starting with column 0.

    Examples
    --------
    >>> column_blocks(("fabric", "price"), [("torus", "$59.3 k")], ("price",), 80)
    [{0: 6, 1: 7}]
    >>> column_blocks(("name", "ports", "watts"), [("SN2700", "32", "250 W")], (), 19)
    [{0: 6, 1: 5}, {0: 6, 2: 5}]
    """
    widest = [max([len(row[column]) for row in rows], default=0) for column in range(len(headings))]
    full = [max(len(heading), size) for heading, size in zip(headings, widest, strict=True)]
    least = [max(_longest_word(heading), size) for heading, size in zip(headings, widest, strict=True)]
    if headings[-1] not in numbers:
        words = max([_longest_word(row[-1]) for row in rows], default=0)
        least[-1] = min(least[-1], max(SENTENCE, words))
    if len(headings) == 1:
        return [{0: min(full[0], max(width - BETWEEN + 1, least[0]))}]
    return [_widened(block, least, full, width) for block in _split(least, width)]


def _split(least: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns of each block; one that is too wide by itself gets a block all the same."""
    blocks = [[0]]
    for column in range(1, len(least)):
        if len(blocks[-1]) > 1 and _taken(least, [*blocks[-1], column]) > width:
            blocks.append([0])
        blocks[-1].append(column)
    return blocks


def _widened(block: list[int], least: Sequence[int], full: Sequence[int], width: int) -> dict[int, int]:
    """Give what is left of the line to the last column, then to headings that would wrap."""
    spare = max(width - _taken(least, block), 0)
    sizes = {column: least[column] for column in block}
    for column in [block[-1], *block[:-1]]:
        more = min(full[column] - sizes[column], spare)
        sizes[column] += more
        spare -= more
    return sizes


def _taken(sizes: Sequence[int], block: Sequence[int]) -> int:
    """Return the width of a line: a space at both ends, the columns and what is between them."""
    return 2 + sum(sizes[column] for column in block) + BETWEEN * sum(1 for _ in pairwise(block))


def _longest_word(text: str) -> int:
    return max([len(word) for word in text.split()], default=0)
