"""Over how many servers, or ranks, the experts of a token are spread, by counting."""

from functools import cache
from math import comb, prod


@cache
def expected_places(
    experts: float, per_token: float, places: float, groups: float = 0, groups_per_token: float = 0
) -> float:
    """Return in how many of ``places`` equal parts of the experts those of a token lie, on average.

    A token's experts are any ``k`` of ``n``: a part of ``n/p`` of them has none with a probability of
    ``C(n - n/p, k)/C(n, k)``. With group-limited routing they are any ``k`` of the experts of ``g`` groups, which are
    any of ``G``: DeepSeek-V3's 8 of 256 experts on 8 servers lie in 3.63 of them instead of 5.29.

    Parameters
    ----------
    places : float
        Servers or ranks, each with a block of the experts; a fraction where blocks are uneven.
    groups, groups_per_token : float
        Of group-limited routing; 0 for none.

    References
    ----------
    .. [1] DeepSeek-AI, "DeepSeek-V3 Technical Report", 2024, sections 2.1.2 (node-limited routing) and 3.2.2.

    Examples
    --------
    >>> round(expected_places(8, 2, 2), 4), round(expected_places(256, 8, 8, 8, 4), 2)
    (1.5714, 3.63)
    """
    if places <= 1:
        return 1.0
    if not 0 < groups_per_token < groups:
        return places * (1 - _none(experts, experts / places, per_token))
    size = experts / groups
    if places >= groups:  # a place has a part of a group
        allowed = groups_per_token * size
        return places * groups_per_token / groups * (1 - _none(allowed, experts / places, per_token))
    held = max(round(groups / places), 1)  # a place has some groups
    missed = sum(
        _ways(held, few, int(groups), int(groups_per_token))
        * _none(groups_per_token * size, few * size, per_token)
        for few in range(min(held, int(groups_per_token)) + 1)
    )
    return places * (1 - missed)


def _ways(held: int, few: int, groups: int, chosen: int) -> float:
    """Return the probability that ``few`` of the ``held`` groups are among the chosen ones."""
    return comb(held, few) * comb(groups - held, chosen - few) / comb(groups, chosen)


def _none(count: float, here: float, chosen: float) -> float:
    """Return the probability that ``chosen`` of ``count`` experts are all outside of ``here`` of them."""
    outside = count - here
    if outside < chosen:
        return 0.0
    return prod((outside - step) / (count - step) for step in range(int(chosen)))
