"""Servers that the experts of a token are spread over, against all ways of choosing experts."""

from itertools import combinations
from statistics import mean

import pytest

from topoopt.transformers.communication.message import expected_places


@pytest.mark.parametrize(("experts", "chosen"), [(8, 2), (12, 3), (6, 6)])
@pytest.mark.parametrize("places", [1, 2, 3, 6])
def test_places_are_counted_over_all_choices(experts: int, chosen: int, places: int) -> None:
    if experts % places:
        pytest.skip("blocks are even")
    size = experts // places
    counted = mean(len({one // size for one in some}) for some in combinations(range(experts), chosen))
    assert expected_places(experts, chosen, places) == pytest.approx(counted)


@pytest.mark.parametrize("places", [2, 3, 6, 12])
def test_limited_to_groups_places_are_counted_over_all_choices(places: int) -> None:
    """12 experts in 6 groups, 3 of a token in at most 2 groups: any 3 of the experts of any 2 groups."""
    groups, limit, chosen, size = 6, 2, 3, 12 // places
    counts = [
        len({one // size for one in some})
        for two in combinations(range(groups), limit)
        for some in combinations([2 * group + each for group in two for each in (0, 1)], chosen)
    ]
    assert expected_places(12, chosen, places, groups, limit) == pytest.approx(mean(counts))


def test_deepseek_tokens_reach_at_most_four_of_eight_servers() -> None:
    """DeepSeek-V3, section 2.1.2: at most 4 nodes; without the limit more than 5."""
    assert 3.5 < expected_places(256, 8, 8, 8, 4) <= 4
    assert expected_places(256, 8, 8) == pytest.approx(5.295, abs=1e-3)
