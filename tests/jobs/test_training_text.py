"""Words of a training in a cell come back as they were written, and a mistake in them is one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.jobs import text_of_training, training_kinds, training_of_text

VALUES = st.fixed_dictionaries(
    {},
    optional={
        "global_batch": st.integers(1, 10**6),
        "seq": st.integers(1, 10**6),
        "adapter_rank": st.integers(0, 512),
        "graphs": st.booleans(),
        "offload_optimizer": st.floats(0.0, 1.0),
        "recompute": st.sampled_from(["none", "selective", "full"]),
        "loads": st.just("zipf:1.2"),
    },
)


@given(VALUES)
def test_what_is_written_is_read(training: dict[str, object]) -> None:
    assert training_of_text(text_of_training(training), "training") == training


@given(VALUES)
def test_equal_trainings_have_one_text(training: dict[str, object]) -> None:
    assert text_of_training(dict(reversed(training.items()))) == text_of_training(training)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("globl_batch=64", 'unknown key "globl_batch"; did you mean global_batch'),
        ("global_batch", "expected words such as global_batch=64, got"),
        ("global_batch=", "expected words such as global_batch=64, got"),
        ("seq=1 seq=2", "seq stands twice"),
        ("tp=0", 'tp: expected an integer >= 1, got "0"'),
        ("calibration=own.toml", "calibration: expected a name, got the file"),
        ("adapters='qkv", "No closing quotation"),
    ],
)
def test_a_mistake_is_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInput, match=f"training: {message}") as caught:
        training_of_text(text, "training")
    assert "\n" not in str(caught.value)


def test_every_word_of_a_training_has_a_kind() -> None:
    assert {"tp", "pp", "dp", "adapter_rank", "accelerators", "any_schedule"} <= set(training_kinds())
