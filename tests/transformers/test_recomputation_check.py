"""What is to be computed again must be there."""

from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.transformers import Configuration, check_configuration
from topoopt.workloads.transformer import find_transformer


def refusal(model: str, **changes: Any) -> str:
    shapes = find_transformer(model)
    one = Configuration(**{"tp": 1, "pp": 4, "dp": 4, "global_batch": 64, "sequence": 4096, **changes})
    with pytest.raises(InvalidInput) as caught:
        check_configuration(shapes, one, 16)
    return str(caught.value)


def test_a_part_that_the_model_lacks_is_named_with_those_it_has() -> None:
    assert refusal("llama3-8b", recompute="norms+experts") == (
        "recompute norms+experts: llama3-8b has no experts part; it has core, norms, activation"
    )
    assert "llama3-8b has no latent part" in refusal("llama3-8b", recompute="latent")
    assert "mixtral-8x7b has no latent part; it has core, norms, activation, experts" in refusal(
        "mixtral-8x7b", recompute="latent"
    )


def test_layers_that_compute_again_are_some_of_a_chunk() -> None:
    assert refusal("llama3-8b", recompute="full", recompute_layers=9) == (
        "recompute_layers 9: a chunk has at most 8 of 32 layers; give 1..8"
    )
    assert refusal("llama3-8b", recompute_layers=2).startswith(
        "recompute_layers 2: nothing is computed again"
    )


def test_what_is_stored_must_be_of_use() -> None:
    assert refusal("llama3-8b", gradients="fp8").endswith("give bf16 or fp32")
    assert refusal("llama3-8b", weights="fp8").endswith("give precision=fp8")
