"""Candidates for placement: different, complete, as near as can be."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.clusters.scheduling.decision import candidate_placements, nearest_servers
from topoopt.clusters.scheduling.network import cassini_24

NETWORK = cassini_24()


@pytest.mark.parametrize("near", [True, False])
@given(sizes=st.lists(st.integers(1, 5), min_size=1, max_size=4), seed=st.integers(0, 9))
def test_every_candidate_places_every_job_once(near: bool, sizes: list[int], seed: int) -> None:
    wanted = {f"job {number}": size for number, size in enumerate(sizes)}
    kept = {"there": (5, 6), "job 0": (11,)}
    candidates = candidate_placements(NETWORK, kept, wanted, near, 10, np.random.default_rng(seed))
    assert 1 <= len(candidates) <= 10
    assert len({tuple(sorted(one.items())) for one in candidates}) == len(candidates)
    for placement in candidates:
        servers = [server for some in placement.values() for server in some]
        assert len(set(servers)) == len(servers) == 3 + sum(sizes)
        assert set(placement["job 0"]) > {11}
        assert placement["there"] == (5, 6)


def test_near_workers_take_the_rack_that_they_fill_best() -> None:
    assert nearest_servers(NETWORK, {0, 1, 2, 3, 4, 5, 8}, 2) == (4, 5)
    assert nearest_servers(NETWORK, {0, 1, 2, 3, 4, 5, 8}, 1) == (8,)


def test_more_workers_than_a_rack_has_stay_in_a_pod() -> None:
    """Eight free in each pod; in the first one they are in two racks."""
    free = set(range(8)) | {12, 13, 14, 16, 17, 18, 20, 21}
    assert set(nearest_servers(NETWORK, free, 6)) == {0, 1, 2, 3, 4, 5}


def test_a_job_grows_where_it_is() -> None:
    assert nearest_servers(NETWORK, {1, 8, 12}, 1, own=(9, 10)) == (8,)


def test_one_candidate_draws_nothing_for_a_scheduler_that_places_nearby() -> None:
    rng = np.random.default_rng(0)
    before = rng.bit_generator.state
    candidate_placements(NETWORK, {}, {"a": 4, "b": 4}, True, 1, rng)
    assert rng.bit_generator.state == before


def test_ten_candidates_are_found_where_there_are_many() -> None:
    wanted = dict.fromkeys("abcd", 5)
    assert len(candidate_placements(NETWORK, {}, wanted, True, 10, np.random.default_rng(0))) == 10
