"""Whole verifications: all kinds of plans pass, files that contradict themselves do not, and say it in a line."""

import json
from pathlib import Path
from typing import Any

import pytest

import topoopt


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ("dlrm", {"servers": 12, "degree": 4, "preset": "paper"}),
        ("ncf", {"servers": 9, "degree": 3}),
        ("dlrm", {"servers": 8, "degree": 3, "links": "directed"}),
        ("vgg16", {"servers": 8, "degree": 5}),
        ("bert", {"servers": 8, "degree": 4, "collective": "tree"}),
        ("dlrm", {"servers": 2, "degree": 4}),
    ],
)
def test_plans_pass(model: str, words: dict[str, Any]) -> None:
    answer = topoopt.verify(topoopt.plan(model, fabrics=(), budget=10, **words))
    assert answer.passed, answer.lines()
    assert not [check for check in answer.checks if check.skipped]


def test_json_has_every_check(good: topoopt.Plan) -> None:
    document = topoopt.verify(good).to_json()
    assert document["passed"]
    assert document["kind"] == "plan"
    assert [row["check"] for row in document["checks"]] == [
        *("ports", "panels", "connectivity", "single failures", "routes", "weights", "forwarding", "rings"),
        *("schedules", "bytes", "numbers"),
    ]
    assert all(
        row["passed"] and row["skipped"] is None and row["failures"] == [] for row in document["checks"]
    )


@pytest.mark.parametrize(
    ("spoil", "check", "message"),
    [
        (lambda file: file.update(average_hops=1.5), "numbers", "average_hops: the plan says 1.5, and it is"),
        (lambda file: file["hop_histogram"].update({"1": 1}), "numbers", "hop_histogram: the plan says"),
        (lambda file: file.update(mp_bytes=7), "numbers", "mp_bytes: the plan says 7"),
        (lambda file: file.update(iteration_time_s=1e-3), "numbers", "iteration_time_s: the plan says 0.001"),
        (lambda file: file["price"]["bill"][0].update(count=1), "numbers", r"price.bill\[0\].total_usd"),
        (
            lambda file: file["topology"]["links"]["ports"].__setitem__(0, 2),
            "ports",
            "has 5 links out and 4 ports",
        ),
        (
            lambda file: file["topology"]["links"]["src"].__setitem__(0, 2**70),
            "file",
            "expected an integer <=",
        ),
        (lambda file: file["topology"]["links"]["dst"].pop(), "file", "must be of one length"),
        (lambda file: file["rings"][0].update(members=[0, 2]), "file", "no link"),
    ],
)
def test_a_spoiled_file_fails(
    spoil: Any, check: str, message: str, good: topoopt.Plan, tmp_path: Path
) -> None:
    path = tmp_path / "plan.json"
    topoopt.write_plan(path, good)
    assert topoopt.verify(path).passed
    file = json.loads(path.read_text())
    spoil(file)
    path.write_text(json.dumps(file))
    answer = topoopt.verify(path)
    failed = next(row for row in answer.failed if row.name == check)
    with pytest.raises(AssertionError, match=message):
        raise AssertionError(" ".join(failed.failures))


def test_routes_of_very_many_servers_are_said_to_be_left_out(
    good: topoopt.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topoopt.studies.verification.subject.LARGEST_ROUTED", 11)
    answer = topoopt.verify(good)
    left_out = {check.name: check.skipped for check in answer.checks if check.skipped}
    assert answer.passed
    assert set(left_out) == {"routes", "weights", "forwarding", "bytes"}
    assert set(left_out.values()) == {"132 pairs; those of up to 11 servers are followed"}


def test_tables_of_very_long_paths_are_said_to_be_left_out(
    good: topoopt.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("topoopt.studies.verification.traffic_checks.MOST_STEPS", 100)
    answer = topoopt.verify(good)
    left_out = {check.name: check.skipped for check in answer.checks if check.skipped}
    assert answer.passed
    assert set(left_out) == {"forwarding"}
    assert "steps in all; up to 100 are followed through tables" in left_out["forwarding"]


def test_a_wiring_file_has_the_checks_that_apply(tmp_path: Path) -> None:
    path = tmp_path / "wiring.json"
    topoopt.write_wiring(path, topoopt.topology(16, 4, family="lifted", budget=0.1))
    answer = topoopt.verify(path)
    assert answer.passed
    assert {check.name for check in answer.checks if not check.skipped} == {
        *("ports", "panels", "connectivity", "single failures", "rings")
    }


def test_a_wiring_of_others_gets_its_rings_first(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("".join(f"rack{i},rack{(i + 1) % 9}\n" for i in range(9)))
    answer = topoopt.verify(path)
    rings = next(check for check in answer.checks if check.name == "rings")
    assert (rings.passed, rings.looked_at, rings.note) == (True, "2 rings of 1 group", "found here")


def test_a_graph_with_idle_ports_is_looked_at_with_its_degree(tmp_path: Path) -> None:
    path = tmp_path / "dumbbell.csv"
    path.write_text("a,b\nb,c\nc,a\nd,e\ne,f\nf,d\na,d\n")
    with pytest.raises(topoopt.InvalidInput, match="degree=3 to leave ports idle"):
        topoopt.verify(path)
    answer = topoopt.verify(path, degree=3)
    assert answer.lines() == (
        f"{path}: single failures: cable a->d: without it server d is cut off from server a; join them another way, "
        "too",
    )


def test_a_plan_says_its_degree_itself(good: topoopt.Plan) -> None:
    with pytest.raises(topoopt.InvalidInput, match="degree: this is a plan, which says it"):
        topoopt.verify(good, degree=4)


def test_what_is_neither_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "other.json"
    path.write_text('{"a": 1}')
    with pytest.raises(topoopt.InvalidInput, match="expected a list of links"):
        topoopt.verify(path)
