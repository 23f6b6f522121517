"""The model of a row: its own shapes, the zoo's, or the zoo's with the row's shapes."""

from dataclasses import replace

import pytest

from tests.measurements.tables import runs_of
from topoopt.measurements.training import predict_runs
from topoopt.measurements.training.run_cells import run_model
from topoopt.workloads.transformer import find_transformer

DEEPSEEK = {"model": "DeepSeek-V3", "gpus": "64", "gpu": "H800", "ep": "8", "gbs": "64", "seq": "4096"}


def test_layers_beside_a_known_model_change_it() -> None:
    """61 layers of DeepSeek-V3 take about 15 times as long as 4, three of them dense in either."""
    whole, part = run_model(DEEPSEEK), run_model({**DEEPSEEK, "layers": "4"})
    assert (part.layers, part.moe_layers, part.hidden) == (4, 1, 7168)
    assert (whole.layers, whole.moe_layers) == (61, 58)
    rows = [DEEPSEEK, {**DEEPSEEK, "layers": "4"}]
    seconds = [one.iteration_time_s for one in predict_runs(runs_of(rows)).predictions]
    assert seconds[0] > 10 * seconds[1]


def test_dense_layers_and_experts_of_a_row_are_the_model_s() -> None:
    model = run_model({**DEEPSEEK, "layers": "4", "hidden": "7168", "dense_layers": "1", "experts": "64"})
    assert model.experts is not None
    assert (model.moe_layers, model.experts.count, model.experts.per_token) == (3, 64, 8)


def test_the_inner_size_of_a_mixture_is_that_of_its_experts() -> None:
    mixtral = find_transformer("mixtral-8x7b")
    same = run_model({"model": "Mixtral 8x7B", "ep": "8", "ffn": "14336", "layers": "32"})
    assert same == mixtral
    wide = run_model({"model": "Mixtral 8x7B", "ep": "8", "ffn": "28672"})
    assert wide.experts == replace(mixtral.experts, ffn=28672)  # type: ignore[type-var]


def test_a_mixture_that_nobody_knows_needs_its_experts() -> None:
    row = {"model": "mine", "layers": "24", "hidden": "2048", "experts": "64", "experts_per_token": "8"}
    model = run_model({**row, "expert_ffn": "1024", "shared_ffn": "2048", "dense_layers": "1"})
    assert model.gated
    assert model.experts is not None
    assert (model.moe_layers, model.experts.ffn, model.experts.shared_ffn) == (23, 1024, 2048)


def test_shapes_that_a_row_leaves_out_are_the_known_model_s() -> None:
    model = run_model({"model": "Llama-3-70B", "layers": "80", "hidden": "8192"})
    assert (model.kv_heads, model.ffn, model.vocabulary) == (8, 28672, 128256)
    other = run_model({"model": "Llama-3-70B", "layers": "80", "hidden": "4096"})
    assert (other.kv_heads, other.ffn) == (32, 16384)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"dense_layers": "4", "layers": "4"}, "dense_layers: expected fewer than the 4 layers, got 4"),
        ({"model": "llama3-8b", "ep": "1", "dense_layers": "1"}, "dense_layers: the model has no experts"),
    ],
)
def test_what_does_not_go_together_is_refused(cells: dict[str, str], words: str) -> None:
    row = {**DEEPSEEK, **cells}
    (refused,) = runs_of([row]).not_scored
    assert words in refused.reason


def test_rows_say_the_finer_shapes_too() -> None:
    row = {"model": "mine", "layers": "8", "hidden": "2048", "heads": "16", "head_dim": "192", "gated": "yes"}
    model = run_model({**row, "tied": "yes"})
    assert (model.head_dim, model.gated, model.tied) == (192, True, True)
    known = run_model({"model": "llama3-8b", "tied": "1"})
    assert known.tied
    limited = run_model({"model": "mixtral-8x7b", "ep": "8", "capacity_factor": "1.25"})
    assert limited.experts is not None
    assert limited.experts.capacity_factor == 1.25
