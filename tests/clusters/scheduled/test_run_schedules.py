"""A trace under several schedulers: one result that can be written, read and shown."""

import json
from dataclasses import replace
from pathlib import Path

import jsonschema
import pytest

from tests.published_schemas import published
from topoopt.clusters import (
    ClusterResult,
    Machine,
    ScheduledCluster,
    ScheduleSettings,
    Trace,
    TraceJob,
    cassini_24,
    result_from_mapping,
    run_schedules,
    write_cluster_result,
)
from topoopt.jobs import JobSettings
from topoopt.pages import make_page
from topoopt.pages.cluster_page import schedule_charts
from topoopt.pages.cluster_tables import more_than_alone

MACHINE = Machine(50e9, 1e-6, "a100", JobSettings(), "analytic")
JOBS = tuple(
    TraceJob(str(number), "vgg16-cassini", 6, 0.0, iterations=200, batch_per_accelerator=1800)
    for number in range(4)
)
SCHEDULES = (
    ScheduleSettings("proximity"),
    ScheduleSettings("proximity", cassini=True),
    ScheduleSettings("proximity", sharing="mltcp"),
    ScheduleSettings("ideal"),
)


@pytest.fixture(scope="module")
def result() -> ClusterResult:
    return run_schedules(Trace("t", JOBS), ScheduledCluster(cassini_24(), MACHINE, SCHEDULES))


def test_every_scheduler_has_a_row_with_every_job(result: ClusterResult) -> None:
    names = [run.schedule.scheduler for run in result.fabrics if run.schedule]
    assert names == ["proximity", "proximity+cassini", "proximity+mltcp", "ideal"]
    for run in result.fabrics:
        assert run.fabric == "cassini-24"
        assert run.schedule is not None
        assert len(run.schedule.jobs) == len(run.jobs) == 4
        assert {job.iterations for job in run.jobs} == {200.0}


def test_jobs_get_in_each_others_way_until_they_are_shifted_or_shift_themselves(
    result: ClusterResult,
) -> None:
    """Jobs of six have half a rack of another job's, and share its uplinks where paths collide."""
    plain, shifted, weighted, alone = result.fabrics
    assert more_than_alone(alone) == pytest.approx(0.0, abs=1e-6)
    assert more_than_alone(plain) > 0.02
    assert more_than_alone(shifted) < more_than_alone(plain) / 2
    assert more_than_alone(weighted) < more_than_alone(plain) / 2  # MLTCP settles within the 200 iterations
    marks = [run.schedule.ecn_marks_per_iteration for run in result.fabrics if run.schedule]
    assert marks[1] < marks[0] / 2
    assert marks[3] == 0


def test_compatibility_is_told_where_cassini_chooses(result: ClusterResult) -> None:
    scores = [run.schedule.compatibility for run in result.fabrics if run.schedule]
    assert scores[1] is not None
    assert 0.5 < scores[1] <= 1.0
    assert scores[0] is scores[2] is scores[3] is None


def test_the_file_holds_the_result_and_follows_the_schema(result: ClusterResult, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    write_cluster_result(path, result)
    document = json.loads(path.read_text())
    assert result_from_mapping(document) == result
    jsonschema.validate(document, published("cluster"))
    assert document["fabrics"][1]["schedule"]["scheduler"] == "proximity+cassini"


def test_where_jobs_have_whole_servers_the_document_is_as_it_was(result: ClusterResult) -> None:
    run = replace(result.fabrics[0], schedule=None)
    assert "schedule" not in replace(result, fabrics=(run,)).to_json()["fabrics"][0]


def test_the_page_names_schedulers_where_others_name_fabrics(result: ClusterResult) -> None:
    page = make_page(result)
    assert page.headline.startswith("With proximity an iteration takes ")
    assert " × with proximity+cassini" in page.headline
    assert "fibers" not in str(page).lower()
    (table,) = [block for block in page.sections[0].blocks if getattr(block, "title", "") == "Schedulers"]
    assert [row[0] for row in table.rows] == ["proximity", "proximity+cassini", "proximity+mltcp", "ideal"]  # type: ignore[union-attr]


def test_charts_say_what_sharing_adds(result: ClusterResult) -> None:
    added, marks = schedule_charts(result)
    own, more = added.series
    assert own.x == ("proximity", "proximity+cassini", "proximity+mltcp", "ideal")
    assert more.y[3] == pytest.approx(0.0, abs=1e-6)
    assert more.y[0] / own.y[0] == pytest.approx(more_than_alone(result.fabrics[0]), rel=0.05)
    assert marks.series[0].y[3] == 0
    assert schedule_charts(replace(result, fabrics=())) == ()


def test_equal_seeds_give_equal_bytes(result: ClusterResult) -> None:
    again = run_schedules(Trace("t", JOBS), ScheduledCluster(cassini_24(), MACHINE, SCHEDULES))
    assert json.dumps(again.to_json()) == json.dumps(result.to_json())
