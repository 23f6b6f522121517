"""A wiring that looks the same from every server, in words: ``server i to i ± 1, i ± 5 (mod 16)``."""

from collections import Counter
from collections.abc import Iterable


def wiring_words(servers: int, offsets: Iterable[int], links: str) -> str:
    """Say whom every server is wired to, and by how many cables where it is more than one.

    Parameters
    ----------
    offsets
        The steps that every server has a link along, one entry a link; of a duplex cable both directions.

    Examples
    --------
    >>> wiring_words(16, [1, 15, 8], "duplex")
    'server i to i ± 1, i + 8 (mod 16)'
    >>> wiring_words(2, [1, 1, 1, 1], "duplex")
    'server i to i + 1 by 4 cables (mod 2)'
    """
    cables = Counter(offsets)
    if links == "duplex":
        cables = Counter({offset: count for offset, count in cables.items() if 2 * offset <= servers})
    ends = [
        f"i {_sign(servers, offset, links)} {offset}{f' by {count} cables' if count > 1 else ''}"
        for offset, count in sorted(cables.items())
    ]
    return f"server i to {', '.join(ends)} (mod {servers})"


def family_words(family: str, group: int) -> str:
    """Say of which family a wiring is, and how often its links are repeated around the circle.

    Examples
    --------
    >>> family_words("lifted", 32), family_words("expander", 1)
    ('lifted, repeated 32 times', 'expander')
    """
    return f"{family}{f', repeated {group} times' if group > 1 else ''}"


def _sign(servers: int, offset: int, links: str) -> str:
    """Half way around, both directions end at the same server."""
    return "±" if links == "duplex" and 2 * offset != servers else "+"
