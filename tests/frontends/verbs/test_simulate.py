"""``topoopt.simulate`` answers in Python what the command prints."""

import csv
from pathlib import Path

import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json

OWN_TO_EACH_RUN = ("cpu_s", "peak_memory_bytes", "packet_hops_per_cpu_s", "events_per_cpu_s")


@pytest.fixture(scope="module")
def plan() -> topoopt.Plan:
    return topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=0)


def test_the_words_are_the_flags(printed: Printed, plan: topoopt.Plan, tmp_path: Path) -> None:
    topoopt.write_plan(str(tmp_path / "plan.json"), plan)
    run = topoopt.simulate(
        plan, fabric="torus", bandwidth="50Gbps", simulator="packet", mark=20, latency=2e-6, collective="bulk"
    )
    flags = ("--fabric", "torus", "--bandwidth", "50Gbps", "--mark", "20", "--latency", "2us")
    answers = [
        printed("simulate", str(tmp_path / "plan.json"), *flags, "--collective", "bulk"),
        as_json(run.to_json()),
    ]
    for answer in answers:
        for key in OWN_TO_EACH_RUN:
            del answer[key]
    assert answers[0] == answers[1]


def test_a_plan_simulates_itself(plan: topoopt.Plan) -> None:
    run = plan.simulate("flow", steady_state=True)
    assert (run.result.simulator, run.iterations) == ("flow", 4)
    assert "steady state of 4 iterations" in topoopt.page_text(topoopt.page_of(run))


def test_several_plans_share_a_fabric(plan: topoopt.Plan) -> None:
    run = topoopt.simulate([plan, plan], fabric="fat-tree", simulator="flow")
    assert [row["servers"] for row in run.to_json()["jobs"]] == [list(range(8)), list(range(8, 16))]
    assert run.iteration_time_s >= plan.simulate("flow", fabric="fat-tree").iteration_time_s


def test_jobs_that_share_links_by_mltcp_part(tmp_path: Path) -> None:
    """Measured: alone 103 ms, under equal shares 150 ms from iteration to iteration, under MLTCP 108 ms in the end."""
    job = topoopt.plan("vgg16", servers=8, degree=2, fabrics=(), budget=0)
    last, alone = {}, topoopt.simulate(job, fabric="oversub-fat-tree", bandwidth="150Gbps", simulator="flow")
    for sharing in ("fair", "mltcp"):
        run = topoopt.simulate(
            [job, job], fabric="oversub-fat-tree", bandwidth="150Gbps", placement="strided", simulator="flow",
            iterations=15, begin=[0, 0.0127], sharing=sharing,
        )  # fmt: skip
        assert run.to_json()["sharing"] == sharing
        assert (run.expected_error is None) == (sharing == "mltcp")
        assert ("shared as by MLTCP" in topoopt.page_text(topoopt.page_of(run))) == (sharing == "mltcp")
        last[sharing] = run.to_json()["jobs"][0]["iteration_times_s"][-1]
    assert last["fair"] > 1.4 * alone.iteration_time_s
    assert last["mltcp"] < 1.1 * alone.iteration_time_s


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"sharing": "mltpc"}, "did you mean mltcp"),
        (
            {"sharing": "mltcp", "simulator": "packet"},
            "sharing: is of flows; packets have a transport for it",
        ),
        ({"sharing": "mltcp", "simulator": "analytic"}, "use simulator=flow"),
    ],
)
def test_a_way_of_sharing_is_of_flows(plan: topoopt.Plan, words: dict[str, str], says: str) -> None:
    with pytest.raises(topoopt.InvalidInput, match=says):
        topoopt.simulate([plan, plan], fabric="fat-tree", **words)  # type: ignore[arg-type]


def test_one_job_shares_with_nobody(plan: topoopt.Plan) -> None:
    with pytest.raises(topoopt.InvalidInput, match="sharing: is for several jobs"):
        topoopt.simulate(plan, simulator="flow", sharing="mltcp")


def test_a_link_is_a_row(plan: topoopt.Plan, tmp_path: Path) -> None:
    run = topoopt.simulate(plan, simulator="analytic")
    assert len(run.to_frame()) == len(plan.fabric.topology)
    run.write_timeline(tmp_path / "t.csv")
    rows = list(csv.DictReader((tmp_path / "t.csv").read_text().splitlines()))
    assert max(float(row["finish_s"]) for row in rows) == pytest.approx(run.iteration_time_s)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"fabirc": "torus"}, 'word: unknown name "fabirc"; did you mean fabric'),
        ({"degree": 4}, "degree: plan would run on its own fabric; name one with fabric=NAME"),
        ({"simulator": "flow", "mark": 20}, "mark: only the packet simulator knows it; use simulator=packet"),
        ({"strides": [1, 1]}, "strides: expected different numbers >= 1"),
        ({"fail_link": ["0-1"]}, "fail_link: expected A-B@TIME"),
    ],
)
def test_a_mistake_is_one_sentence_about_the_word(
    plan: topoopt.Plan, words: dict[str, object], message: str
) -> None:
    with pytest.raises(topoopt.InvalidInput) as caught:
        topoopt.simulate(plan, **words)  # type: ignore[arg-type]
    assert message in str(caught.value)
    assert "--" not in str(caught.value)
