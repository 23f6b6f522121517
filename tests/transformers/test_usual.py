"""What is not given of a configuration is the usual: replicas, batch, precision."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.transformers import usual_configuration
from topoopt.workloads.transformer import find_transformer


def test_replicas_are_what_the_other_degrees_leave() -> None:
    llama = find_transformer("llama3-70b")
    one = usual_configuration(llama, {"tp": 8, "pp": 4}, 512)
    assert (one.dp, one.sequence, one.precision) == (16, 8192, "bf16")
    assert one.global_batch == 512  # 4 Mi tokens
    assert one.micro_batches == 32
    assert usual_configuration(llama, {"tp": 8, "dp": 2}, None).accelerators == 16


def test_batch_is_that_of_a_search_or_the_nearest_that_divides() -> None:
    llama = find_transformer("llama3-70b")
    for given, accelerators, batch in (
        ({"tp": 8}, 48, 528),
        ({"tp": 8, "micro_batch": 16}, 48, 576),
        ({"tp": 8, "pp": 4, "vpp": 5, "micro_batch": 3}, 512, 576),
    ):
        assert usual_configuration(llama, given, accelerators).global_batch == batch


def test_precision_is_one_that_the_accelerator_has() -> None:
    llama = find_transformer("llama2-7b")
    assert usual_configuration(llama, {"tp": 8}, 8, "v100").precision == "fp16"
    assert usual_configuration(llama, {"tp": 8}, 8, "a100").precision == "bf16"


def test_degrees_and_accelerators_that_do_not_match() -> None:
    llama = find_transformer("llama3-70b")
    for given, accelerators, complaint in (
        ({"tp": 8}, 100, "nearest: 96, 104 accelerators"),
        ({"tp": 8, "pp": 4}, 16, "nearest: 32 accelerators"),
        ({"tp": 6}, 64, "tp 6: does not divide 64 heads; nearest: 4, 8"),
        ({"tp": 0}, 64, "tp: expected an integer >= 1, got 0"),
        ({}, None, "accelerators: missing"),
        ({}, 0, "accelerators: expected an integer >= 1, got 0"),
        ({}, 10**20, "accelerators: expected an integer <= 10000000, got 1000"),
        ({"dp": 10**12}, None, "dp: expected an integer <= 1000000,"),
        ({"global_batch": 0}, 8, "global_batch: expected an integer >= 1, got 0"),
        ({"tp": 8, "pp": 3}, 72, "pp 3: does not divide 80 layers; nearest: 2, 4"),
    ):
        with pytest.raises(InvalidInput) as caught:
            usual_configuration(llama, given, accelerators)
        assert complaint in str(caught.value)
    assert usual_configuration(llama, {"tp": 8, "pp": 3}, 72, uneven_stages=True).pp == 3
