"""A calibration from a profile finds the law that made the profile."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.plugins.profiling.made import CPU, H100, made_profile
from topoopt.base.errors import InvalidInput
from topoopt.plugins.profiling import Subject, subject_of_transformer
from topoopt.transformers import Calibration, named_calibration, profiled_calibration
from topoopt.transformers.step_time.attention_time import FUSED_BACKWARD, HALF_SEQUENCE
from topoopt.transformers.step_time.calibration import PARAMETERS
from topoopt.transformers.step_time.collective_time import exponential_width
from topoopt.workloads import DeviceProfile, MeasuredOperator, PartSize, device_profile_to_mapping
from topoopt.workloads.transformer import find_transformer

PEAK_FLOPS, MEMORY_BYTES_PER_S = 989e12, 3.35e12
EFFICIENCY, HALF_DEPTH, HALF_SIDE, ATTENTION, MEMORY = 0.72, 150.0, 900.0, 0.45, 0.8
FORWARD = 1 + exponential_width("Hopper") / 128
BACKWARD = (FUSED_BACKWARD + exponential_width("Hopper") / 128) / FORWARD


def law(op: MeasuredOperator, size: PartSize) -> float:
    """What an H100 would take if the laws of step times held exactly, forward."""
    shape: dict[str, int] = {key: value for key, value in op.shape.items() if isinstance(value, int)}
    share = 1 / size.channel_degree
    if op.signature.kind == "dense":
        columns = shape["width_out"] * (share if size.channel_dim == "out" else 1)
        depth = shape["width_in"] * (share if size.channel_dim == "in" else 1)
        rows = size.samples * shape["positions"]
        lost = (1 + HALF_DEPTH / depth) * (1 + HALF_SIDE**2 / (rows * columns))
        return 2 * rows * columns * depth * lost / (PEAK_FLOPS * EFFICIENCY)
    if op.signature.kind == "attention core":
        scores = size.samples * shape["heads"] * share * shape["positions"] ** 2
        ends = 1 + HALF_SEQUENCE / shape["positions"]
        return scores * (shape["head_dim"] + shape["value_dim"]) / (PEAK_FLOPS * ATTENTION) * ends * FORWARD
    rate = MEMORY_BYTES_PER_S * MEMORY
    if op.signature.kind == "activation":
        return 2 * (shape["inputs"] + 1) * size.samples * shape["elements"] * share / rate
    if op.signature.kind == "norm":
        return 4 * size.samples * shape["positions"] * shape["width"] / rate
    return 1e-6  # the start of a kernel


@pytest.fixture(scope="module")
def subject() -> Subject:
    return subject_of_transformer(find_transformer("llama2-7b"))


@pytest.fixture(scope="module")
def base() -> Calibration:
    """A calibration in the middle of everything that is allowed."""
    middle: dict[str, Any] = {name: (bounds.low + bounds.high) / 2 for name, bounds in PARAMETERS.items()}
    return Calibration("middle", "H100-SXM5-80GB", **middle)


@pytest.fixture(scope="module")
def measured(subject: Subject) -> DeviceProfile:
    profile = made_profile(subject, H100, law)
    cores = tuple(
        replace(
            op,
            times={
                size: replace(time, backward_s=BACKWARD * time.forward_s) for size, time in op.times.items()
            },
        )
        if op.name == "core"
        else op
        for op in profile.operators
    )
    return replace(profile, operators=cores)


def test_the_law_of_products_is_found(measured: DeviceProfile, base: Calibration) -> None:
    found = profiled_calibration(measured, base)
    assert found.calibration.gemm_efficiency == pytest.approx(EFFICIENCY, rel=0.01)
    assert found.calibration.gemm_half_depth == pytest.approx(HALF_DEPTH, rel=0.05)
    assert found.calibration.gemm_half_side == pytest.approx(HALF_SIDE, rel=0.05)
    assert found.product_error < 0.01
    assert found.products >= 60


def test_attention_and_memory_are_found(measured: DeviceProfile, base: Calibration) -> None:
    found = profiled_calibration(measured, base).calibration
    assert found.fused_attention == pytest.approx(ATTENTION, rel=0.01)
    assert found.memory_efficiency == pytest.approx(MEMORY, rel=0.01)
    assert found.attention == "fused"


def test_everything_else_is_as_it_was_and_the_source_is_named(
    measured: DeviceProfile, base: Calibration
) -> None:
    found = profiled_calibration(measured, base)
    for name, value in base.parameters().items():
        if name not in found.measured:
            assert getattr(found.calibration, name) == value
    assert found.calibration.provenance["profile"] == "llama2-7b on NVIDIA H100 80GB HBM3, bf16"
    assert found.calibration.provenance["others_from"] == base.name


def test_what_does_not_go_together_is_refused(
    subject: Subject, measured: DeviceProfile, base: Calibration
) -> None:
    for device, said in (
        (CPU, "was measured on Test CPU, which is not in topoopt hardware"),
        (replace(H100, precision="fp32"), "was measured in fp32; training multiplies in 16 bits"),
        (replace(H100, accelerator="A100-SXM4-40GB"), "and H100-SXM5-80GB was asked for"),
    ):
        with pytest.raises(InvalidInput, match=said):
            profiled_calibration(replace(measured, device=device), base)
    with pytest.raises(InvalidInput, match="no transformer; topoopt plan takes it as profile_file"):
        profiled_calibration(replace(measured, source="zoo"), base)
    few = replace(measured, operators=measured.operators[:1])
    with pytest.raises(InvalidInput, match="needs 6 sizes or more, got 0; measure on"):
        profiled_calibration(few, base)


def test_a_file_of_a_profile_is_a_calibration_by_name(tmp_path: Path, measured: DeviceProfile) -> None:
    path = tmp_path / "llama.json"
    path.write_text(json.dumps(device_profile_to_mapping(measured)))
    named = named_calibration(str(path), "h100")
    assert named.gemm_efficiency == pytest.approx(EFFICIENCY, rel=0.01)
    assert named.collective_latency_s == named_calibration(None, "h100").collective_latency_s
    with pytest.raises(
        InvalidInput, match=r"llama\.json: was measured on H100-SXM5-80GB, and A100-SXM4-80GB was"
    ):
        named_calibration(str(path), "a100-80gb")
