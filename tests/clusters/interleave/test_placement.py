"""Which placement is taken: scores, loops, ties, and the shifts that come with it."""

import pytest

from tests.clusters.interleave.test_shared_link import on_off
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import (
    Candidate,
    CommunicationProfile,
    InterleavingRules,
    SharedLink,
    choose_placement,
    judge_placement,
)

FAST = 50e9


def link(name: str, *profiles: CommunicationProfile, capacity_bps: float = FAST) -> SharedLink:
    return SharedLink(name, capacity_bps, profiles)


A, B, C, D = (on_off(job, 0.0, 0.0375) for job in "abcd")
"""Three eighths of the time at full rate: two of them fit a link, three do not."""


def test_two_jobs_that_fit_are_put_against_each_other() -> None:
    placement = judge_placement(Candidate("p", (link("x", A, B), link("y", A))))
    assert placement.score == 1.0
    assert placement.time_shifts_s == pytest.approx({"a": 0.0, "b": 0.05})
    assert [one.stands_for for one in placement.links] == [("x",)]


def test_three_on_one_link_have_the_score_of_the_duty_rule() -> None:
    # They ask for 9/8 of the link: at best two send at an eighth of the angles, and one at all others.
    assert judge_placement(Candidate("p", (link("x", A, B, C),))).score == pytest.approx(1 - 1 / 8)


def test_the_score_is_the_mean_over_all_links_with_several_jobs() -> None:
    wide = link("wide", A, B, C, capacity_bps=4 * FAST)
    placement = judge_placement(Candidate("p", (link("x", A, B, C), link("y", A, D), wide, link("z", B))))
    assert placement.score == pytest.approx((7 / 8 + 1.0 + 1.0) / 3)
    assert [one.link for one in placement.links] == ["x", "y"]


def test_merged_links_count_each_with_its_own_score() -> None:
    # Apart from each other each exceeds the narrow link by a fifth, for three eighths of the time.
    jobs = [on_off(job, 0.0, 0.0375, 30e9) for job in "ab"]
    placement = judge_placement(Candidate("p", (link("x", *jobs), link("narrow", *jobs, capacity_bps=25e9))))
    (both,) = placement.links
    assert both.link == "narrow"
    assert both.stands_for == ("narrow", "x")
    assert both.scores == pytest.approx((1 - 2 * 3 / 8 / 5, 1.0))
    assert placement.score == pytest.approx(0.925)


def test_the_highest_score_is_taken_and_of_equal_ones_the_first() -> None:
    crowded = Candidate("crowded", (link("x", A, B, C),))
    pairs = Candidate("pairs", (link("x", A, B), link("y", C, D)))
    others = Candidate("others", (link("x", A, C), link("y", B, D)))
    choice = choose_placement([crowded, pairs, others])
    assert (choice.chosen, choice.best.name) == (1, "pairs")
    assert choice.best.time_shifts_s == pytest.approx({"a": 0.0, "b": 0.05, "c": 0.0, "d": 0.05})


def test_a_loop_is_discarded_whatever_its_score_unless_links_are_alike() -> None:
    longer = on_off("a", 0.0, 0.04)
    loop = Candidate("loop", (link("x", A, B), link("y", longer, B)))
    crowded = Candidate("crowded", (link("x", A, B, C),))
    choice = choose_placement([loop, crowded])
    assert choice.best.name == "crowded"
    assert sum(bool(one.loop) for one in choice.placements) == 1
    assert choice.placements[0].loop == ("a", "y", "b", "x")
    alike = Candidate("alike", (link("x", A, B), link("y", A, B)))
    assert not judge_placement(alike).loop
    assert judge_placement(alike, InterleavingRules(merging="strict")).loop


def test_where_all_have_loops_the_schedulers_own_is_taken_and_nobody_is_shifted() -> None:
    loop = Candidate("loop", (link("x", A, B), link("y", on_off("a", 0.0, 0.04), B)))
    choice = choose_placement([loop, loop])
    assert (choice.chosen, sum(bool(one.loop) for one in choice.placements)) == (0, 2)
    assert choice.best.time_shifts_s == {"a": 0.0, "b": 0.0}


def test_a_contained_link_is_scored_with_the_shifts_of_the_fuller_one() -> None:
    third = [on_off(job, 0.0, 0.1 / 3) for job in "abc"]
    links = (link("x", *third), link("y", *third[:2]), link("z", *third[1:]))
    assert judge_placement(Candidate("p", links)).loop
    placement = judge_placement(Candidate("p", links), InterleavingRules(merging="contained"))
    assert not placement.loop
    assert placement.score == 1.0
    assert sorted(placement.time_shifts_s.values()) == pytest.approx([0.0, 0.1 / 3, 0.2 / 3], abs=0.1 / 72)


def test_iteration_times_that_are_nearly_alike_are_rounded_to_one() -> None:
    # 977 to 997 ms: at 20 ms a quantum all are 49 or 50 of them, at 50 ms 20, which takes 2 % of an iteration.
    times_s = (0.997, 0.991, 0.983, 0.977)
    jobs = [on_off(f"job {time_s}", 0.0, 0.2, period_s=time_s) for time_s in times_s]
    (judged,) = judge_placement(Candidate("p", (link("x", *jobs),))).links
    assert judged.rotation is not None
    assert judged.rotation.quanta == (20, 20, 20, 20)
    assert judged.rotation.stretch == pytest.approx(0.997 / 0.977 - 1)
    assert judged.scores == (1.0,)
    assert judged.rotation.unaligned_score < 0.9


def test_jobs_whose_times_have_nothing_in_common_are_not_aligned() -> None:
    # 137 and 251 ms: no rotation does more than chance, so the link asks for nothing and closes no loop.
    a, b = on_off("a", 0.0, 0.05, period_s=0.137), on_off("b", 0.0, 0.1, period_s=0.251)
    shorter = on_off("a", 0.0, 0.04, period_s=0.137)
    placement = judge_placement(Candidate("p", (link("x", a, b), link("y", shorter, b))))
    assert [one.rotation for one in placement.links] == [None, None]
    assert placement.loop == ()
    # Both on at once for the product of their duties.
    expected = [1 - 0.05 / 0.137 * 0.1 / 0.251, 1 - 0.04 / 0.137 * 0.1 / 0.251]
    assert [one.scores[0] for one in placement.links] == pytest.approx(expected)
    strict = judge_placement(
        Candidate("p", (link("x", a, b), link("y", shorter, b))), InterleavingRules(merging="strict")
    )
    assert strict.loop


def test_jobs_that_meet_nowhere_have_the_score_1() -> None:
    placement = judge_placement(Candidate("p", (link("x", A), link("y", B))))
    assert (placement.score, placement.time_shifts_s) == (1.0, {"a": 0.0, "b": 0.0})
    assert judge_placement(Candidate("empty", ())).score == 1.0


@pytest.mark.parametrize("count", [0, 11])
def test_the_number_of_candidates_is_bounded(count: int) -> None:
    with pytest.raises(InvalidInput, match=f"expected 1 to 10 candidates, got {count}"):
        choose_placement([Candidate("p", ())] * count)


@pytest.mark.parametrize(
    ("links", "says"),
    [
        ((link("x", A), link("x", B)), "placement p: link x is there twice"),
        (
            (link("x", A), link("y", on_off("a", 0.0, 0.05, period_s=0.2))),
            "placement p: job a: has iteration times",
        ),
    ],
)
def test_what_cannot_be_a_placement_is_one_line(links: tuple[SharedLink, ...], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        Candidate("p", links)
