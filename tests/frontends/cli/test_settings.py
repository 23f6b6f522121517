"""The settings file gives what a command leaves out, and every answer names it."""

import os
from pathlib import Path

import pytest

import topoopt as library
from tests.frontends.cli.conftest import Topoopt
from topoopt import InvalidInput
from topoopt.base.answers import digest
from topoopt.base.errors import Note
from topoopt.schema.words import SETTINGS_VARIABLE, read_settings, settings_file

TEXT = """
accelerator = "a100"
accelerators_per_server = 8
degree = 4
bandwidth = "200G"
electricity_price = 0.2
prices = "2026,mine.csv"
slo_ttft = "1s"
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv(SETTINGS_VARIABLE)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    path = tmp_path / "topoopt" / "settings.toml"
    path.parent.mkdir()
    path.write_text(TEXT)
    (path.parent / "mine.csv").write_text("item,usd\nfiber_m,0.3\n")
    return path


def test_a_plan_has_the_machine_and_the_prices_of_the_settings_and_names_the_file(settings: Path) -> None:
    assert settings_file() == settings
    with pytest.warns(Note, match="settings.toml gives .*degree 4, bandwidth 200G"):
        plan = library.plan("llama3-8b", servers=2, fabrics=())
    cluster = plan.job.cluster
    machine = cluster.accelerator, cluster.accelerators_per_server, cluster.degree, cluster.link_bandwidth_bps
    assert machine[1:] == (8, 4, 200e9)
    assert machine[0].startswith("a100")
    assert plan.terms is not None
    assert plan.terms.running.electricity_usd_per_kwh == 0.2
    assert plan.provenance.inputs["settings.toml"] == digest(settings.read_bytes())
    with pytest.warns(Note) as noted:  # the plan has its machine
        library.compare(plan, fabrics=())
    assert "degree" not in str(noted[0].message)
    with pytest.warns(Note, match=r"gives (?!.*(degree|accelerator)).*electricity_price"):
        cost = library.cost(servers=16, accelerator="h100")
    assert cost.to_json()["degree"] != 4 or cost.to_json()["bandwidth_bps"] != 200e9


def test_bandwidth_is_per_accelerator_where_a_verb_means_that(settings: Path) -> None:
    assert read_settings(settings)["network_bandwidth"] == "100 Gb/s"
    with pytest.warns(Note, match="bandwidth 100 Gb/s"):
        assert library.llm.estimate("llama3-8b", accelerators=16, tp=8).system.network_bandwidth_bps == 100e9


@pytest.mark.filterwarnings("ignore::topoopt.base.errors.Note")
def test_flags_come_before_settings_and_settings_before_defaults(settings: Path, topoopt: Topoopt) -> None:
    said = "llama3-8b", "--accelerators", "16", "--tp", "8"
    assert "A100" in topoopt("llm", "estimate", *said).out
    assert "H100" in topoopt("llm", "estimate", *said, "--accelerator", "h100").out
    try:
        assert "H100" in topoopt("--no-settings", "llm", "estimate", *said).out
    finally:
        del os.environ[SETTINGS_VARIABLE]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("gpus_per_node = 8", 'unknown key "gpus_per_node"; did you mean accelerators_per_server?'),
        ("servers = 8", 'unknown key "servers"; '),
        ('degree = "8"', 'degree: expected an integer, got "8"'),
        ('bandwidth = "8x"', 'bandwidth: unknown unit "x" in "8x"'),
        ('accelerator = "a1000"', 'accelerator: unknown name "a1000"; did you mean'),
        ("degree = [", "not valid TOML"),
    ],
)
def test_a_mistake_has_its_place(settings: Path, text: str, message: str) -> None:
    settings.write_text(text)
    with pytest.raises(InvalidInput) as refused:
        library.cost(servers=16)
    assert str(refused.value).startswith(f"{settings}: {message}")
