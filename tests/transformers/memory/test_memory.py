"""Memory by cause: what each choice of a configuration saves, and who has the fullest accelerator."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.transformers.shapes import PAPER_MODEL, SMALL_EXPERTS, small_model
from topoopt.base.errors import InvalidInput
from topoopt.transformers import (
    FRAMEWORKS,
    MEMORY_CAUSES,
    Configuration,
    MemoryColumns,
    configuration_table,
    count_in_flight,
    memory,
)
from topoopt.workloads.transformer import TransformerModel, count_parameters, find_transformer

BASE = Configuration(
    tp=2, pp=4, dp=4, global_batch=64, sequence=64, zero=1, recompute="none", sequence_parallel=True
)


def of(model: TransformerModel, one: Configuration, **words: str) -> MemoryColumns:
    return memory(model, configuration_table([one]), "a100-80gb", **words)


def test_the_total_is_the_sum_of_the_causes() -> None:
    one = of(small_model(), BASE)
    assert list(one.row(0)) == [*MEMORY_CAUSES]
    assert one.total[0] == pytest.approx(sum(one.row(0).values()))


def test_without_zero_a_bf16_parameter_costs_18_bytes_as_megatron_says() -> None:
    model = small_model()
    one = of(model, Configuration(tp=1, pp=1, dp=1, global_batch=1, sequence=64))
    states = one.parameters + one.gradients + one.optimizer
    assert states[0] == 18 * count_parameters(model).total


@pytest.mark.parametrize(("zero", "bytes_each"), [(0, 18), (1, 6 + 12 / 8), (2, 2 + 16 / 8), (3, 18 / 8)])
def test_zero_shares_out_optimizer_then_gradients_then_parameters(zero: int, bytes_each: float) -> None:
    model = small_model()
    one = of(model, Configuration(tp=1, pp=1, dp=8, global_batch=8, sequence=64, zero=zero))
    states = one.parameters + one.gradients + one.optimizer
    assert states[0] == pytest.approx(bytes_each * count_parameters(model).total)
    alone = of(model, Configuration(tp=1, pp=1, dp=1, global_batch=1, sequence=64, zero=zero))
    assert (one.buffers[0] > alone.buffers[0]) == (zero > 1)


def test_context_parallel_ranks_are_replicas_of_the_parameters() -> None:
    both = [
        of(small_model(), replace(BASE, pp=1, cp=cp, dp=dp)).optimizer[0]
        for cp, dp in ((1, 4), (2, 2), (4, 1))
    ]
    assert both[0] == both[1] == both[2]


def test_the_step_of_fp16_needs_room_only_where_activations_leave_none() -> None:
    short = of(PAPER_MODEL, Configuration(tp=1, pp=1, dp=1, global_batch=1, sequence=1, precision="fp16"))
    parameters = count_parameters(PAPER_MODEL).total
    assert short.total[0] - short.overhead[0] == pytest.approx(20 * parameters, rel=1e-3)
    long = of(
        PAPER_MODEL,
        Configuration(tp=1, pp=1, dp=1, global_batch=8, sequence=1024, micro_batch=8, precision="fp16"),
    )
    assert long.buffers[0] < 4 * parameters <= long.slack[0]


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_framework_says_where_its_numbers_come_from(name: str) -> None:
    assert FRAMEWORKS[name].source
    found = of(small_model(), BASE, framework=name)
    groups = (found.overhead[0] - FRAMEWORKS[name].reserved_bytes) / max(FRAMEWORKS[name].group_bytes, 1)
    assert groups == pytest.approx(3 if FRAMEWORKS[name].group_bytes else 0)  # tensor, pipeline and data


def test_less_is_kept_the_more_is_computed_again() -> None:
    kept = [
        of(replace(PAPER_MODEL, vocabulary=1), replace(BASE, recompute=how), attention="eager")
        for how in ("none", "selective", "full")
    ]
    assert kept[0].activations[0] > kept[1].activations[0] > kept[2].activations[0]
    assert kept[0].buffers[0] <= kept[1].buffers[0] < kept[2].buffers[0]


def test_a_fused_kernel_keeps_no_scores_so_there_is_nothing_to_select() -> None:
    fused = [of(PAPER_MODEL, replace(BASE, recompute=how)).activations[0] for how in ("none", "selective")]
    eager = of(PAPER_MODEL, BASE, attention="eager").activations[0]
    assert fused[0] == fused[1] < eager


def test_the_first_stage_holds_most_micro_batches_and_the_last_the_logits() -> None:
    table = configuration_table([BASE])
    in_flight = [count_in_flight(table, np.array([stage]))[0] for stage in range(4)]
    assert in_flight == [4, 3, 2, 1]
    wide = replace(small_model(), vocabulary=1_000_000, tied=True)
    assert of(small_model(), BASE).stage[0] == 0
    assert of(wide, BASE).stage[0] == 3
    assert of(wide, BASE).logits[0] > 0


def test_fewer_micro_batches_than_stages_fill_no_more_than_there_are() -> None:
    table = configuration_table([replace(BASE, global_batch=8)])
    assert count_in_flight(table, np.array([0]))[0] == 2


def test_interleaving_holds_more_by_the_rule_of_korthikanti() -> None:
    table = configuration_table([replace(BASE, vpp=2)])
    assert count_in_flight(table, np.array([0]))[0] == 4 * (1 + 3 / (4 * 2))


def test_experts_are_shared_out_and_tokens_come_in_as_often_as_they_are_sent() -> None:
    model = small_model(SMALL_EXPERTS)
    alone, spread = (of(model, replace(BASE, ep=ep)) for ep in (1, 4))
    assert spread.parameters[0] < alone.parameters[0]
    assert spread.activations[0] == alone.activations[0]
    full = of(small_model(replace(SMALL_EXPERTS, capacity_factor=2.0)), replace(BASE, ep=4))
    assert full.activations[0] > spread.activations[0]


def test_the_second_stage_is_computed_where_the_first_layers_are_dense() -> None:
    model = small_model(replace(SMALL_EXPERTS, count=64, ffn=256, first_dense_layers=2))
    assert of(model, BASE).stage[0] == 1


def test_grouped_queries_and_latent_attention_keep_less_than_all_heads() -> None:
    by_heads = [
        of(small_model(kv_heads=heads), replace(BASE, tp=1, sequence_parallel=False)) for heads in (1, 8)
    ]
    assert by_heads[0].activations[0] < by_heads[1].activations[0]
    deepseek = find_transformer("deepseek-v3")
    split = Configuration(
        tp=1, pp=16, dp=128, ep=64, global_batch=2048, sequence=4096, zero=1, recompute="full"
    )
    assert of(deepseek, split).fits[0]


def test_an_80_gb_accelerator_has_80_binary_gigabytes_less_what_the_driver_keeps() -> None:
    assert of(small_model(), BASE).capacity_bytes == pytest.approx(79.1 * 2**30, rel=1e-3)


def test_unknown_words_are_named() -> None:
    with pytest.raises(InvalidInput, match='attention: unknown name "flsh"'):
        of(small_model(), BASE, attention="flsh")
    with pytest.raises(InvalidInput, match='framework: unknown name "megatorn"'):
        of(small_model(), BASE, framework="megatorn")


@settings(max_examples=40)
@given(
    degrees=st.tuples(*(st.sampled_from((1, 2, 4)) for _ in range(4))),
    zero=st.sampled_from((0, 1)),
    recompute=st.sampled_from(("none", "selective", "full")),
)
def test_one_more_split_never_needs_more(degrees: tuple[int, ...], zero: int, recompute: str) -> None:
    tp, pp, dp, cp = degrees
    one = Configuration(
        tp=tp, pp=pp, dp=dp, cp=cp, global_batch=64, sequence=64, zero=zero, recompute=recompute
    )
    before = of(PAPER_MODEL, one)
    for more in (replace(one, tp=2 * tp), replace(one, dp=2 * dp), replace(one, cp=2 * cp)):
        after = of(PAPER_MODEL, more)
        # A new kind of groups has buffers of its own.
        assert after.total[0] - after.overhead[0] <= (before.total[0] - before.overhead[0]) * (1 + 1e-12)


def test_many_configurations_give_what_each_gives_alone() -> None:
    many = [replace(BASE, tp=tp, pp=pp, sequence_parallel=tp > 1) for tp in (1, 2, 4) for pp in (1, 2, 4)]
    together = memory(PAPER_MODEL, configuration_table(many), "h100")
    for index, one in enumerate(many):
        assert together.row(index) == memory(PAPER_MODEL, configuration_table([one]), "h100").row(0)


@pytest.mark.parametrize(("schedule", "held"), [("1f1b", 8), ("zero-bubble", 8), ("dualpipe", 9)])
def test_schedules_hold_as_many_micro_batches_as_published(schedule: str, held: int) -> None:
    """DeepSeek-V3, Table 2: PP, PP and PP + 1 on the first stage."""
    one = Configuration(tp=1, pp=8, dp=1, global_batch=32, sequence=64, schedule=schedule)
    assert count_in_flight(configuration_table([one]), np.zeros(1, np.int64))[0] == held


def test_dualpipe_holds_the_parameters_of_two_stages() -> None:
    model = replace(find_transformer("llama3-8b"), layers=32)
    one = Configuration(tp=1, pp=8, dp=4, global_batch=128, sequence=64, zero=1)
    usual, dual = (
        memory(model, configuration_table([replace(one, schedule=word)]), "h100")
        for word in ("1f1b", "dualpipe")
    )
    # The first stage has the embedding, and its mirror image the output layer of as many parameters.
    assert dual.parameters[0] == pytest.approx(2 * usual.parameters[0], rel=1e-3)
    assert dual.optimizer[0] == pytest.approx(usual.optimizer[0], rel=1e-3)
