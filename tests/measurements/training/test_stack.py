"""What a row says of its framework, of kernels that are not fused, and of how ZeRO-3 gathered."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.measurements.training.software_stack import (
    run_attention,
    run_framework,
    written_attention,
    written_gathers,
    written_unfused,
)


@pytest.mark.parametrize(
    ("row", "unfused"),
    [
        ({}, ""),
        ({"unfused": "norms+rotary"}, "norms+rotary"),
        ({"framework": "scaling"}, "norms+rotary+activation+gate+step+sums+loss+logits+sends"),
        ({"framework": "scaling-norm-kernel"}, "rotary+activation+gate+step+sums+loss+logits+sends"),
    ],
)
def test_parts_that_are_not_fused(row: dict[str, str], unfused: str) -> None:
    assert written_unfused(row) == unfused


@pytest.mark.parametrize(
    ("row", "gathers"),
    [
        ({"framework": "fsdp"}, ""),
        ({"gathers": "alone"}, "alone"),
        ({"source": "mosaicml/llm-foundry"}, "after"),
        ({"framework": "deepspeed", "source": "Narayanan et al. SC 2021"}, "each"),
        ({"framework": "deepspeed", "source": "DeepSpeed, 2023"}, ""),
        ({"framework": "deepspeed", "source": "DeepSpeed, 2023", "zero": "2"}, "alone"),
        ({"note": "PaddlePaddle 2.5.1", "zero": "2"}, "alone"),
        ({"note": "PaddlePaddle 2.5.1", "zero": "1"}, ""),
    ],
)
def test_how_weights_are_gathered(row: dict[str, str], gathers: str) -> None:
    assert written_gathers(row) == gathers


def test_unknown_words_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="ahead"):
        written_gathers({"gathers": "never"})
    with pytest.raises(InvalidInput, match="rotary"):
        written_unfused({"unfused": "softmax"})


@pytest.mark.parametrize(
    ("cell", "name"), [("nemo-apex", "nemo-apex"), ("NeMo 24.09", "nemo"), ("llama3", "llama3")]
)
def test_the_name_of_a_framework_is_itself_before_it_is_a_word_for_another(cell: str, name: str) -> None:
    assert run_framework({"framework": cell}) == name


@pytest.mark.parametrize(
    ("word", "attention"),
    [
        ("flash", "fused"),
        ("FlashAttention-2", "flash2"),
        ("flash_attentionv1.0.8", "flash1"),
        ("fa3", "cudnn"),
        ("te", "cudnn"),
        ("torch", "eager"),
    ],
)
def test_a_column_may_name_the_kernel_of_attention(word: str, attention: str) -> None:
    row = {"attention": word}
    assert written_attention(row) == attention
    assert run_attention(row) == ("eager" if attention == "eager" else "fused")


def test_a_note_may_name_the_first_flashattention() -> None:
    notes = ("kernel=flash_attentionv1.0.8", "FlashAttention 1, Apex", "kernel=flash_attention2")
    assert [written_attention({"note": note}) for note in notes] == ["flash1", "flash1", "fused"]
