"""Modules that predict further tokens: a layer and an output layer more on the last stage, in time and in memory."""

from dataclasses import replace

import pytest

from topoopt.transformers import (
    Configuration,
    chunk_times,
    communications,
    configuration_table,
    estimate,
    find_calibration,
    memory,
    usual_system,
)
from topoopt.transformers.degrees import trained_layers
from topoopt.workloads.transformer import find_transformer

MODEL = find_transformer("deepseek-v3")
WITHOUT = replace(MODEL, mtp_layers=0)
SYSTEM, LAW = usual_system("h100"), find_calibration("h100")
ONE = Configuration(tp=1, pp=1, dp=64, ep=64, global_batch=128, sequence=4096)


def test_they_take_as_long_as_a_layer_and_an_output_layer() -> None:
    table = configuration_table([replace(ONE, zero=1)])
    answers = (
        estimate(each, table, SYSTEM, LAW)
        for each in (MODEL, WITHOUT, replace(WITHOUT, layers=62), replace(WITHOUT, vocabulary=2 * 129280))
    )
    # A larger vocabulary has more gradients to reduce; the output layer of the module is the model's own.
    times = [answer.iteration_time_s[0] - answer.dp_s[0] for answer in answers]
    assert times[0] - times[1] == pytest.approx(times[2] + times[3] - 2 * times[1], rel=0.15)


def test_only_the_last_chunk_has_them() -> None:
    one = replace(ONE, pp=4, dp=16, ep=16)
    mine, others = (chunk_times(each, one, SYSTEM, LAW).forward_s for each in (MODEL, WITHOUT))
    assert mine.sum() > others.sum()
    # 16 layers in the first three chunks; 13 and one more with another output layer in the last, which had 15.
    assert mine[:3].tolist() == pytest.approx([others[0]] * 3)
    assert trained_layers(MODEL, 4)[-1] == (*range(48, 61), 60)
    exchanged = [
        sum(each.wire_bytes for each in communications(model, one) if each.kind == "ep")
        for model in (MODEL, WITHOUT)
    ]
    assert exchanged[0] == pytest.approx(exchanged[1] * 59 / 58)


def test_memory_has_their_parameters_and_logits() -> None:
    one = configuration_table([replace(ONE, zero=1)])
    mine, others = (memory(each, one, "h100") for each in (MODEL, WITHOUT))
    assert mine.parameters[0] > 1.01 * others.parameters[0]
    assert mine.logits[0] == pytest.approx(2 * others.logits[0])
