"""CASSINI's snapshots: our profiles beside the published table, and shifts that give what they promise."""

from typing import Any

import pytest

from tests.plugins.papers.studies_run import run
from topoopt.clusters import TraceJob, cassini_snapshots
from topoopt.clusters.interleave import CommunicationProfile, Phase
from topoopt.plugins.papers.cassini import LINK_BPS, SCHEDULES, at_one_time, on_one_link, profile_of

pytestmark = pytest.mark.reproduction


def rows(**wanted: Any) -> list[Any]:
    return [row for row in run("cassini").rows if all(row[key] == value for key, value in wanted.items())]


@pytest.mark.parametrize("workers", [2, 3])
def test_a_profile_sends_the_ring_of_the_published_parameters(workers: int) -> None:
    job = TraceJob("a", "vgg16-cassini", workers, 0.0, 1.0, batch_per_accelerator=1400)
    profile = profile_of(job, workers)
    ring_bytes = 2 * (workers - 1) / workers * 4 * 138_357_544
    assert profile.size_bytes == pytest.approx(ring_bytes, rel=1e-3)
    # The published VGG16: an iteration of 255 ms. Computing is the roofline's, nothing is fitted.
    assert profile.iteration_time_s == pytest.approx(0.255, rel=0.06)
    assert profile.peak_bps <= LINK_BPS * (1 + 1e-9)


def test_jobs_of_one_iteration_time_send_the_same() -> None:
    profiles = [
        CommunicationProfile(name, time_s, (Phase(0.0, 0.1, 1e9),))
        for name, time_s in (("a", 0.3), ("b", 0.5))
    ]
    equal = at_one_time(profiles)
    assert [profile.iteration_time_s for profile in equal] == [0.5, 0.5]
    assert [profile.phases for profile in equal] == [profile.phases for profile in profiles]


def test_two_jobs_that_fit_are_kept_apart_by_shifts_and_by_mltcp_alone() -> None:
    profiles = [CommunicationProfile(name, 0.2, (Phase(0.0, 0.08, LINK_BPS),)) for name in "ab"]
    link = on_one_link(profiles)
    assert link.interleaving.score == 1.0
    assert link.communications_s["cassini"] == pytest.approx([0.08, 0.08], rel=1e-6)
    assert link.communications_s["mltcp"] == pytest.approx([0.08, 0.08], rel=0.03)
    # Two jobs that begin at random overlap at any offset up to 0.08 of 0.2 s; each loses what overlaps: on average
    # 2 · 0.08² / (2 · 0.2) of a second.
    assert link.communications_s["fair"] == pytest.approx([0.112, 0.112], rel=0.15)
    assert link.ecn_marks["cassini"] < 0.01 * link.ecn_marks["fair"]


def test_a_snapshot_that_fits_is_kept_apart_by_shifts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the cases of the study, with few draws of the moments at which jobs begin."""
    monkeypatch.setattr("topoopt.plugins.papers.cassini.DRAWS", 3)
    link = on_one_link(at_one_time([profile_of(job, 3) for job in cassini_snapshots()[1]]))
    assert link.interleaving.score > 0.98
    assert (link.communications_s["cassini"] < 0.75 * link.communications_s["fair"]).all()
    assert link.ecn_marks["cassini"] < 0.25 * link.ecn_marks["fair"]


@pytest.mark.long
def test_every_snapshot_is_reported_with_two_and_three_workers_at_both_times() -> None:
    assert len(rows(what="snapshot")) == 12 * 2 * 2
    scores = {(row["name"], row["workers"], row["periods"]): row["score"] for row in rows(what="snapshot")}
    assert len(scores) == 5 * 2 * 2
    for name in "12345":
        for workers in (2, 3):
            assert scores[name, workers, "one"] >= scores[name, workers, "own"] - 1e-9


@pytest.mark.long
def test_at_one_time_snapshots_1_and_2_fit_as_published_and_5_least_of_those_with_three_jobs() -> None:
    score = {row["name"]: row["score"] for row in rows(what="snapshot", workers=3, periods="one")}
    assert min(score["1"], score["2"]) > 0.98
    assert score["5"] < score["2"]
    assert score["3"] < score["1"]


@pytest.mark.long
def test_shifts_shorten_the_communication_of_snapshots_that_fit() -> None:
    for row in rows(what="snapshot", workers=3, periods="one"):
        if row["score"] > 0.98:
            assert row["cassini_communication_time_s"] < 0.75 * row["fair_communication_time_s"]
            assert row["cassini_ecn_marks_per_s"] < 0.25 * row["fair_ecn_marks_per_s"]


@pytest.mark.long
def test_pairs_published_as_incompatible_have_scores_below_1() -> None:
    for name in ("XLM+WideResNet101", "XLM+DLRM"):
        assert all(row["score"] < 0.9 for row in rows(what="pairs", name=name, periods="own"))


@pytest.mark.long
def test_traces_are_run_by_every_scheduler_and_only_the_ideal_loses_nothing() -> None:
    for kind in ("poisson", "dynamic"):
        found = {row["scheduler"]: row for row in rows(what="trace", name=kind)}
        assert list(found) == list(SCHEDULES)
        assert len({row["trace_jobs"] for row in found.values()}) == 1
        ideal = found.pop("ideal")
        assert ideal["mean_slowdown"] == pytest.approx(1.0, rel=1e-9)
        assert ideal["ecn_marks_per_iteration"] == 0.0
        for row in found.values():
            assert row["mean_slowdown"] >= 1 - 1e-9
            assert row["p99_iteration_time_s"] >= row["mean_iteration_time_s"] > 0
            assert (row["compatibility"] is not None) == ("cassini" in row["scheduler"])
