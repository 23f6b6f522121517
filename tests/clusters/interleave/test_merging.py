"""Which links become one in the affinity graph, and which ask for nothing."""

import pytest

from tests.clusters.interleave.test_shared_link import on_off
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import MERGING, SharedLink, merge_links


def link(
    name: str, *jobs: str, capacity_bps: float = 50e9, cable: str = "", length_s: float = 0.04
) -> SharedLink:
    return SharedLink(name, capacity_bps, tuple(on_off(job, 0.0, length_s) for job in jobs), cable)


def groups(links: list[SharedLink], merging: str) -> list[tuple[str, list[str]]]:
    return [(one.decides.link, [part.link for part in one.links]) for one in merge_links(links, merging)]


def test_links_of_the_same_jobs_and_demands_become_one_and_the_least_capacity_decides() -> None:
    links = [link("x", "a", "b"), link("y", "b", "a", capacity_bps=25e9), link("z", "a", "b", length_s=0.05)]
    assert groups(links, "identical") == [("y", ["y", "x"]), ("z", ["z"])]
    assert groups(links, "strict") == [("x", ["x"]), ("y", ["y"]), ("z", ["z"])]


def test_links_whose_jobs_are_all_on_a_fuller_one_are_contained() -> None:
    links = [link("x", "a", "b"), link("y", "a", "b", "c"), link("z", "c", "d")]
    assert groups(links, "identical") == [("y", ["y"]), ("x", ["x"]), ("z", ["z"])]
    assert groups(links, "contained") == [("y", ["y", "x"]), ("z", ["z"])]


def test_the_directions_of_a_cable_become_one_where_the_same_jobs_meet_on_both() -> None:
    there = SharedLink("x>y", 50e9, (on_off("a", 0.0, 0.02), on_off("b", 0.0, 0.02)), "x-y")
    back = SharedLink("y>x", 50e9, (on_off("a", 0.03, 0.02), on_off("b", 0.0, 0.02)), "x-y")
    (cable,) = merge_links([there, back])
    assert [part.link for part in cable.links] == ["x>y", "y>x"]
    assert [phase.start_s for phase in cable.decides.jobs["a"].phases] == [0.0, 0.03]
    assert cable.decides.jobs["b"].duty == pytest.approx(0.2)
    other = SharedLink("y>x", 50e9, (on_off("a", 0.03, 0.02), on_off("c", 0.0, 0.02)), "x-y")
    assert groups([there, other], "identical") == [("x>y", ["x>y"]), ("y>x", ["y>x"])]


@pytest.mark.parametrize("merging", MERGING)
def test_links_of_one_job_are_left_out_and_those_never_short_but_in_strict_mode(merging: str) -> None:
    links = [link("x", "a"), link("y", "a", "b", capacity_bps=100e9)]
    assert groups(links, merging) == ([("y", ["y"])] if merging == "strict" else [])


def test_links_without_a_cable_are_no_cable_together() -> None:
    assert len(merge_links([link("x", "a", "b"), link("y", "a", "b", length_s=0.05)])) == 2


def test_a_misspelled_way_to_merge_is_one_line() -> None:
    with pytest.raises(InvalidInput, match='merging: unknown name "stric"; did you mean strict'):
        merge_links([], "stric")
