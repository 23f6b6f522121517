"""``topoopt.phases``: a plan by every simulator, simulations, counters and job files; and what is none of these."""

from pathlib import Path

import pytest

import topoopt
from tests.clusters.interleave.series import made_up_series
from topoopt.base.errors import InvalidInput
from topoopt.clusters.interleave import CommunicationProfile, Phase, write_counters, write_profile
from topoopt.frontends.verbs.profile_source import profiles_of_sources
from topoopt.plans import Plan
from topoopt.simulation import SIMULATORS

PROFILE = CommunicationProfile("a", 0.1, (Phase(0.02, 0.03, 4e9),))


@pytest.fixture(scope="module")
def plan() -> Plan:
    return topoopt.plan("vgg16", servers=4, degree=2, bandwidth="25Gbps", fabrics=(), budget=0)


def test_a_profile_is_itself_and_a_job_file_is_read(tmp_path: Path) -> None:
    write_profile(tmp_path / "a.json", PROFILE)
    for source in (PROFILE, tmp_path / "a.json", str(tmp_path / "a.json")):
        assert topoopt.phases(source).profile == PROFILE
    assert topoopt.phases(PROFILE, name="b").profile.job == "b"


@pytest.mark.parametrize("simulator", SIMULATORS)
def test_every_simulator_says_when_a_plan_sends(plan: Plan, simulator: str) -> None:
    simulation = topoopt.simulate(plan, simulator=simulator)
    answer = topoopt.phases(plan, simulator=simulator)
    profile, topology = answer.profile, simulation.fabric.topology
    src, dst = map(int, answer.link.split("-"))
    busiest = simulation.result.link_bytes.max()
    assert simulation.result.link_bytes[topology.link_id(src, dst)] == pytest.approx(busiest)
    assert profile.size_bytes == pytest.approx(busiest, rel=1e-9)
    assert profile.iteration_time_s == simulation.iteration_time_s
    assert profile.peak_bps <= 25e9 * (1.001 if simulator == "packet" else 1 + 1e-9)
    assert answer.source == simulator
    assert answer.to_json()["phases"][0].keys() == {"start_s", "duration_s", "bandwidth_bps", "size_bytes"}


def test_simulators_agree_about_a_data_parallel_job_on_a_switch(plan: Plan) -> None:
    found = [
        topoopt.phases(topoopt.simulate(plan, simulator=name, fabric="ideal-switch")).profile
        for name in SIMULATORS
    ]
    for other in found[1:]:
        assert other.iteration_time_s == pytest.approx(found[0].iteration_time_s, rel=0.05)
        assert other.duty == pytest.approx(found[0].duty, rel=0.1)
        assert other.size_bytes == pytest.approx(found[0].size_bytes, rel=0.01)


def test_all_links_are_those_that_carry_something(plan: Plan) -> None:
    result = topoopt.simulate(plan, simulator="flow").result
    answer = topoopt.phases(plan, link="all")
    assert len(answer.profiles) == int((result.link_bytes > 0).sum())
    total = sum(profile.size_bytes for profile in answer.profiles.values())
    assert total == pytest.approx(float(result.link_bytes.sum()), rel=1e-9)
    assert answer.link == topoopt.phases(plan).link
    assert len(answer.to_json()["other_links"]) == len(answer.profiles) - 1
    assert "Links" in str(answer)


def test_the_steady_state_of_a_plan_has_a_profile(plan: Plan) -> None:
    alone, steady = topoopt.phases(plan), topoopt.phases(plan, steady_state=True)
    assert steady.profile.iteration_time_s <= alone.profile.iteration_time_s
    assert steady.profile.size_bytes == pytest.approx(alone.profile.size_bytes, rel=0.02)


def test_counters_of_several_links_give_that_of_the_busiest_or_the_one_that_is_named(tmp_path: Path) -> None:
    busy, idle = (
        made_up_series(CommunicationProfile("", 0.1, (Phase(0.02, 0.03, rate),)), 10, 60, 0.02, 0.0, 1)
        for rate in (8e9, 1e9)
    )
    rows = [
        (float(time_s), link, float(sent))
        for link, curve in (("eth1", idle), ("eth0", busy))
        for time_s, sent in zip(curve.times_s, curve.sent_bytes, strict=True)
    ]
    path = tmp_path / "lab.csv"
    write_counters(path, [*rows, *((float(step), "eth2", 5.0) for step in range(3))])
    answer = topoopt.phases(path)
    assert answer.link == "eth0"
    assert answer.profile.job == "lab"
    assert answer.profile.peak_bps == pytest.approx(8e9, rel=0.05)
    assert topoopt.phases(path, link="eth1").profile.peak_bps == pytest.approx(1e9, rel=0.05)
    assert list(topoopt.phases(path, link="all").profiles) == ["eth0", "eth1"]
    assert "mean of" in str(answer)
    with pytest.raises(InvalidInput, match='link: unknown name "eth9"; did you mean'):
        topoopt.phases(path, link="eth9")


def test_what_says_when_jobs_send_goes_into_interleaving(plan: Plan, tmp_path: Path) -> None:
    write_profile(tmp_path / "a.json", PROFILE)
    profiles = profiles_of_sources([plan, tmp_path / "a.json"])
    assert [profile.job for profile in profiles] == [plan.job.name, "a"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"simulator": "exact"}, 'simulator: unknown name "exact"'),
        ({"tolerance": 1.0}, "tolerance: must be in 0 <= tolerance < 1, got 1"),
        ({"iteration_time": "0s"}, "iteration_time: expected a time > 0, got 0 s"),
        ({"link": "0-1"}, "link: a job file says one link; leave 0-1 out"),
        ({"links": "all"}, "links"),
    ],
)
def test_words_that_do_not_fit_are_one_line(words: dict[str, object], says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        topoopt.phases(PROFILE, **words)  # type: ignore[arg-type]


def test_a_link_of_a_plan_is_two_nodes(plan: Plan) -> None:
    with pytest.raises(InvalidInput, match='link: expected two nodes such as 0-1, or all, got "first"'):
        topoopt.phases(plan, link="first")
    with pytest.raises(InvalidInput, match="has no link 0-77"):
        topoopt.phases(plan, link="0-77")
