"""Some of several parts, as a word and as the bits of a column."""

from collections.abc import Sequence

from topoopt.base.errors import InvalidInput, hint


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
        For an unknown part, with the known ones and with the words that stand alone; for one of those beside others.

    Examples
    --------
    >>> bits_of_parts("unfused", "norms+activation", ("norms", "rotary", "activation"), ("all",))
    5
    """
    written = word.split("+")
    for part in written:
        if part not in parts:
            raise _unknown(key, word, part, parts, alone)
    return sum(1 << parts.index(part) for part in dict.fromkeys(written))


def _unknown(key: str, word: str, part: str, parts: Sequence[str], alone: Sequence[str]) -> InvalidInput:
    place = key if word == part else f"{key} {word}"
    if part in alone:
        return InvalidInput(
            f'{place}: "{part}" stands alone; parts that may be joined by +: {", ".join(parts)}'
        )
    known = hint(part, (*alone, *parts) if word == part else parts)
    rest = "" if word == part else f"; {', '.join(alone)} stand alone"
    return InvalidInput(f'{place}: unknown name "{part}"; {known}{rest}')
