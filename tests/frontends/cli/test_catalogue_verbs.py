"""``topoopt models`` and ``topoopt hardware`` say what there is."""

import json
import sys
import tomllib
from importlib.metadata import PackageNotFoundError
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt
from tests.house.source_tree import ROOT
from topoopt.catalog import CATALOGUES
from topoopt.workloads import MODELS


def test_every_variant_is_listed_with_its_bytes(topoopt: Topoopt) -> None:
    answer = json.loads(topoopt("models", "--json").out)["models"]
    assert [row["model"] for row in answer] == list(MODELS)
    listed = {variant["variant"]: variant for row in answer for variant in row["variants"]}
    assert set(listed) == {variant.name for entry in MODELS.values() for variant in entry.variants}
    # Counted by hand from the layers that the authors' scripts name.
    assert listed["dlrm-16"]["dense_parameter_bytes"] == 306_343_940
    assert listed["dlrm-16"]["hyperparameters"]["tables"] == 16
    assert listed["dlrm-alltoall"]["dense_parameter_bytes"] == 1_359_273_988


def test_the_table_of_models(topoopt: Topoopt) -> None:
    lines = topoopt("models").out.splitlines()
    (row,) = (line for line in lines if line.startswith(" dlrm-16 "))
    assert row.split()[:8] == ["dlrm-16", "16", "256", "40", "164.1", "GB", "306.3", "MB"]


def test_one_model_shows_hyper_parameters(topoopt: Topoopt) -> None:
    out = topoopt("models", "dlrm-16").out
    (row,) = (line for line in out.splitlines() if line.startswith(" tables "))
    assert row.split() == ["tables", "64", "16", "32", "128", "12", "8"]


def test_every_table_of_hardware_has_sources(topoopt: Topoopt) -> None:
    answer = json.loads(topoopt("hardware", "--json").out)
    assert list(answer) == list(CATALOGUES)
    assert all(row["source"] for rows in answer.values() for row in rows)


@pytest.mark.parametrize("name", CATALOGUES)
def test_a_table_of_hardware_is_shown_with_sources(topoopt: Topoopt, name: str) -> None:
    out = topoopt("hardware", name).out
    row = json.loads(topoopt("hardware", name, "--json").out)[name][0]
    assert row["source"].split()[0] in out
    assert row.get("name", row.get("kind")) in out


def test_doctor_has_the_extras_of_the_package_and_a_remedy_for_each_that_is_missing(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert len(topoopt("doctor").out.splitlines()) <= 26

    def lacking(name: str) -> str:
        if name == "starlette":
            raise PackageNotFoundError
        return "1"

    doctor = sys.modules["topoopt.frontends.verbs.doctor"]  # the package has the verb by that name
    monkeypatch.setattr(doctor, "version", lacking)
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.1:6379")
    monkeypatch.setattr(doctor, "kernel_places", lambda: (Path("/nowhere"),))
    checks = {row["name"]: row for row in json.loads(topoopt("doctor", "--json").out)["checks"]}
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert {f"extra {name}" for name in set(extras) - {"dev", "docs", "oracles"}} <= set(checks)
    assert checks["extra studio"]["remedy"] == 'pip install "topoopt[studio]"'
    assert not checks["extra ray"]["remedy"]
    assert checks["ray cluster"]["found"] == "10.0.0.1:6379"
    assert checks["kernels"]["found"].startswith("0 of ")
