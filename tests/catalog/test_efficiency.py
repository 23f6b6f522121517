"""The roofline's efficiencies come from measurements that can be looked up again."""

import csv
from importlib import resources
from statistics import median

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import (
    EFFICIENCY_KINDS,
    PRECISIONS,
    efficiency_kind,
    efficiency_table,
    find_accelerator,
    roofline_efficiency,
)


def profile() -> list[dict[str, str]]:
    text = (resources.files("topoopt.workloads") / "profiles" / "a100.csv").read_text()
    return list(csv.DictReader(text.splitlines()))


def samples(row: dict[str, str]) -> float:
    """Samples on each of the four accelerators of a server."""
    return int(row["global_batch"]) / int(row["parts"]) / 4


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("kind", EFFICIENCY_KINDS)
def test_every_kind_and_precision_has_fractions(kind: str, precision: str) -> None:
    found = roofline_efficiency(precision, kind)
    assert 0 < found.compute <= 1
    assert 0 < found.memory <= 1
    assert 0 < found.launch_floor_s < 1e-4
    assert found.source


def test_a_row_of_the_part_wins_over_the_general_one() -> None:
    assert roofline_efficiency("bf16", "matmul", "MI300X").compute == 0.514
    assert roofline_efficiency("bf16", "matmul", "v100").compute == 0.78
    assert roofline_efficiency("bf16", "matmul").compute == 0.78


def test_kinds_of_operator_graphs_are_known() -> None:
    assert [efficiency_kind(kind) for kind in ("dense", "conv2d", "embedding", "anything")] == [
        "matmul",
        "conv",
        "embedding",
        "elementwise",
    ]


def test_unknown_names_are_refused() -> None:
    with pytest.raises(InvalidInput, match="did you mean fp32"):
        roofline_efficiency("fp23", "matmul")
    with pytest.raises(InvalidInput, match="accelerator: unknown name"):
        roofline_efficiency("fp32", "matmul", "abacus")


def test_every_row_has_its_origin_and_names_what_exists() -> None:
    for row in efficiency_table():
        assert row.quality in ("measured", "published", "derived", "assumed")
        assert len(row.source) > 5
        assert row.kind in EFFICIENCY_KINDS
        assert row.precision in (*PRECISIONS, "any")
        assert row.accelerator == "any" or find_accelerator(row.accelerator).name == row.accelerator
    keys = [(row.quantity, row.kind, row.precision, row.accelerator) for row in efficiency_table()]
    assert len(keys) == len(set(keys))


def test_matmul_in_fp32_is_the_median_of_the_profile() -> None:
    tokens = {"bert-128": 64, "bert-16": 256}
    rates = []
    for row in profile():
        shape = row["name"].split("_")
        if shape[0] == "Dense":
            rows = samples(row) * tokens.get(row["model"], 1)
            flops = 2 * int(shape[1]) * int(shape[2]) * rows
            if flops > 1e10:
                rates.append(flops / (float(row["forward_ms"]) * 1e-3))
    assert len(rates) > 200
    assert median(rates) / 19.5e12 == pytest.approx(roofline_efficiency("fp32", "matmul").compute, abs=0.01)


def test_the_launch_floor_is_the_smallest_time_of_the_profile() -> None:
    times = [float(row[key]) * 1e-3 for row in profile() for key in ("forward_ms", "backward_ms")]
    assert min(times) == pytest.approx(roofline_efficiency("fp32", "elementwise").launch_floor_s, rel=0.01)


def test_the_profile_s_convolutions_ran_on_tensor_cores() -> None:
    # VGG16's 3×3 convolution of 256 channels on 32×32 to 512 on 34×34, the first of its name. Its memory
    # requirement pins the shape; its rate is six times what FP32 without tensor cores can do.
    row = next(r for r in profile() if r["name"] == "Conv2D_3_3_512" and r["model"] == "vgg16-128")
    elements = samples(row) * (256 * 32**2 + 512 * 34**2) + 256 * 512 * 9 + 512
    assert int(row["memory_bytes"]) == 4 * elements
    rate = 2 * 256 * 512 * 9 * 34**2 * samples(row) / (float(row["forward_ms"]) * 1e-3)
    assert 19.5e12 < 0.54 * 156e12 < rate < 156e12


def test_elementwise_operators_reach_most_of_the_memory_bandwidth() -> None:
    # ResNet50's addition of 256 channels of 58×58: two inputs and one output.
    row = next(r for r in profile() if r["name"] == "ElementBinary_31" and r["model"].startswith("resnet"))
    moved = 3 * 4 * 256 * 58**2 * samples(row)
    reached = moved / (float(row["forward_ms"]) * 1e-3) / 1555e9
    assert reached == pytest.approx(roofline_efficiency("fp32", "add").memory, abs=0.02)
