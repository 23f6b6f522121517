"""Fused attention: constants from published kernels, and what the law of them says of heads and sequences."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.attention_kernels import fitted_constants
from topoopt.transformers import Configuration, configuration_table, find_calibration, usual_system
from topoopt.transformers.step_time.attention_time import FUSED_BACKWARD, HALF_SEQUENCE, core_s, fused_passes
from topoopt.transformers.step_time.calibration import ATTENTIONS_OF_RUNS
from topoopt.transformers.step_time.case import Case, case_of
from topoopt.transformers.step_time.collective_time import BARE_EXPONENTIALS, exponential_width
from topoopt.workloads.transformer import find_transformer

ONE = Configuration(tp=8, pp=1, dp=1, global_batch=1, sequence=16384, sequence_parallel=True)


def case(accelerator: str = "h100", one: Configuration = ONE, heads: int = 64) -> Case:
    model = replace(find_transformer("llama3-70b"), heads=heads, kv_heads=8, head_dim=8192 // heads)
    law = find_calibration(accelerator).with_one_attention()
    return case_of(model, configuration_table([one]), usual_system(accelerator), law)


def test_the_constants_are_those_that_explain_the_kernels() -> None:
    found = fitted_constants()
    assert found.half_sequence == pytest.approx(HALF_SEQUENCE, rel=0.02)
    assert found.fused_backward == pytest.approx(FUSED_BACKWARD, rel=0.01)
    assert found.bare_exponentials == pytest.approx(BARE_EXPONENTIALS, rel=0.02)
    assert found.kernels == 159
    assert found.error_percent < 8


@pytest.mark.parametrize(("architecture", "published"), [("Hopper", 497 / 648), ("Blackwell", 879 / 1330)])
def test_a_narrow_head_is_as_much_slower_as_measured(architecture: str, published: float) -> None:
    """FlashAttention 3 on an H100 (Shah 2024, figure 5) and 4 on a B200: heads of 64 over those of 128."""
    width = exponential_width(architecture)
    narrow, wide = (fused_passes(size, 16384, width)[0] for size in (64, 128))
    assert float(wide / narrow) == pytest.approx(published, rel=0.08)


def test_the_core_is_what_its_products_exponentials_and_ends_take() -> None:
    one = case()
    forward, backward = core_s(one, np.array(1e-12))
    flops = 4 * 16384 * 8 * 16384 * 128 / 2  # 8 of 64 heads, a causal mask
    rate = 989.4e12 * find_calibration("h100").fused_attention
    ends = 1 + HALF_SEQUENCE / 16384
    assert forward[0] == pytest.approx(flops / rate * ends * (1 + 64 * BARE_EXPONENTIALS / 128), rel=1e-3)
    assert backward[0] / forward[0] == pytest.approx((FUSED_BACKWARD + 0.335) / 1.335, rel=1e-3)


def test_heads_of_half_the_size_take_longer_on_blackwell_than_on_hopper() -> None:
    def longer(accelerator: str) -> float:
        narrow, wide = (core_s(case(accelerator, heads=heads), np.array(1e-12))[0][0] for heads in (128, 64))
        return float(narrow / wide)

    # Of half the size there are twice as many: the same products, twice the exponentials.
    assert longer("h100") == pytest.approx((1 + 0.67) / (1 + 0.335), rel=1e-3)
    assert longer("gb200") == pytest.approx((1 + 2 * 0.67) / (1 + 0.67), rel=1e-3)
    assert longer("gb300") == pytest.approx(longer("h100"), rel=1e-9)
    assert longer("a100-80gb") == pytest.approx(1)


@pytest.mark.parametrize(("word", "slower"), [("fused", 1), ("flash2", 0), ("cudnn", 1)])
def test_a_run_may_name_its_kernel(word: str, slower: int) -> None:
    """FlashAttention 2 is what PyTorch has on an H100, and as fast there with Megatron."""
    law = find_calibration("h100")
    named = replace(case(), attention=np.array([ATTENTIONS_OF_RUNS.index(word)]))
    expected = law.fused_attention * (1 if slower else law.sharded_attention)
    assert named.fused[0]
    assert named.attention_efficiency[0] == pytest.approx(expected)
    sharded = case(one=replace(ONE, tp=1, dp=8, global_batch=8, zero=3, sequence_parallel=False))
    other = replace(sharded, attention=np.array([ATTENTIONS_OF_RUNS.index(word)]))
    fastest = word == "cudnn"
    assert other.attention_efficiency[0] == pytest.approx(
        law.fused_attention * (1 if fastest else law.sharded_attention)
    )


def test_the_first_flashattention_is_half_as_fast_as_the_second() -> None:
    law = find_calibration("a100-80gb")
    first, second = (
        replace(case("a100-80gb"), attention=np.array([ATTENTIONS_OF_RUNS.index(word)]))
        for word in ("flash1", "flash2")
    )
    assert second.attention_efficiency[0] == pytest.approx(law.fused_attention)
    assert first.attention_efficiency[0] == pytest.approx(law.fused_attention / 2)
    assert first.fused[0]
