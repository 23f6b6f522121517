"""What communication takes, what of it is waited for, and what hides nothing any more."""

from typing import Any

import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.transformers import Estimate

CASES: dict[str, dict[str, Any]] = {
    "ZeRO 0": {"tp": 2, "dp": 32},
    "ZeRO 1": {"tp": 4, "dp": 16, "zero": 1, "sequence_parallel": True},
    "ZeRO 2": {"dp": 64, "zero": 2},
    "ZeRO 3": {"dp": 64, "zero": 3},
    "HSDP": {"dp": 64, "zero": 3, "shard": 8},
    "stages": {"tp": 2, "pp": 4, "dp": 8, "zero": 1, "vpp": 2},
}


def estimate(**words: Any) -> Estimate:
    return topoopt.llm.estimate("llama3-8b", accelerators=64, accelerator="h100", **words)


@pytest.mark.parametrize("name", CASES)
def test_waits_are_those_of_the_time(name: str) -> None:
    answer = estimate(**CASES[name])
    exposed = {str(row["communication"]): float(row["exposed_s"]) for row in answer.communication}
    tensor = exposed.pop("tensor parallel", 0.0)
    assert tensor <= answer.parts_s["tp_s"] * (1 + 1e-9), "logits wait for tensor parallel ranks, too"
    assert sum(exposed.values()) == pytest.approx(answer.parts_s["dp_s"])
    for row in answer.communication:
        assert 0 <= float(row["exposed_s"]) <= float(row["alone_s"]) * (1 + 1e-9)


@pytest.mark.parametrize(
    ("name", "part", "word"),
    [
        ("ZeRO 1", "tensor parallel", "tensor"),
        ("ZeRO 1", "gradients and weights, once", "gradients"),
        ("ZeRO 3", "weights and gradients, every micro-batch", "gathers"),
    ],
)
def test_what_does_not_hide_is_waited_for_whole(name: str, part: str, word: str) -> None:
    usual, bare = (
        {row["communication"]: row for row in one.communication}
        for one in (estimate(**CASES[name]), estimate(**CASES[name], no_overlap=word))
    )
    assert float(usual[part]["exposed_s"]) < 0.95 * float(usual[part]["alone_s"])
    assert bare[part]["exposed_s"] == pytest.approx(bare[part]["alone_s"])
    assert bare[part]["alone_s"] == pytest.approx(usual[part]["alone_s"], rel=1e-6)
    assert (
        estimate(**CASES[name], no_overlap=[word]).iteration_time_s > estimate(**CASES[name]).iteration_time_s
    )


def test_an_unknown_overlap_is_one_line() -> None:
    with pytest.raises(InvalidInput, match='no_overlap: unknown name ""; Known: gathers'):
        estimate(**CASES["ZeRO 1"], no_overlap="")
    with pytest.raises(InvalidInput, match='no_overlap: unknown name "tensors"'):
        estimate(**CASES["ZeRO 1"], no_overlap="tensors")
    with pytest.raises(InvalidInput, match=r"^no_overlap: the published formula apnet24 takes none"):
        estimate(**CASES["ZeRO 1"], no_overlap="tensor", estimator="apnet24")


def rows_of(model: str, **words: Any) -> dict[str, dict[str, str | float]]:
    answer = topoopt.llm.estimate(model, accelerators=64, accelerator="h100", global_batch=128, **words)
    return {str(row["communication"]): row for row in answer.communication}


@pytest.mark.parametrize(
    ("vpp", "exposed", "behind"), [(1, 1, "nothing"), (2, 0, "passes of other micro-batches")]
)
def test_transfers_between_stages_hide_behind_other_chunks(vpp: int, exposed: int, behind: str) -> None:
    row = rows_of("llama3-8b", tp=8, pp=4, vpp=vpp)["transfers between stages"]
    assert row["behind"] == behind
    assert float(row["alone_s"]) > 0
    assert row["exposed_s"] == pytest.approx(exposed * float(row["alone_s"]))
    assert "transfers between stages" not in rows_of("llama3-8b", tp=8)


def test_experts_hide_behind_nothing_unless_micro_batches_overlap() -> None:
    split = {"tp": 1, "ep": 8, "pp": 4, "micro_batch": 1}
    assert rows_of("mixtral-8x7b", **split)["experts"]["behind"] == "nothing"
    over = rows_of("mixtral-8x7b", **split, vpp=2, overlap_experts=True)["experts"]
    assert over["behind"] == "the other micro-batch"
