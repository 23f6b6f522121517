"""Frameworks whose pipelines gather and scatter once an iteration: time, traffic and memory are those of ZeRO 1."""

from dataclasses import replace

import numpy as np
import pytest

from tests.measurements.tables import runs_of
from topoopt.base.errors import InvalidInput
from topoopt.transformers import Configuration, configuration_table, find_calibration, memory, usual_system
from topoopt.transformers.estimate import estimate_configuration
from topoopt.transformers.memory.frameworks import shared_by
from topoopt.workloads.transformer import find_transformer, layer_parameters

STAGED = Configuration(tp=8, pp=4, dp=4, global_batch=64, sequence=8192, zero=3)


def test_pipelines_of_torchtitan_are_zero_1() -> None:
    """FSDP2 does not reshard after the forward pass there, and scatters gradients after the last micro-batch."""
    alone = Configuration(tp=8, pp=1, dp=16, global_batch=64, sequence=8192, zero=3)
    table = configuration_table([STAGED, alone])
    assert shared_by(table, "torchtitan").zero.tolist() == [1, 3]
    assert shared_by(table, "fsdp") is table
    with pytest.raises(InvalidInput, match="torchtitan"):
        shared_by(table, "torchtitam")


def test_estimates_have_it_in_time_and_memory() -> None:
    model, system, law = find_transformer("llama3-70b"), usual_system("h100"), find_calibration("h100")
    one, third, others = (
        estimate_configuration(model, each, system, law, framework=name)
        for each, name in (
            (Configuration(tp=8, pp=4, dp=4, global_batch=64, sequence=8192, zero=1), "torchtitan"),
            (STAGED, "torchtitan"),
            (STAGED, "fsdp"),
        )
    )
    assert np.array_equal(third.times.iteration_time_s, one.times.iteration_time_s)
    assert np.array_equal(third.memory.total, one.memory.total)
    assert third.times.dp_s[0] < others.times.dp_s[0]


def test_rows_of_runs_have_it_too() -> None:
    row = {"model": "llama3-70b", "gpus": "128", "gpu": "H100", "tp": "8", "pp": "4", "gbs": "64"}
    rows = [{**row, "zero": "fsdp", "framework": name} for name in ("torchtitan", "fsdp")]
    runs = runs_of(rows)
    assert [run.configuration.zero for run in runs.runs] == [1, 3]


def test_interleaved_zero_2_sums_up_a_chunk() -> None:
    """Gradients of 5 layers in 32 bits wait for their scatter, not of one: 80 layers in 4 stages of 4 chunks."""
    model = find_transformer("llama3-70b")
    one = Configuration(tp=8, pp=4, dp=4, vpp=20, global_batch=64, sequence=8192, zero=2)
    table = configuration_table([one, replace(one, vpp=4)])
    needed = memory(model, table, "h100", framework="fsdp")
    layer = layer_parameters(model, False)
    whole = layer.replicated + layer.split / 8
    assert needed.buffers[1] - needed.buffers[0] == pytest.approx(4 * (5 - 1) * whole)
