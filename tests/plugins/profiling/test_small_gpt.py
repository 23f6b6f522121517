"""A step of a small GPT from the profile of its block: every operator as often as the model has it."""

import json
from pathlib import Path

import pytest

from benchmarks.small_gpt import Job, estimated_s, sum_of_operators_s
from tests.plugins.profiling.made import CPU, H100, made_profile
from topoopt.plugins.profiling import subject_of_transformer
from topoopt.workloads import MeasuredOperator, PartSize, device_profile_to_mapping
from topoopt.workloads.transformer import count_parameters, find_transformer

GPT2 = find_transformer("gpt2")
JOB = Job(GPT2, "cpu", "fp32", GPT2.sequence, 1, 1, 1)


def a_millisecond(_: MeasuredOperator, __: PartSize) -> float:
    return 1e-3


def test_a_step_has_each_operator_as_often_as_the_model() -> None:
    subject = subject_of_transformer(GPT2, tensor_degrees=[1], micro_batches=[1])
    profile = made_profile(subject, CPU, a_millisecond)
    (time,) = profile.operators[0].times.values()
    both_s = time.forward_s + time.backward_s
    # Two norms, four matrices, a core and an activation in each of 12 layers; a norm, embedding and logits.
    operators_s = (12 * 8 + 3) * both_s
    # The rest goes at the rate of the norm: two residual sums a layer, the loss, Adam.
    norm_bytes = 2 * 1024 * 768 * 4
    rest = 12 * 2 * 6 * 1024 * 768 + 6 * 1024 * GPT2.vocabulary + 7 * count_parameters(GPT2).total
    assert sum_of_operators_s(JOB, profile) == pytest.approx(operators_s + 4 * rest / norm_bytes * 1e-3)


def test_on_an_accelerator_of_the_catalogue_the_profile_is_a_calibration(tmp_path: Path) -> None:
    model, path = find_transformer("gpt3-1.3b"), tmp_path / "profile.json"
    subject = subject_of_transformer(model, tensor_degrees=[1, 2], micro_batches=[1, 2, 4])
    profile = made_profile(subject, H100)
    path.write_text(json.dumps(device_profile_to_mapping(profile)), encoding="utf-8")
    job = Job(model, "cuda", "bf16", model.sequence, 4, 0, 1)
    found = estimated_s(job, profile, path)
    assert found is not None
    assert 6 * 8192 * 1.3e9 / 989e12 < found < 5
    assert estimated_s(JOB, made_profile(subject, CPU), path) is None
