"""Words that leave no valid configuration: the one that does not go with the others is named, and why."""

from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.transformers import SearchRequest, System, find_calibration, search_configurations
from topoopt.workloads.transformer import find_transformer

SYSTEM = System("h100", 8, 3600e9, 400e9)


def refusal(model: str = "llama3-70b", accelerators: int = 512, batch: int = 512, **fixed: Any) -> str:
    request = SearchRequest(find_transformer(model), accelerators, SYSTEM, batch, 4096, fixed)
    with pytest.raises(InvalidInput) as caught:
        search_configurations(request, find_calibration("h100"))
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("fixed", "words"),
    [
        ({"tp": 7}, "tp 7: does not divide 64 heads; nearest: 4, 8"),
        (
            {"schedule": "zero-bubble", "vpp": 2},
            "schedule zero-bubble: has one chunk in each stage, got vpp 2",
        ),
        ({"recompute_layers": 300}, "recompute_layers 300: a chunk has at most 80 of 80 layers"),
        ({"recompute": "none", "recompute_layers": 3}, "recompute_layers 3: nothing is computed again"),
        ({"sequence_parallel": True, "tp": 1}, "sequence_parallel: splits over tensor parallel ranks"),
        ({"dispatch": "fp8"}, "dispatch fp8: llama3-70b has no experts"),
        ({"shard": 7, "zero": 3}, "shard 7: does not divide dp 512"),
        ({"tp": 8, "cp": 3}, "nearest: 504, 528 accelerators with these tp, cp and pp"),
    ],
)
def test_the_word_that_does_not_go_with_the_others_is_named(fixed: dict[str, Any], words: str) -> None:
    assert words in refusal(**fixed)


def test_a_batch_too_small_for_any_number_of_replicas_says_which_are_not() -> None:
    """8 tensor parallel ranks in each of 16 stages leave 4 replicas of 512 accelerators; 32 do not divide 80 layers."""
    assert refusal(batch=3) == (
        "global_batch 3: no multiple of replicas x micro-batch, which are 4 or more on 512 accelerators with all that "
        "is fixed; nearest: 4"
    )
    assert refusal(batch=100, dp=64).endswith("nearest: 64, 128")
