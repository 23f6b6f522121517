"""Bytes of a pass: the facts of published models, and what follows from shapes."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.inference import Parallelism
from topoopt.inference.network.traffic import pass_bytes
from topoopt.workloads.transformer import find_transformer


def test_llama_70b_sums_160_times_a_mebibyte_for_64_tokens() -> None:
    one = pass_bytes(find_transformer("llama3-70b"), Parallelism(tensor=8))
    assert one.tensor_reduces == 160
    assert 64 * one.reduced_bytes == 2**20


def test_a_boundary_of_stages_carries_two_bytes_for_each_hidden_number() -> None:
    model = find_transformer("llama3-70b")
    assert pass_bytes(model, Parallelism(pipeline=4)).boundary_bytes == 2 * model.hidden


def test_tokens_go_to_experts_in_8_bits_with_scales_and_come_back_in_16() -> None:
    model = find_transformer("deepseek-v3")
    one = pass_bytes(model, Parallelism(expert=32, attention_data=32))
    assert one.dispatch_bytes == 7168 * (1 + 4 / 128)
    assert one.combine_bytes == 7168 * 2
    assert one.expert_layers == 58
    assert pass_bytes(model, Parallelism(expert=32, attention_data=32), "bf16").dispatch_bytes == 7168 * 2


def test_copies_of_attention_drop_the_allreduces_of_attention() -> None:
    model = find_transformer("deepseek-v3")
    assert pass_bytes(model, Parallelism(expert=8, attention_data=8)).tensor_reduces == 0
    assert pass_bytes(model, Parallelism(tensor=8, expert=8)).tensor_reduces == 61 + 3
    assert pass_bytes(model, Parallelism(tensor=8)).tensor_reduces == 61 + 61


def test_an_unknown_dispatch_is_refused() -> None:
    with pytest.raises(InvalidInput, match="dispatch: unknown name"):
        pass_bytes(find_transformer("deepseek-v3"), Parallelism(), "fp12")
