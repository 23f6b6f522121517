"""A profile of one's own device: the file, and the times that come of it."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import validate

from tests.published_schemas import published
from topoopt.base.errors import InvalidInput
from topoopt.workloads import (
    DeviceFacts,
    DeviceProfile,
    DeviceTimer,
    MeasuredOperator,
    Operator,
    OperatorTime,
    PartSize,
    PartTime,
    device_profile_from_mapping,
    device_profile_to_mapping,
    read_device_profile,
    signature_of,
)
from topoopt.workloads.zoo.layers import dense, embedding

FACTS = DeviceFacts("cpu", "Test CPU", "", "2.13.0", "fp32", 1)
LAYER = dense("layer", (), 64, 32)
TABLE = embedding("table", 100, 8, 4)


class Elsewhere:
    """The timer that is asked for what was not measured."""

    def time(self, op: Operator, samples: float, channel_degree: int = 1) -> OperatorTime:
        return OperatorTime(9.0, 9.0, "roofline")


def took(forward_ms: float) -> PartTime:
    return PartTime(forward_ms * 1e-3, 2 * forward_ms * 1e-3, 1e-6, 1e-6, 20, 4096)


def profile_of(*rows: tuple[Operator, dict[PartSize, PartTime]]) -> DeviceProfile:
    operators = tuple(MeasuredOperator(op.name, 1, signature_of(op), {}, times, {}) for op, times in rows)
    return DeviceProfile("mine", "operators", 4, 2, 8, FACTS, operators)


def timer_of(*rows: tuple[Operator, dict[PartSize, PartTime]], accelerators: int = 2) -> DeviceTimer:
    return DeviceTimer(profile_of(*rows), Elsewhere(), accelerators_per_server=accelerators)


MEASURED = {PartSize(8): took(1.0), PartSize(16): took(3.0)}
SPLIT = {PartSize(16, 2, "out"): took(1.0), PartSize(16, 2, "in"): took(1.5)}


def test_a_measured_size_has_its_measured_time() -> None:
    time = timer_of((LAYER, MEASURED)).time(LAYER, 16)  # 16 samples on a server are 8 on each of its two
    assert (time.forward_s, time.backward_s, time.source) == (1e-3, 2e-3, "profile")


@pytest.mark.parametrize(
    ("samples", "forward_ms", "how"), [(24, 2.0, "interpolated"), (64, 7.0, "extrapolated")]
)
def test_between_and_beyond_measured_sizes_times_are_on_lines_and_say_so(
    samples: int, forward_ms: float, how: str
) -> None:
    time = timer_of((LAYER, MEASURED)).time(LAYER, samples)
    assert time.forward_s == pytest.approx(forward_ms * 1e-3)
    assert time.backward_s == pytest.approx(2 * forward_ms * 1e-3)
    assert time.source == f"profile ({how})"


def test_the_shortest_time_of_the_profile_is_the_floor() -> None:
    assert timer_of((LAYER, MEASURED)).time(LAYER, 2).forward_s == 1e-3


def test_of_two_channel_dimensions_the_slower_counts() -> None:
    time = timer_of((LAYER, MEASURED | SPLIT)).time(LAYER, 32, channel_degree=2)
    assert (time.forward_s, time.source) == (1.5e-3, "profile")


def test_a_channel_degree_that_was_not_measured_divides_the_work_above_the_floor() -> None:
    time = timer_of((LAYER, MEASURED)).time(LAYER, 32, channel_degree=4)
    assert time.forward_s == pytest.approx(1e-3 + 2e-3 / 4)
    assert time.source == "profile, channels scaled"


def test_a_table_runs_on_one_accelerator_with_all_samples() -> None:
    timer = timer_of((TABLE, {PartSize(64): took(1.0)}))
    assert timer.time(TABLE, 64).source == "profile"


def test_an_operator_of_another_shape_is_asked_elsewhere() -> None:
    timer = timer_of((LAYER, MEASURED))
    assert timer.time(dense("layer", (), 64, 33), 16).source == "roofline"
    assert timer.time(replace(LAYER, name="other", inputs=(3,)), 16).source == "profile"


@given(st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=6), st.floats(0.01, 1e4))
def test_times_are_never_below_the_shortest_and_never_negative(times_ms: list[float], samples: float) -> None:
    measured = {PartSize(2**index): took(ms) for index, ms in enumerate(times_ms)}
    time = timer_of((LAYER, measured)).time(LAYER, samples)
    assert time.forward_s >= min(times_ms) * 1e-3 * (1 - 1e-9)


def document() -> dict[str, Any]:
    whole = profile_of((LAYER, MEASURED | SPLIT), (TABLE, {}))
    failed = replace(whole.operators[1], failures={PartSize(64): "out of memory"})
    return device_profile_to_mapping(replace(whole, operators=(whole.operators[0], failed)))


def test_a_file_comes_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(document()))
    again = read_device_profile(path)
    assert device_profile_to_mapping(again) == document()
    assert again.operators[0].times == MEASURED | SPLIT
    assert again.operators[1].failures == {PartSize(64): "out of memory"}


def test_the_published_schema_holds_for_a_file() -> None:
    validate(document(), published("profile"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"schema": "topoopt-profile/9"},
            "expected a profile with schema topoopt-profile/1, got topoopt-profile/9",
        ),
        ({"sevrers": 3}, 'unknown key "sevrers"; did you mean servers'),
        ({"servers": 0}, "servers: expected an integer >= 1"),
        ({"source": "mine"}, "source: expected zoo or operators or transformer"),
        ({"operators": [document()["operators"][0]] * 2}, "operators layer and layer have the same sizes"),
    ],
)
def test_a_foreign_or_damaged_file_is_one_line(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        device_profile_from_mapping(document() | change, "p.json")
    assert str(refused.value).startswith("p.json: ")
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_cut_short_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(document())[:300])
    with pytest.raises(InvalidInput, match="line 1: not a whole JSON file"):
        read_device_profile(path)
