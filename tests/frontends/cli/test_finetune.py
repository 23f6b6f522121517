"""``topoopt finetune``: what is shown, stable keys, the plan that is written, and mistakes in one line."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt

ASKED = ("finetune", "llama3-8b", "--accelerators", "16", "--fabrics", "rail", "--alone")


def test_what_is_shown(topoopt: Topoopt) -> None:
    ran = topoopt(*ASKED)
    assert ran.code == 0
    for words in (
        "LoRA fine-tuning of llama3-8b on 16 x H100-SXM5-80GB",
        "The network hardly matters here",
        "rail",
    ):
        assert words in ran.out


def test_json_has_the_stable_keys(topoopt: Topoopt) -> None:
    answer = json.loads(topoopt(*ASKED, "--json").out)
    assert list(answer) == [
        "model", "accelerator", "accelerators", "servers", "sequences", "sequence", "tokens", "rank", "adapters",
        "steps", "full_over_adapter_gradients", "assumed", "ways",
    ]  # fmt: skip
    assert list(answer["ways"][0]) == [
        "kind", "trained_parameters", "gradient_bytes", "failure", "split", "step_s", "compute_s", "exposed_s",
        "tokens_per_s", "capacity_bytes", "network_bytes", "step_low_s", "step_high_s",
        "memory_bytes", "hours", "usd", "network_hardly_matters",
        "fabrics",
    ]  # fmt: skip


def test_the_plan_can_be_kept(topoopt: Topoopt, tmp_path: Path) -> None:
    out = tmp_path / "plan.json"
    assert topoopt(*ASKED, "--out", str(out)).code == 0
    assert topoopt("verify", str(out)).code == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("finetune", "llama3-8b"), "--accelerators: missing"),
        ((*ASKED, "--full", "--qlora"), "--qlora: full trains all weights"),
        ((*ASKED, "--lora-rank", "0"), "--lora-rank"),
        (("finetune", "llama3-9b", "--accelerators", "8"), "llama3-9b"),
        (("finetune", "llama3-8b", "--accelerators", "8", "--out", "plan.json"), "--out: one server"),
        ((*ASKED, "--degree", "99"), "--degree"),
        ((*ASKED, "--tokens", "0"), "--tokens"),
    ],
)
def test_mistakes_are_one_line(topoopt: Topoopt, words: tuple[str, ...], said: str) -> None:
    ran = topoopt(*words)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1
