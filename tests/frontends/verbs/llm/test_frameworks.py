"""A framework is one thing in every verb: what it does whole or one by one moves times as in tables of runs."""

from dataclasses import replace
from typing import Any

import pytest

import topoopt
from tests.measurements.tables import runs_of
from topoopt.jobs import JobRequest, transformer_of
from topoopt.search import job_of
from topoopt.transformers import (
    FRAMEWORKS,
    Configuration,
    configuration_table,
    estimate,
    estimate_configuration,
    find_calibration,
    usual_system,
)
from topoopt.transformers.system import unfused_bits
from topoopt.workloads.transformer import find_transformer

MODEL, SYSTEM = find_transformer("llama2-7b"), usual_system("a100-80gb")
ONE = Configuration(tp=4, pp=2, dp=2, global_batch=32, sequence=4096, zero=1)
LAW = find_calibration("a100-80gb").with_one_attention()
WORDS: Any = {
    "accelerators": 16,
    "tp": 4,
    "pp": 2,
    "accelerator": "a100-80gb",
    "global_batch": 32,
    "zero": 1,
    "sequence_parallel": False,
}
APART = [name for name, one in FRAMEWORKS.items() if one.unfused]


def test_the_usual_framework_leaves_it_to_the_calibration() -> None:
    assert APART == ["scaling", "scaling-norm-kernel", "torchtitan-eager-loss"]
    assert all(unfused_bits(FRAMEWORKS[name].unfused) for name in APART)
    apart = LAW.with_unfused("gate")
    assert apart.with_unfused(FRAMEWORKS["megatron"].unfused) is apart
    assert apart.with_unfused("norms").unfused == "norms"


@pytest.mark.parametrize("name", APART)
def test_estimates_and_searches_take_its_time(name: str) -> None:
    words = replace(LAW, unfused=FRAMEWORKS[name].unfused)
    expected = float(estimate(MODEL, configuration_table([ONE]), SYSTEM, words).iteration_time_s[0])
    found = estimate_configuration(MODEL, ONE, SYSTEM, LAW, framework=name)
    usual = estimate_configuration(MODEL, ONE, SYSTEM, LAW)
    assert found.iteration_time_s == expected > usual.iteration_time_s
    ranked = topoopt.llm.search("llama2-7b", **WORDS, framework=name, recompute="full")
    one = ranked.table.row(0)
    again = estimate_configuration(MODEL, one, SYSTEM, LAW, framework=name)
    assert float(ranked.times.iteration_time_s[0]) == again.iteration_time_s


def test_tables_of_runs_take_the_same_words() -> None:
    row = {"model": "llama2-7b", "gpus": "16", "gpu": "A100", "tp": "4", "pp": "2", "gbs": "32"}
    for name in APART:
        [run] = runs_of([{**row, "framework": name}]).runs
        assert run.unfused == FRAMEWORKS[name].unfused


def test_plans_and_traffic_take_them_too() -> None:
    """Whole activations from stage to stage, four times the slices, in the layouts' steps as in the traffic."""
    sizes = {}
    for name in ("megatron", "scaling"):
        training = {key: value for key, value in WORDS.items() if key != "accelerator"}
        fixed = {"framework": name, "micro_batch": 1, "candidates": 1}
        cluster = {"degree": 2, "link_bandwidth_bps": 200e9, "accelerator": "a100-80gb"}
        job = job_of(JobRequest(model="llama2-7b", training={**training, **fixed}, cluster=cluster))
        layout = transformer_of(job).layouts[0]
        [size] = {chunk.output_bytes for chunk in layout.step.chunks if chunk.output_bytes}
        rows = topoopt.llm.traffic("llama2-7b", **WORDS, framework=name).kinds()
        [sent] = {row.largest_bytes for row in rows if row.kind == "pp"}
        parts = layout.step.part_servers.shape[2]
        sizes[name] = size * parts / 4, sent, layout.estimated_s
    assert sizes["scaling"][:2] == (2 * 4096 * 4096,) * 2
    assert sizes["megatron"][:2] == (2 * 4096 * 4096 / 4,) * 2
    assert sizes["scaling"][2] > sizes["megatron"][2]


def test_traffic_has_zero_as_the_framework_has_it() -> None:
    """Pipelines of torchtitan gather and scatter once an iteration: ZeRO 1, as in estimates."""
    found = topoopt.llm.traffic("llama2-7b", **{**WORDS, "zero": 3}, framework="torchtitan")
    assert found.configuration.zero == 1
    assert found.to_json()["framework"] == "torchtitan"
