"""A trace on several fabrics: the same work everywhere, one result that can be written and read."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.published_schemas import published
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.clusters import (
    ClusterResult,
    ClusterSettings,
    PanelSettings,
    Trace,
    TraceJob,
    result_from_mapping,
    run_cluster,
    snapshot,
    write_cluster_result,
)
from topoopt.clusters.shards import servers_of_panels
from topoopt.search import SearchOptions

ROOT = Path(__file__).parents[2]
SETTINGS = ClusterSettings(ClusterSpec(32, 4, 100e9), search=SearchOptions(budget=0, balance=False))
TRACE = Trace(
    "t",
    (
        TraceJob("a", "vgg16", 16, 0.0, iterations=1000),
        TraceJob("b", "dlrm", 16, 5.0, duration_s=100.0),
        TraceJob("c", "vgg16", 16, 9.0, iterations=500),
    ),
)
FABRICS = ("topoopt", "topoopt-ocs", "fat-tree", "ideal-switch")


@pytest.fixture(scope="module")
def result() -> ClusterResult:
    return run_cluster(TRACE, SETTINGS, FABRICS)


def test_every_fabric_does_the_same_work(result: ClusterResult) -> None:
    assert [run.fabric for run in result.fabrics] == [
        "topoopt",
        "topoopt-ocs",
        "fat-tree",
        "fat-tree",
        "ideal-switch",
    ]
    work = {tuple((job.job, job.iterations) for job in run.jobs) for run in result.fabrics}
    assert len(work) == 1


def test_a_duration_is_that_with_an_ideal_switch_to_itself(result: ClusterResult) -> None:
    alone = run_cluster(Trace("t", (TRACE.jobs[1],)), SETTINGS, ("ideal-switch",)).fabrics[0].jobs[0]
    assert alone.end_s - alone.start_s == pytest.approx(
        100.0, rel=0.02
    )  # flows there, first come first served here


def test_jobs_of_one_kind_take_the_same_on_links_of_their_own(result: ClusterResult) -> None:
    for run in result.fabrics[:2]:
        first, _, third = (job.iteration_time_mean_s for job in run.jobs)
        assert first == pytest.approx(third, rel=1e-12)


@pytest.mark.parametrize("fabric", ["topoopt-ocs", "oversub-fat-tree", "torus"])
def test_jobs_that_start_and_end_together_take_what_a_snapshot_says(fabric: str) -> None:
    jobs = tuple(TraceJob(name, "dlrm", 16, 0.0, iterations=1) for name in "ab")
    (found,) = snapshot(jobs, SETTINGS, (fabric,))
    work = [100.0 / time.mean_s for time in found.times]  # so that both take 100 s
    trace = Trace("t", tuple(replace(job, iterations=many) for job, many in zip(jobs, work, strict=True)))
    run = run_cluster(trace, SETTINGS, (fabric,)).fabrics[0]
    assert [job.iteration_time_mean_s for job in run.jobs] == pytest.approx(
        [time.mean_s for time in found.times]
    )
    assert [job.end_s - job.start_s for job in run.jobs] == pytest.approx([100.0, 100.0])
    assert run.iteration_time_s.p99 == found.iteration_time_s.p99


def test_optical_circuit_switches_wait_milliseconds_where_panels_wait_minutes(result: ClusterResult) -> None:
    panels, ocs = result.fabrics[:2]
    assert 60 < panels.rewiring_s.max < 3600
    assert ocs.rewiring_s.max == pytest.approx(0.025)  # of a technology no relock is known


def test_without_look_ahead_a_new_wiring_is_waited_for_by_all() -> None:
    """Jobs of 8 after one of 16 do not find their rings in place."""
    jobs = [TraceJob("large", "vgg16", 16, 0.0, iterations=5000)]
    jobs += [TraceJob(name, "vgg16", 8, 10.0, iterations=5000) for name in ("left", "right")]
    settings = replace(SETTINGS, cluster=ClusterSpec(16, 4, 100e9))
    waits = {}
    for ahead in (True, False):
        how = replace(settings, panels=PanelSettings(look_ahead=ahead))
        waits[ahead] = [
            job.rewiring_s for job in run_cluster(Trace("t", tuple(jobs)), how, ("topoopt",)).fabrics[0].jobs
        ]
    assert waits[True][1:] == pytest.approx([0.01, 0.01])
    assert min(waits[False][1:]) > 30


def test_the_file_holds_the_result(result: ClusterResult, tmp_path: Path) -> None:
    path = tmp_path / "cluster.json"
    write_cluster_result(path, result)
    assert result_from_mapping(json.loads(path.read_text())) == result


def test_the_document_follows_the_published_schema(result: ClusterResult) -> None:
    jsonschema.validate(json.loads(json.dumps(result.to_json())), published("cluster"))


MISTAKES: list[tuple[Callable[[Any], object], str]] = [
    (lambda said: said.pop("format"), "expected format topoopt-cluster version 1, got no format"),
    (lambda said: said.update(version=9), "expected format topoopt-cluster version 1, got topoopt-cluster 9"),
    (lambda said: said.update(colour="red"), 'unknown key "colour"'),
    (lambda said: said["fabrics"][0]["jobs"][0].pop("end_s"), r'fabrics\[0\].jobs\[0\]: missing key "end_s"'),
    (lambda said: said["fabrics"][0]["jobs"][0].update(start_s="now"), "start_s: expected a number >= 0"),
]


@pytest.mark.parametrize(("change", "message"), MISTAKES)
def test_a_document_that_is_no_result_is_refused(
    change: Callable[[Any], object], message: str, result: ClusterResult
) -> None:
    document = json.loads(json.dumps(result.to_json()))
    change(document)
    with pytest.raises(InvalidInput, match=message):
        result_from_mapping(document)


def test_a_job_of_one_server_is_refused_where_jobs_have_links_between_servers() -> None:
    with pytest.raises(
        InvalidInput, match="t: job a: one server has nobody to send to; give it 2 or more, or a sche"
    ):
        run_cluster(Trace("t", (TraceJob("a", "vgg16", 1, 0.0, iterations=1),)), SETTINGS, FABRICS)


def test_fabrics_that_cannot_be_asked_for_are_refused() -> None:
    with pytest.raises(InvalidInput, match='fabric: unknown name "fat-tre"; did you mean fat-tree'):
        run_cluster(TRACE, SETTINGS, ("fat-tre",))


def test_a_job_is_no_larger_than_what_one_set_of_panels_joins() -> None:
    """Panels have 1,008 ports, piezo switches 576; around an odd number of servers two ports each are needed."""
    assert servers_of_panels("patch-panel", 1200, 600) == 600
    assert servers_of_panels("patch-panel", 1008, 1008) == 1008
    assert servers_of_panels("patch-panel", 600, 15, interfaces_per_panel=2) == 300
    with pytest.raises(
        Infeasible, match=r"all 1009 servers of a job goes to switch i, but patch-panel has 1008"
    ):
        servers_of_panels("patch-panel", 1009, 1009)
    with pytest.raises(Infeasible, match="piezo has 576 ports, and 3 sets of switches join 400 servers each"):
        servers_of_panels("piezo", 1200, 401)
    with pytest.raises(Infeasible, match="2 interfaces of all 505 servers of a job go to one switch"):
        servers_of_panels("patch-panel", 1008, 505, interfaces_per_panel=2)


@pytest.mark.long
@pytest.mark.parametrize("fabric", ["topoopt", "topoopt-ocs"])
def test_jobs_of_a_large_cluster_stay_within_one_set_of_panels(fabric: str) -> None:
    """1,200 servers are two sets of 600 behind panels, three of 400 behind piezo switches; 400 servers fit in each."""
    together = {"topoopt": 600, "topoopt-ocs": 400}[fabric]
    large = replace(SETTINGS, cluster=ClusterSpec(1200, 4, 100e9))
    sizes = (16, 390, 390, 16, 390, 200)
    jobs = tuple(TraceJob(f"{i}", "vgg16", size, float(i), iterations=1000) for i, size in enumerate(sizes))
    (run,) = run_cluster(Trace("t", jobs), large, (fabric,)).fabrics
    for job in run.jobs:
        assert len({server // together for server in job.servers}) == 1, job.servers
    assert [len(job.servers) for job in run.jobs] == list(sizes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"queue": "lifo"}, 'queue: unknown name "lifo"'),
        ({"placement": "here"}, 'placement: unknown name "here"'),
        ({"weighting": "bytes"}, 'weighting: unknown name "bytes"'),
        ({"ocs": "mirror"}, 'optical switch: unknown name "mirror"'),
        ({"logical_servers": 0}, "logical_servers: expected an integer >= 1, got 0"),
        ({"logical_servers": 8}, "logical_servers: degree 4 cannot be divided evenly by 8"),
    ],
)
def test_settings_that_make_no_sense_are_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        replace(SETTINGS, **changes)


@pytest.mark.parametrize("changes", [{"move_s": -1.0}, {"flip_s": float("nan")}, {"hands": -1}])
def test_panels_that_make_no_sense_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=next(iter(changes))):
        PanelSettings(**changes)
