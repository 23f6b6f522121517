"""Shapes of a transformer make a model by hand, or change a known one."""

from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads.transformer import (
    Shapes,
    TransformerModel,
    changed_model,
    count_parameters,
    find_transformer,
    model_of_shapes,
)


def model(name: str = "", **shapes: Any) -> TransformerModel:
    return (
        changed_model(find_transformer(name), Shapes(**shapes)) if name else model_of_shapes(Shapes(**shapes))
    )


def test_shapes_by_hand_are_those_of_gpt() -> None:
    gpt = find_transformer("gpt3-175b")
    by_hand = model(layers=96, hidden=12288, heads=96)
    assert count_parameters(by_hand) == count_parameters(gpt)
    assert by_hand.sequence == gpt.sequence
    llama = model(
        layers=80,
        hidden=8192,
        heads=64,
        kv_heads=8,
        ffn=28672,
        vocabulary=128256,
        gated=True,
        tied=False,
        seq=8192,
    )
    assert count_parameters(llama) == count_parameters(find_transformer("llama3-70b"))


def test_shapes_beside_a_model_change_it() -> None:
    short = model("llama3-70b", layers=8, seq=4096)
    assert (short.layers, short.sequence, short.hidden) == (8, 4096, 8192)
    assert short.name == "llama3-70b, changed"
    assert model("llama3-70b", seq=4096).name == "llama3-70b"
    wide = model("llama2-7b", heads=64)
    assert (wide.kv_heads, wide.head_dim) == (64, 64)
    assert model("gpt-oss-20b", layers=6).window_layers == 3
    assert model("mixtral-8x7b", experts=0).experts is None


def test_windows_by_hand() -> None:
    every = model("llama3-8b", window=1024)
    assert (every.window, every.window_layers) == (1024, 32)
    some = model("llama3-8b", window=1024, window_layers=24)
    assert (some.window, some.window_layers) == (1024, 24)
    assert model("gpt-oss-20b", window=0).window_layers == 0
    assert model("gpt-oss-20b", window=256).window_layers == 12
    assert model(layers=4, hidden=64, heads=4, window=32).window_layers == 4


def test_experts_by_hand() -> None:
    mixed = model("llama3-8b", experts=16, expert_ffn=2048, capacity_factor=1.25).experts
    assert mixed is not None
    assert (mixed.count, mixed.per_token, mixed.ffn, mixed.capacity_factor) == (16, 2, 2048, 1.25)
    more = model("mixtral-8x7b", experts=64).experts
    assert more is not None
    assert (more.count, more.per_token, more.ffn) == (64, 2, 14336)


@pytest.mark.parametrize(
    ("said", "complaint"),
    [
        ({}, "missing: layers, hidden, heads"),
        ({"layers": 4, "hidden": 64}, "missing: heads"),
        ({"layers": 4, "hidden": 64, "heads": 5}, "heads 5: does not divide the hidden size 64"),
        ({"layers": 0, "hidden": 64, "heads": 4}, "layers: expected an integer >= 1, got 0"),
        ({"name": "llama3-8b", "kv_heads": 5}, "32 heads cannot be shared by 5"),
        ({"name": "llama3-8b", "seq": -1}, "seq: expected an integer >= 1"),
        ({"name": "llama3-8b", "window_layers": 4}, "window_layers 4: give the window, too"),
        ({"name": "llama3-8b", "window": 64, "window_layers": 33}, "window_layers: expected 0..32"),
        ({"name": "llama3-8b", "expert_ffn": 64}, "expert_ffn: the model has no experts"),
        ({"name": "llama3-8b", "capacity_factor": float("nan"), "experts": 8}, "capacity_factor"),
        ({"name": "deepseek-v3", "head_dim": 64}, "head_dim: deepseek-v3 has latent attention"),
    ],
)
def test_mistakes_in_shapes(said: dict[str, Any], complaint: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        model(**said)
    assert complaint in str(caught.value)
