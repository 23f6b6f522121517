"""``topoopt.profile`` answers in Python what the command prints."""

import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json

SMALL = {"rows": 1000, "tables": 4, "dim": 16, "bottom_width": 32, "top_width": 64, "top_layers": 2}


def test_what_would_be_measured(printed: Printed) -> None:
    changes = [word for key, value in SMALL.items() for word in ("--set", f"{key}={value}")]
    subject = topoopt.profile_subject("dlrm", set=SMALL, servers=4, operators="dense,top_*")
    flags = [*changes, "--servers", "4", "--operators", "dense,top_*"]
    assert printed("profile", "dlrm", "--dry-run", *flags) == as_json(subject.to_json())
    table = subject.to_frame()
    assert table["sizes"].sum() == subject.sizes


def test_numbers_are_text_with_commas_or_a_sequence() -> None:
    text = topoopt.profile_subject("llama2-7b", tensor_parallel="1,8", micro_batch="1,2")
    numbers = topoopt.profile_subject("llama2-7b", tensor_parallel=(1, 8), micro_batch=[1, 2])
    assert text.to_json() == numbers.to_json()


def test_what_was_measured_is_a_table() -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed: pip install topoopt[torch]")
    words = {"device": "cpu", "threads": 1, "repetitions": 3, "warm_up": 1, "operators": ["top_0"]}
    run = topoopt.profile("dlrm", set=SMALL, servers=4, **words)  # type: ignore[arg-type]
    assert len(run.to_frame()) == run.measured == run.to_json()["measured"]
    assert "would be" not in topoopt.page_text(topoopt.page_of(run))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"tensor_paralel": "2"}, "did you mean tensor_parallel"),
        ({"tensor_parallel": "2"}, "tensor_parallel: is for transformers, and dlrm is none"),
        ({"operators": []}, "operators: expected kinds or names with commas"),
        ({"time_limit": "0s"}, "time_limit: must be positive"),
        ({"device": "gpu"}, 'device: unknown name "gpu"'),
    ],
)
def test_a_mistake_is_one_sentence_about_the_word(words: dict[str, object], message: str) -> None:
    with pytest.raises(topoopt.InvalidInput) as caught:
        topoopt.profile("dlrm", **words)  # type: ignore[arg-type]
    assert message in str(caught.value)
