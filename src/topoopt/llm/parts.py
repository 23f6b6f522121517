"""Some of several parts, as a word and as the bits of a column."""

from collections.abc import Sequence

from topoopt.errors import check_known


def bits_of_parts(key: str, word: str, parts: Sequence[str], alone: Sequence[str]) -> int:
    """Return the bits of parts that are joined by ``+``.

    Parameters
    ----------
    key : str
        What is asked for; it stands in front of a complaint.
    alone : sequence of str
        Words that stand for some parts, and only by themselves: named to whoever writes an unknown word.

    Raises
    ------
    InvalidInput
        For an unknown part, with the known ones.

    Examples
    --------
    >>> bits_of_parts("unfused", "norms+activation", ("norms", "rotary", "activation"), ("all",))
    5
    """
    written = word.split("+")
    for part in written:
        check_known(key, part, parts if len(written) > 1 else (*alone, *parts))
    return sum(1 << parts.index(part) for part in dict.fromkeys(written))
