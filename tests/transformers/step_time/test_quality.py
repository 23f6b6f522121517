"""What a calibration is worth follows from the runs and errors that its provenance has."""

from dataclasses import replace

import pytest

from topoopt.transformers import (
    PARAMETERS,
    Quality,
    calibration_quality,
    find_calibration,
    starting_calibration,
)

NEUTRAL = starting_calibration("neutral", "h100")


def quality(runs: int, random: float, sizes: float) -> Quality:
    said = {
        "runs": f"one {runs - 1}, other 1",
        "mape_percent_held_out": f"one 1.0, all {random}",
        "mape_percent_size_held_out": f"all {sizes}",
    }
    return calibration_quality(replace(NEUTRAL, provenance=said))


@pytest.mark.parametrize(
    ("runs", "random", "sizes", "grade"),
    [
        (len(PARAMETERS) - 1, 3.0, 4.0, "guess"),
        (len(PARAMETERS), 3.0, 4.0, "rough"),
        (2 * len(PARAMETERS), 3.0, 4.0, "measured"),
        (1000, 3.0, 12.0, "rough"),
        (1000, 22.0, 4.0, "guess"),
    ],
)
def test_few_runs_or_large_errors_make_it_a_guess(runs: int, random: float, sizes: float, grade: str) -> None:
    found = quality(runs, random, sizes)
    assert (found.runs, found.held_out_percent, found.sizes_held_out_percent) == (runs, random, sizes)
    assert found.grade == grade
    assert str(found).startswith({"guess": "a guess: ", "rough": "rough: ", "measured": "fitted to"}[grade])


def test_what_is_carried_over_or_neutral_is_a_guess() -> None:
    for one in (NEUTRAL, find_calibration("h200")):
        assert str(calibration_quality(one)) == "a guess: no run of this accelerator was fitted"


def test_shipped_calibrations_say_what_they_rest_on() -> None:
    grades = {
        name: calibration_quality(find_calibration(name)).grade for name in ("a100-80gb", "b200", "b300")
    }
    assert grades == {"a100-80gb": "measured", "b200": "guess", "b300": "guess"}
    assert "20 runs, fewer than its" in str(calibration_quality(find_calibration("b200")))


def test_accelerators_that_were_fitted_with_another_rest_on_its_runs() -> None:
    a100, others = find_calibration("a100-80gb"), (find_calibration("a100-40gb"), find_calibration("a800"))
    assert all(calibration_quality(one) == calibration_quality(a100) for one in others)
    assert [one.accelerator for one in others] == ["A100-SXM4-40GB", "A800-SXM4-80GB"]
