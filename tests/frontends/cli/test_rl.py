"""``topoopt rl``: what is shown, stable keys, tables of runs, and mistakes in one line."""

import json
from pathlib import Path

import pytest

from tests.frontends.cli.conftest import Topoopt

ASKED = ("rl", "qwen3-8b", "--accelerators", "16", "--prompts", "16", "--max-length", "1000")
RUNS = Path(__file__).parents[3] / "examples" / "rl-runs.csv"


def test_what_is_shown(topoopt: Topoopt) -> None:
    ran = topoopt(*ASKED)
    assert ran.code == 0
    for words in ("GRPO of qwen3-8b on 16 x H100-SXM5-80GB, colocated", "bound by", "rollout", "Weights"):
        assert words in ran.out


def test_json_has_the_stable_keys(topoopt: Topoopt) -> None:
    answer = json.loads(topoopt(*ASKED, "--json").out)
    assert list(answer) == [
        "model", "accelerator", "algorithm", "policy", "accelerators", "prompts", "samples", "prompt_tokens", "epochs",
        "updates", "answers", "mean_answer_tokens", "longest_answer_tokens", "step_s", "phases_s", "bound_by",
        "tokens_per_s", "tokens_per_s_per_accelerator", "usd_per_step", "rollout", "training", "weights",
        "staleness_steps", "longest_staleness_steps", "network_s", "network_hardly_matters", "spans", "ownership",
        "fabrics", "skipped_fabrics", "rewiring", "assumed",
    ]  # fmt: skip
    assert list(answer["phases_s"]) == [
        "rollout", "old_log_probs", "reference", "training", "weights", "between_phases"
    ]  # fmt: skip


def test_a_table_of_runs_is_predicted(topoopt: Topoopt, tmp_path: Path) -> None:
    out = tmp_path / "out.csv"
    answer = json.loads(topoopt("rl", "--runs", str(RUNS), "--json", "--out", str(out)).out)
    assert answer["step"]["runs"] == 3
    assert answer["weight_sync"]["runs"] == 1
    assert [row["reason"] for row in answer["not_scored"]] == ["mean_len: missing"]
    assert len(out.read_text().splitlines()) == 5


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("rl",), "MODEL: say which transformer"),
        (("rl", "qwen3-8b"), "--accelerators: missing"),
        ((*ASKED, "--out", "a.csv"), "--out: writes the predictions of --runs"),
        (("rl", "qwen3-8b", "--runs", str(RUNS)), "MODEL: with --runs"),
        (("rl", "--runs", str(RUNS), "--prompts", "3"), "--prompts: with --runs"),
        ((*ASKED, "--gen-tensor", "3"), "share out"),
        ((*ASKED, "--policy", "async"), "asynchronous"),
        (("rl", "--runs", "nowhere.csv"), "nowhere.csv"),
        ((*ASKED, "--gen-precision", "int4"), '--gen-precision: unknown name "int4"'),
        ((*ASKED, "--train-tensor", "3"), "--train-tensor 3: does not divide 32 heads"),
        ((*ASKED, "--staleness", "0.7"), "--staleness: is of policy asynchronous"),
    ],
)
def test_mistakes_are_one_line(topoopt: Topoopt, words: tuple[str, ...], said: str) -> None:
    ran = topoopt(*words)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.strip().splitlines()) == 1
