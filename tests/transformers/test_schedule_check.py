"""Schedules and overlap are refused where stages or micro-batches do not allow them, with what would do."""

from dataclasses import replace

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.transformers import Configuration, check_configuration
from topoopt.workloads.transformer import find_transformer

GOOD = Configuration(tp=1, pp=4, dp=8, ep=8, global_batch=64, sequence=4096, schedule="dualpipe")


@pytest.mark.parametrize(
    "words",
    [
        {"schedule": "dualpipe"},
        {"schedule": "dualpipe", "overlap_experts": True},
        {"schedule": "zero-bubble"},
        {"schedule": "1f1b", "overlap_experts": True, "vpp": 2},
        {"schedule": "1f1b", "overlap_experts": True, "pp": 1, "dp": 8},
        {"schedule": "1f1b", "dispatch": "fp8"},
    ],
)
def test_what_goes_together_is_allowed(words: dict[str, object]) -> None:
    one = replace(GOOD, **words)  # type: ignore[arg-type]
    check_configuration(find_transformer("mixtral-8x7b"), one, one.accelerators)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ({"pp": 1}, "schedule dualpipe: orders the passes of pipeline stages; give pp=2 or more"),
        ({"vpp": 2}, "schedule dualpipe: has one chunk in each stage, got vpp 2; give vpp=1"),
        (
            {"zero": 2},
            "both stages of a rank sum up gradients for all of an iteration, got zero 2; give zero=1",
        ),
        ({"global_batch": 48}, "at least 8 for pp 4, got 6; nearest: global_batch 64"),
        ({"global_batch": 72}, "needs an even number of micro-batches, .* got 9; nearest: global_batch 80"),
        (
            {"schedule": "zero-bubble", "overlap_experts": True},
            "zero-bubble has no pass of another micro-batch",
        ),
        ({"schedule": "1f1b", "overlap_experts": True}, "with pp 4 and vpp 1 each pass waits .* give vpp=2"),
        ({"ep": 1, "dispatch": "fp8"}, "dispatch fp8: with ep 1 no token is sent to an expert; give ep=2"),
        ({"ep": 1, "overlap_experts": True}, "overlap_experts: with ep 1 no token is sent to an expert"),
    ],
)
def test_what_does_not_is_refused_with_a_remedy(words: dict[str, object], reason: str) -> None:
    one = replace(GOOD, **words)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=reason):
        check_configuration(find_transformer("mixtral-8x7b"), one, one.accelerators)


def test_stages_of_dualpipe_are_even_and_models_without_experts_overlap_nothing() -> None:
    mixtral, llama = find_transformer("mixtral-8x7b"), find_transformer("llama3-8b")
    odd = replace(GOOD, pp=3)
    with pytest.raises(InvalidInput, match="pairs stages from both ends, got pp 3; nearest: 2, 4"):
        check_configuration(mixtral, odd, odd.accelerators, uneven_stages=True)
    with pytest.raises(InvalidInput, match="llama3-8b has no experts; leave it out"):
        check_configuration(llama, replace(GOOD, ep=1, overlap_experts=True), GOOD.accelerators)
