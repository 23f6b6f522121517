"""What kernels between products read and write: one kernel for a part, or PyTorch's operations one by one."""

from dataclasses import replace

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.transformers import Configuration, configuration_table, estimate, find_calibration, usual_system
from topoopt.transformers.step_time.case import Case, case_of
from topoopt.transformers.step_time.layer_time import (
    activation_bytes,
    joined_bytes,
    streamed_bytes,
    summed_bytes,
)
from topoopt.transformers.system import UNFUSED_PARTS, unfused_bits
from topoopt.workloads.transformer import TransformerModel, find_transformer

MODEL = find_transformer("llama2-7b")  # 4,096 wide, 11,008 inside, RMSNorm, rotary embedding, gated
ONE = Configuration(tp=1, pp=1, dp=8, global_batch=8, sequence=4096)
LAW = replace(find_calibration("a100-80gb"), attention="fused")


def case(unfused: str = "none", one: Configuration = ONE, model: TransformerModel = MODEL) -> Case:
    law = replace(LAW, unfused=unfused)
    return case_of(model, configuration_table([one]), usual_system("a100-80gb"), law)


def test_fused_kernels_read_and_write_once() -> None:
    """For a token two norms and sums with dropout, rotated queries and keys, and three times the inner size."""
    expected = 4096 * (11 * 2 * 4096 + 4 * 2 * 4096 + 6 * 11008)
    assert float(streamed_bytes(case())[0]) == expected
    assert float(activation_bytes(case())[0]) == 4096 * 6 * 11008


def test_parts_that_are_not_fused_write_every_intermediate_result() -> None:
    fused = float(streamed_bytes(case())[0])
    more = {part: float(streamed_bytes(case(part))[0]) - fused for part in UNFUSED_PARTS}
    assert {part: size for part, size in more.items() if size} == {
        "norms": 4096 * 32 * 2 * 4096,
        "rotary": 4096 * 16 * 2 * 4096,
        "activation": 4096 * 4 * 11008,
    }
    assert float(streamed_bytes(case("all"))[0]) == fused + sum(more.values())


def test_matrices_that_stand_alone_add_up_the_gradients_of_their_input() -> None:
    """Three products of the queries, two of the gate: three sums of two gradients of the hidden size, 6 bytes each."""
    assert float(joined_bytes(case())) == 0
    assert float(joined_bytes(case("queries+gate"))[0]) == 4096 * 6 * 3 * 4096


def test_layernorm_and_gelu_are_one_kernel_each() -> None:
    gpt = find_transformer("gpt3-13b")
    assert streamed_bytes(case("all", model=gpt)) == streamed_bytes(case(model=gpt))


def test_every_micro_batch_adds_its_gradients_to_their_sums() -> None:
    """A gradient in 16 bits is read, a sum in 32 bits read and written: 10 bytes a parameter; 6 in 16 bits."""
    each = [summed_bytes(case(one=replace(ONE, gradients=word)))[0] for word in ("", "fp32", "bf16")]
    layer = MODEL.hidden * (4 * MODEL.hidden + 3 * MODEL.ffn + 2)
    assert [float(one[0]) / layer for one in each] == pytest.approx([10, 10, 6], rel=1e-3)


def test_a_step_without_fused_kernels_takes_longer() -> None:
    table, system = configuration_table([ONE]), usual_system("a100-80gb")
    fused, apart = (
        estimate(MODEL, table, system, replace(LAW, unfused=word)).iteration_time_s[0]
        for word in ("none", "all")
    )
    assert (
        1.05 < apart / fused < 1.6
    )  # torch.compile gains 10 to 30 % on these layers (PyTorch blog, FSDP and compile)


def test_unknown_parts_are_named() -> None:
    with pytest.raises(InvalidInput, match="norms"):
        unfused_bits("softmax")
