"""Step times in closed form: their parts add up, they are the same for one and for many, and move as they should."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.transformers import (
    Calibration,
    Configuration,
    StepTimes,
    System,
    chunk_times,
    configuration_table,
    estimate,
    find_calibration,
)
from topoopt.transformers.step_time.case import case_of
from topoopt.transformers.step_time.layer_time import _Kernels
from topoopt.transformers.step_time.micro_batch import micro_batch
from topoopt.workloads.transformer import TransformerModel, find_transformer

GPT3 = find_transformer("gpt3-175b")
MOE = find_transformer("deepseek-v3")
SYSTEM = System("h100", 8, 3.6e12, 400e9)
USUAL = find_calibration("h100")
BASE = Configuration(tp=8, pp=8, dp=2, global_batch=128, sequence=2048)


def times_of(
    *configurations: Configuration,
    model: TransformerModel = GPT3,
    system: System = SYSTEM,
    calibration: Calibration = USUAL,
) -> StepTimes:
    return estimate(model, configuration_table(configurations), system, calibration)


def seconds(configuration: Configuration, **more: Any) -> float:
    return float(times_of(configuration, **more).iteration_time_s[0])


@st.composite
def configurations(draw: st.DrawFn) -> Configuration:
    tp, pp, dp = (
        draw(st.sampled_from([1, 2, 8])),
        draw(st.sampled_from([1, 4, 16])),
        draw(st.sampled_from([1, 2, 32])),
    )
    micro_batch = draw(st.sampled_from([1, 2]))
    return Configuration(
        tp=tp,
        pp=pp,
        dp=dp,
        micro_batch=micro_batch,
        global_batch=dp * micro_batch * draw(st.sampled_from([1, 16])),
        sequence=2048,
        cp=draw(st.sampled_from([1, 2])),
        vpp=draw(st.sampled_from([1, 2])) if pp > 1 else 1,
        recompute=draw(st.sampled_from(["none", "selective", "full"])),
        zero=draw(st.sampled_from([0, 1, 2, 3])),
        sequence_parallel=draw(st.booleans()),
        precision=draw(st.sampled_from(["bf16", "fp8"])),
    )


@settings(max_examples=30)
@given(st.lists(configurations(), min_size=1, max_size=20))
def test_parts_add_up_and_many_are_as_one(several: list[Configuration]) -> None:
    together = times_of(*several)
    parts = ("compute_s", "tp_s", "cp_s", "ep_s", "pp_s", "dp_s", "bubble_s")
    assert sum(getattr(together, part) for part in parts) == pytest.approx(together.iteration_time_s)
    waits = together.tp_s + together.cp_s + together.ep_s + together.pp_s + together.dp_s
    assert together.exposed_communication_s == pytest.approx(waits)
    assert all((getattr(together, part) >= 0).all() for part in parts)
    assert seconds(several[0]) == pytest.approx(float(together.iteration_time_s[0]))


@settings(max_examples=30)
@given(configurations(), st.sampled_from(["network_bandwidth_bps", "scale_up_bandwidth_bps"]))
def test_faster_links_never_make_it_slower(one: Configuration, link: str) -> None:
    faster = replace(SYSTEM, **{link: 2 * getattr(SYSTEM, link)})
    assert seconds(one, system=faster) <= seconds(one) * (1 + 1e-12)


@settings(max_examples=20)
@given(configurations())
def test_computing_again_costs_time(one: Configuration) -> None:
    ways = [replace(one, recompute=how) for how in ("none", "selective", "full")]
    none, selective, full = times_of(*ways).iteration_time_s
    assert none <= selective <= full


def test_interleaving_shortens_the_bubble_and_hides_transfers() -> None:
    plain, interleaved = times_of(BASE, replace(BASE, vpp=4)).bubble_s
    assert interleaved == pytest.approx(plain / 4, rel=0.15)
    before, after = times_of(BASE, replace(BASE, vpp=4)).pp_s
    assert before > 0
    assert after == 0


def test_before_2023_interleaved_stages_wait_for_what_they_send() -> None:
    table = configuration_table([BASE, replace(BASE, vpp=4)])
    before, after = estimate(GPT3, table, SYSTEM, replace(USUAL, unfused="hops")).pp_s
    assert after == pytest.approx(4 * before)


def test_ends_of_tiles_are_no_faster_in_eight_bits() -> None:
    """A product of depth k in 8 bits takes half of what k takes in 16 bits, and what its ends take, undivided."""
    case = case_of(GPT3, configuration_table([BASE]), SYSTEM, USUAL)
    peak = float(np.ravel(case.usual_flops)[0])
    sizes = np.array([8192.0]), np.array([8192.0]), np.array([8192.0])
    usual, faster = (float(_Kernels(case).product_s(*sizes, np.array(rate))[0]) for rate in (peak, 2 * peak))
    ends = USUAL.gemm_half_depth / 8192
    assert faster / usual == pytest.approx((0.5 + ends) / (1 + ends), rel=1e-6)


def test_backward_scatters_hide_without_user_buffers() -> None:
    """Two of eight collectives of a layer, or of twelve where it is computed again."""
    for recompute, share in (("none", 2 / 8), ("full", 2 / 12)):
        table = configuration_table([replace(BASE, recompute=recompute, sequence_parallel=True)])
        whole, pieces = (
            micro_batch(case_of(GPT3, table, SYSTEM, replace(USUAL, unfused=word))).tp_s[0]
            for word in ("sums", "pieces")
        )
        assert pieces / whole == pytest.approx(1 - share)


def test_the_last_stage_pays_for_the_logits() -> None:
    """Layers that do not divide evenly go to the first stages: the last has room for the logits."""
    uneven, even = replace(GPT3, layers=95), replace(GPT3, layers=96)
    assert seconds(BASE, model=uneven) < seconds(BASE, model=even)
    assert seconds(BASE, model=replace(GPT3, vocabulary=256_000)) > 1.05 * seconds(BASE)


def test_groups_that_leave_the_server_cost_more() -> None:
    inside, outside = times_of(BASE, replace(BASE, tp=16, pp=4)).tp_s
    assert outside > 2 * inside
    small = replace(SYSTEM, accelerators_per_server=4)
    assert times_of(BASE, system=small).tp_s[0] > 1.1 * inside


def test_experts_exchange_tokens_and_whole_experts_need_no_tensor_parallel_sum() -> None:
    one = Configuration(tp=1, pp=4, dp=32, ep=32, global_batch=512, sequence=4096, precision="bf16")
    near, far = times_of(replace(one, ep=8), replace(one, ep=32), model=MOE).ep_s
    assert 0 < near < far
    cut = replace(one, tp=4, dp=8, ep=8, etp=4)
    whole = replace(cut, etp=1)
    assert times_of(whole, model=MOE).tp_s[0] < times_of(cut, model=MOE).tp_s[0]


def test_small_micro_batches_are_bound_by_launches() -> None:
    """Half the work of one micro-batch takes nearly as long where the host cannot launch faster."""
    small = replace(find_transformer("gpt3-125m"), layers=48)
    one = Configuration(tp=1, pp=1, dp=1, global_batch=64, sequence=256)
    short, long = times_of(one, replace(one, sequence=512), model=small).iteration_time_s
    assert long < 1.1 * short
    big, bigger = times_of(replace(BASE, sequence=4096), replace(BASE, sequence=8192)).iteration_time_s
    assert bigger > 1.85 * big


def test_8_bits_are_faster_and_not_twice_as_fast() -> None:
    sixteen, eight = times_of(BASE, replace(BASE, precision="fp8")).compute_s
    assert 0.5 < eight / sixteen < 0.95


def test_the_megascale_row_is_met() -> None:
    """175B, batch 768 on 256 accelerators: 40.0 s with Megatron-LM (MegaScale, Table 2); not among the runs fitted."""
    a100 = System("a100-80gb", 8, 2.4e12, 200e9)
    one = Configuration(
        tp=8,
        pp=8,
        dp=4,
        vpp=6,
        global_batch=768,
        sequence=2048,
        recompute="selective",
        zero=1,
        sequence_parallel=True,
    )
    model = find_transformer("megascale-175b")
    assert seconds(one, model=model, system=a100, calibration=find_calibration("a100-80gb")) == pytest.approx(
        40, rel=0.1
    )


@pytest.mark.parametrize(
    "one",
    [
        BASE,
        replace(BASE, vpp=2, recompute="full"),
        replace(BASE, tp=4, cp=2, zero=1),
        replace(BASE, pp=1, dp=4, global_batch=64),
    ],
)
def test_chunks_take_as_long_as_the_estimate_says(one: Configuration) -> None:
    """Micro-batches in the busiest stage, then the others': the estimate without what leaves a server."""
    chunks = chunk_times(GPT3, one, SYSTEM, USUAL)
    assert len(chunks.forward_s) == len(chunks.backward_s) == one.pp * one.vpp
    both = (chunks.forward_s + chunks.backward_s).reshape(one.vpp, one.pp).sum(axis=0)
    times = times_of(one)
    inside_s = times.compute_s[0] + times.tp_s[0] + times.cp_s[0]
    assert one.micro_batches * both.max() + chunks.step_s == pytest.approx(inside_s, rel=0.02)
    waits_s = chunks.inside_s.reshape(one.vpp, one.pp).sum(axis=0)[both.argmax()]
    assert one.micro_batches * waits_s == pytest.approx(times.tp_s[0] + times.cp_s[0], rel=0.05)


def test_of_two_chunks_more_than_layers_the_first_has_nothing_to_do_and_the_last_the_output_layer() -> None:
    """As Llama 3's 128 chunks of 126 layers: the embedding costs no products."""
    one = replace(BASE, pp=7, vpp=14)
    assert one.vpp * one.pp == GPT3.layers + 2
    chunks = chunk_times(GPT3, one, SYSTEM, USUAL)
    assert chunks.forward_s[0] == chunks.backward_s[0] == 0
    assert 0 < chunks.forward_s[-1] < 0.5 * chunks.forward_s[1]
    # launches hide behind the kernels of all chunks of a stage: only those of one stage take equally long
    by_stage = chunks.forward_s.reshape(one.vpp, one.pp)
    assert np.ptp(by_stage[:, 1:-1], axis=0).max() == pytest.approx(0, abs=1e-12)
    assert np.ptp(by_stage[1:-1], axis=1).max() < 5e-3 * chunks.forward_s[1]


def test_gradients_of_weights_are_as_many_products_as_the_forward_pass_has_without_attention() -> None:
    eager = chunk_times(GPT3, BASE, SYSTEM, USUAL)
    assert np.all(0.5 * eager.forward_s < eager.weights_s)
    assert np.all(eager.weights_s < 0.5 * eager.backward_s)


def test_chunks_leave_out_groups_that_span_servers() -> None:
    wide = replace(BASE, tp=16, pp=4)
    inside = chunk_times(GPT3, wide, SYSTEM, USUAL)
    assert (
        inside.forward_s.sum()
        < chunk_times(GPT3, wide, replace(SYSTEM, accelerators_per_server=16), USUAL).forward_s.sum()
    )


def test_no_configurations_take_no_time() -> None:
    assert len(estimate(GPT3, configuration_table([]), SYSTEM, USUAL)) == 0
