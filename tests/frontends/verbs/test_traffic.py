"""``topoopt.traffic`` answers in Python what the command prints."""

from pathlib import Path

import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json


def test_the_words_are_the_flags(printed: Printed) -> None:
    moved = topoopt.traffic("dlrm", servers=8, degree=3, bandwidth="200Gbps", set={"tables": 16})
    flags = ("--servers", "8", "--degree", "3", "--bandwidth", "200Gbps", "--set", "tables=16")
    assert printed("traffic", "dlrm", *flags) == as_json(moved.to_json())


def test_a_plan_and_its_file_have_the_same_traffic(tmp_path: Path) -> None:
    plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=0)
    topoopt.write_plan(str(tmp_path / "plan.json"), plan)
    moved = topoopt.traffic(plan)
    assert moved.to_json() == topoopt.traffic(tmp_path / "plan.json").to_json()
    assert moved.to_frame()["mp_bytes"].sum() == plan.traffic().mp_bytes


def test_a_matrix_is_a_job_again(tmp_path: Path) -> None:
    moved = topoopt.traffic("dlrm", servers=8, degree=2)
    moved.write_matrix(tmp_path / "m.csv")
    again = topoopt.traffic(tmp_path / "m.csv", degree=2)
    assert again.traffic.mp_bytes == pytest.approx(moved.mp_bytes.sum() + moved.allreduce_bytes.sum())
