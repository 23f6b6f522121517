"""Ways of sharing a link beside each other: where they settle, and that the theory agrees with what is simulated."""

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import (
    SHARING_WAYS,
    CommunicationProfile,
    Phase,
    SharingComparison,
    SharingCourse,
    SharingQuestion,
    compare_ways,
    equal_jobs,
    offsets_s,
    predict_sharing,
)
from topoopt.simulation import DECREASING, FAIR, Aggressiveness


def course_of(answer: SharingComparison, way: str) -> SharingCourse:
    return next(course for course in answer.courses if course.way == way)


def slowdowns(answer: SharingComparison) -> dict[str, float]:
    return {course.way: course.slowdown(answer.alone_s) for course in answer.courses}


def test_two_jobs_that_fit_settle_as_on_links_of_their_own_but_for_fair_sharing() -> None:
    answer = compare_ways(equal_jobs((0.4, 0.4), 1.0, 50e9))
    assert list(slowdowns(answer)) == list(SHARING_WAYS)
    expected = {"mltcp": 1.0, "fair": 1.38, "static": 1.0016, "cassini": 1.0, "ideal": 1.0}
    assert slowdowns(answer) == pytest.approx(expected, abs=1e-4)
    assert course_of(answer, "cassini").ecn_marks == 0
    assert course_of(answer, "fair").ecn_marks > 10 * course_of(answer, "mltcp").ecn_marks


def test_the_theory_is_what_is_simulated() -> None:
    answer = compare_ways(equal_jobs((0.4, 0.4), 1.0, 50e9), ("mltcp", "fair"))
    known, course = answer.prediction, answer.courses[0]
    assert known is not None
    np.testing.assert_allclose(course.jobs[0].time_s, known.iteration_times_s, atol=3e-5)
    np.testing.assert_allclose(course.jobs[1].offset_s, 0.4 * known.offsets[:-1], atol=3e-5)
    np.testing.assert_allclose(answer.courses[1].time_s, known.fair_iteration_time_s)
    assert known.iterations_to_converge == 4
    assert known.offsets[4] >= 0.99 > known.offsets[3]


def test_jobs_that_do_not_fit_settle_where_the_theory_says() -> None:
    answer = compare_ways(equal_jobs((0.6, 0.6), 1.0, 50e9), ("mltcp", "fair", "cassini"))
    assert answer.prediction is not None
    assert answer.prediction.settled_iteration_time_s == pytest.approx(1.2)
    assert answer.prediction.iterations_to_converge is None
    assert slowdowns(answer) == pytest.approx({"mltcp": 1.2, "fair": 1.57, "cassini": 1.2}, abs=1e-4)


def test_three_jobs_find_their_turns_too() -> None:
    answer = compare_ways(equal_jobs((0.3, 0.3, 0.3), 1.0, 50e9), ("mltcp", "cassini"))
    assert slowdowns(answer) == pytest.approx({"mltcp": 1.0, "cassini": 1.0}, abs=1e-3)
    assert answer.prediction is None


def test_a_decreasing_form_locks_jobs_in_full_overlap() -> None:
    asked = equal_jobs((0.4, 0.4), 1.0, 50e9)
    locked = SharingQuestion(asked.profiles, 50e9, offset=0.8, iterations=60, aggressiveness=DECREASING)
    answer = compare_ways(locked, ("mltcp",))
    assert slowdowns(answer)["mltcp"] == pytest.approx(1.4, abs=1e-3)
    assert answer.prediction is not None
    assert answer.prediction.settled_iteration_time_s == pytest.approx(1.4)
    assert answer.prediction.iterations_to_converge is None


def test_what_stays_together_is_predicted_to_stay() -> None:
    asked = equal_jobs((0.4, 0.4), 1.0, 50e9)
    for offset, form, settled in ((0.0, Aggressiveness(), 1.4), (0.25, FAIR, 1.3)):
        question = SharingQuestion(asked.profiles, 50e9, offset=offset, aggressiveness=form)
        answer = compare_ways(question, ("mltcp",))
        assert answer.prediction is not None
        assert answer.prediction.settled_iteration_time_s == pytest.approx(settled)
        assert slowdowns(answer)["mltcp"] == pytest.approx(settled)


def test_theory_waits_while_totals_are_learned() -> None:
    asked = equal_jobs((0.4, 0.4), 1.0, 50e9)
    answer = compare_ways(SharingQuestion(asked.profiles, 50e9, learning_iterations=3), ("mltcp",))
    known = answer.prediction
    assert known is not None
    assert known.iterations_to_converge == 7
    np.testing.assert_allclose(answer.courses[0].jobs[0].time_s[3:], known.iteration_times_s[3:], atol=3e-5)
    np.testing.assert_allclose(answer.courses[0].jobs[1].offset_s, 0.4 * known.offsets[:-1], atol=3e-5)


def test_jobs_with_noise_are_held_to_their_shifts() -> None:
    """Shifts that nobody holds are lost after some iterations; held ones are not, though the jobs wait for slots."""
    asked = equal_jobs((0.45, 0.45), 1.0, 50e9)
    noisy = SharingQuestion(asked.profiles, 50e9, noise=0.02, iterations=300)
    answer = compare_ways(noisy, ("fair", "cassini", "mltcp"))
    times = slowdowns(answer)
    assert times["cassini"] < 1.1 < times["fair"]
    assert times["mltcp"] < 1.1


def test_theory_is_for_two_equal_jobs_that_fill_the_link() -> None:
    def job(period_s: float, *phases: Phase) -> CommunicationProfile:
        return CommunicationProfile("a", period_s, phases)

    full, half = Phase(0.0, 0.3, 50e9), Phase(0.0, 0.3, 25e9)
    for jobs in (
        (job(1.0, full),),
        (job(1.0, full), job(1.1, full)),
        (job(1.0, half), job(1.0, half)),
        (job(1.0, full, Phase(0.5, 0.1, 50e9)),) * 2,
    ):
        assert predict_sharing(SharingQuestion(jobs, 50e9)) is None
    assert predict_sharing(SharingQuestion((job(1.0, full),) * 2, 50e9)) is not None
    assert predict_sharing(SharingQuestion((job(1.0, full),) * 2, 50e9, offset=1.2)) is None
    quadratic = predict_sharing(
        SharingQuestion((job(1.0, full),) * 2, 50e9, aggressiveness=Aggressiveness(form="quadratic"))
    )
    assert quadratic is not None
    assert not len(quadratic.landscape_loss)
    assert (quadratic.landscape_shift_s[1:-1] > 0).all()


def test_a_job_beyond_the_link_is_slow_also_on_a_link_of_its_own() -> None:
    job = CommunicationProfile("a", 1.0, (Phase(0.0, 0.2, 100e9),))
    answer = compare_ways(SharingQuestion((job,), 50e9), ("ideal", "mltcp"))
    assert answer.alone_s == pytest.approx((1.2,))
    assert slowdowns(answer) == pytest.approx({"ideal": 1.0, "mltcp": 1.0})


def test_offsets_count_from_the_last_begin_of_the_first_job() -> None:
    first = np.array([0.0, 1.0, 2.0])
    assert offsets_s(first, np.array([0.1, 1.0, 1.9, 2.5])).tolist() == pytest.approx([0.1, 0.0, 0.9, 0.5])
    assert offsets_s(np.array([1.0]), np.array([0.25])).tolist() == [-0.75]
    assert offsets_s(np.zeros(0), np.array([0.25])).tolist() == [0.0]


def test_the_json_has_a_row_for_each_way_and_iteration() -> None:
    document = compare_ways(equal_jobs((0.4, 0.4), 1.0, 50e9), ("fair", "mltcp")).to_json()
    assert [row["way"] for row in document["ways"]] == ["fair", "mltcp"]
    for row in document["ways"]:
        assert [len(job["iteration_time_s"]) for job in row["jobs"]] == [20, 20]
        assert [len(job["offset_s"]) for job in row["jobs"]] == [20, 20]
    assert document["theory"]["iterations_to_converge"] == 4


def test_progress_names_the_ways() -> None:
    told: list[tuple[str, int, int]] = []
    compare_ways(equal_jobs((0.4, 0.4), 1.0, 50e9), ("fair", "ideal"), lambda *row: told.append(row))
    assert told == [("simulating: fair", 0, 2), ("simulating: ideal", 1, 2)]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"profiles": ()}, "jobs: expected at least one"),
        ({"capacity_bps": 0.0}, "capacity: expected a rate > 0"),
        ({"iterations": 0}, "iterations: expected an integer >= 1"),
        ({"offset": -0.1}, "offset -0.1"),
        ({"noise": 0.6}, "noise 0.6"),
        ({"static_part": 0.2}, "part 0.2"),
        ({"learning_iterations": -1}, "learn"),
        ({"seed": -1}, "seed"),
    ],
)
def test_what_cannot_be_asked_is_one_line(words: dict[str, object], says: str) -> None:
    given = {"profiles": equal_jobs((0.4,), 1.0, 50e9).profiles, "capacity_bps": 50e9, **words}
    with pytest.raises(InvalidInput, match=says):
        SharingQuestion(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("part", [0.0, 1.0, -0.4])
def test_parts_of_a_period_are_parts(part: float) -> None:
    with pytest.raises(InvalidInput, match="communication"):
        equal_jobs((0.4, part), 1.0, 50e9)


@pytest.mark.parametrize(
    ("ways", "says"),
    [((), "expected some of"), (("fare",), "did you mean fair"), (("fair", "fair"), "each stands once")],
)
def test_ways_are_names_each_once(ways: tuple[str, ...], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        compare_ways(equal_jobs((0.4, 0.4), 1.0, 50e9), ways)


def test_jobs_whose_circle_is_too_long_can_do_without_cassini() -> None:
    jobs = tuple(
        CommunicationProfile(name, period_s, (Phase(0.0, 0.3, 50e9),))
        for name, period_s in (("a", 10.007), ("b", 9.973))
    )
    asked = SharingQuestion(jobs, 50e9, iterations=3)
    with pytest.raises(InvalidInput, match=r"way cassini: .*leave it out, such as with ways mltcp,fair"):
        compare_ways(asked)
    assert len(compare_ways(asked, ("mltcp", "fair")).courses) == 2
