"""Calibrations: those shipped say where they come from, files are read strictly, relatives are marked."""

from dataclasses import replace
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import accelerators
from topoopt.transformers import (
    PARAMETERS,
    are_alike,
    find_calibration,
    named_calibration,
    peak_rates,
    read_calibration,
    starting_calibration,
    write_calibration,
)
from topoopt.transformers.step_time.calibration import relative_of

CALIBRATED = [part.name for part in accelerators() if not relative_of(part.name)]


def test_ten_accelerators_are_fitted_and_say_on_what() -> None:
    assert len(CALIBRATED) == 10
    for name in CALIBRATED:
        provenance = find_calibration(name).provenance
        assert provenance["command"].startswith("topoopt llm calibrate train_runs.csv --accelerator")
        assert {"runs", "mape_percent", "mape_percent_held_out", "mape_percent_size_held_out"} <= set(
            provenance
        )


@pytest.mark.parametrize("part", accelerators(), ids=lambda part: part.name)
def test_every_accelerator_has_one(part: object) -> None:
    found = find_calibration(part.name)  # type: ignore[attr-defined]
    assert found.accelerator == part.name  # type: ignore[attr-defined]
    own = {"A100-SXM4-40GB", "A800-SXM4-80GB", *CALIBRATED}  # those with the first's runs
    if part.name not in own:  # type: ignore[attr-defined]
        assert found.provenance["transferred_from"]
        assert found.provenance["reason"]


def test_a_relative_keeps_its_share_of_the_peak() -> None:
    h100, gh200 = find_calibration("h100"), find_calibration("gh200")
    assert gh200.gemm_efficiency == pytest.approx(1.043 * h100.gemm_efficiency)
    assert replace(gh200, gemm_efficiency=h100.gemm_efficiency).parameters() == h100.parameters()


def test_an_accelerator_without_published_rates_takes_those_of_its_relative() -> None:
    assert peak_rates("h100-96gb") == peak_rates("h100")
    assert "not published" in find_calibration("h100-96gb").provenance["reason"]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    h100 = find_calibration("h100")
    write_calibration(tmp_path / "mine.toml", h100)
    read = read_calibration(tmp_path / "mine.toml")
    assert read.parameters() == h100.parameters()
    assert (read.name, read.accelerator, read.attention) == ("mine", h100.accelerator, h100.attention)
    assert read.provenance == h100.provenance


@pytest.mark.parametrize(
    ("line", "change", "message"),
    [
        (
            "gemm_efficiency",
            "gemm_eficiency = 0.5",
            'unknown name "gemm_eficiency"; did you mean gemm_efficiency',
        ),
        ("gemm_efficiency", "", "parameters.gemm_efficiency: missing: share of the peak rate"),
        ("gemm_efficiency", "gemm_efficiency = 7", "gemm_efficiency: must lie in 0.2..1, got 7"),
        ("gemm_efficiency", "gemm_efficiency = 'high'", "parameters.gemm_efficiency"),
        ("accelerator", 'accelerator = "h1000"', 'unknown name "h1000"; did you mean h100'),
        ("attention =", 'attention = "lazy"', 'attention: unknown name "lazy"; Known: auto, eager, fused'),
        ("[parameters]", "[parameters", "not valid TOML"),
    ],
)
def test_a_mistake_in_a_file_is_one_line(tmp_path: Path, line: str, change: str, message: str) -> None:
    path = tmp_path / "mine.toml"
    write_calibration(path, find_calibration("h100"))
    lines = [change if one.startswith(line) else one for one in path.read_text().splitlines()]
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidInput) as error:
        read_calibration(path)
    assert str(error.value).startswith(str(path))
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_start_is_renamed_for_its_accelerator() -> None:
    start = starting_calibration("neutral", "v100", "eager")
    assert (start.accelerator, start.attention) == ("V100-SXM2-16GB", "eager")
    assert starting_calibration("h100", "h200").parameters() == find_calibration("h100").parameters()


def test_a_calibration_that_there_is_not_is_a_mistake_in_its_own_word() -> None:
    with pytest.raises(
        InvalidInput, match=r'^calibration: expected an accelerator or a file; unknown name "h1000"'
    ):
        named_calibration("h1000")


def test_bounds_hold_every_shipped_value() -> None:
    for name in CALIBRATED:
        for key, value in find_calibration(name).parameters().items():
            assert PARAMETERS[key].low <= value <= PARAMETERS[key].high


def test_relatives_are_alike_and_strangers_are_not() -> None:
    assert are_alike("a100-40gb", "a100-80gb")
    assert are_alike("h100", "h200")
    assert are_alike("v100-32gb", "v100-pcie")  # both rest on the A100
    assert not are_alike("v100", "a100")
    assert not are_alike("h100", "a100-80gb")
    assert not are_alike("v100", "a100-80gb")


NETWORK = (
    *("network_efficiency", "exchange_efficiency", "straggling", "slow_straggling"),
    *("replica_straggling", "replica_overlap", "gather_overlap"),
)


@pytest.mark.parametrize("name", ["gb200", "gb300", "b200", "b300"])
def test_accelerators_without_pairs_have_the_network_of_those_with(name: str) -> None:
    """The same interfaces reach the same rate, whatever they are put beside."""
    own, hopper = find_calibration(name), find_calibration("h100")
    assert {key: getattr(own, key) for key in NETWORK} == {key: getattr(hopper, key) for key in NETWORK}


def test_no_link_carries_more_than_its_rate() -> None:
    for name in CALIBRATED:
        law = find_calibration(name)
        assert max(law.network_efficiency, law.exchange_efficiency, law.scale_up_efficiency) <= 1
