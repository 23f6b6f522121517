"""A question about a transformer has one answer, asked on the command line or in Python; its help can be read."""

import json
from typing import Any

import pytest

import topoopt as front
from tests.frontends.cli.conftest import Topoopt
from topoopt.frontends.cli.llm import LLM_VERBS
from topoopt.frontends.cli.verbs import load

CASES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "parts computed again in some layers": (
        "estimate",
        "llama3-70b",
        {"accelerators": 64, "tp": 8, "pp": 4, "recompute": "core+norms+activation", "recompute_layers": 7, "zero": 1},
    ),
    "shards": ("estimate", "llama3-8b", {"accelerators": 64, "zero": 3, "shard": 8, "framework": "torchtitan"}),
    "keys gathered": (
        "estimate",
        "llama3-8b",
        {"accelerators": 64, "seq": 131072, "global_batch": 32, "tp": 4, "cp": 4, "context": "all-gather"},
    ),
    "DualPipe with tokens in 8 bits": (
        "estimate",
        "deepseek-v3",
        {
            "accelerator": "h800", "accelerators": 2048, "global_batch": 15360, "precision": "fp8", "pp": 16, "ep": 64,
            "zero": 1, "dispatch": "fp8", "schedule": "dualpipe", "moments": "bf16", "weights": "fp8",
        },
    ),
    "overlapped experts, graphs, uneven loads": (
        "estimate",
        "qwen3-30b-a3b",
        {"accelerators": 64, "ep": 16, "overlap_experts": True, "graphs": True, "loads": "zipf:0.5"},
    ),
    "adapters": ("estimate", "llama3-70b", {"accelerators": 8, "pp": 4, "adapter_rank": 16, "adapters": "qkv"}),
    "documents, a part of the states on the host": (
        "estimate",
        "gpt-oss-20b",
        {"accelerators": 16, "document": 1024, "document_spread": 1.0, "offload_optimizer": 0.5, "gradients": "bf16"},
    ),
    "a recurrence, in racks": ("estimate", "nemotron-3-nano", {"accelerators": 72, "accelerator": "gb200", "ep": 2}),
    "a search with words that it does not vary": (
        "search",
        "llama4-scout",
        {"accelerators": 64, "dispatch": "fp8", "max_tp": 4, "zero": 1, "top": 3},
    ),
    "what moves": ("traffic", "qwen3-next", {"accelerators": 32, "ep": 8, "pp": 2, "dispatch": "fp8"}),
}  # fmt: skip
CLOCKS = ("search_cpu_s", "configurations_per_s")


def flags(words: dict[str, Any]) -> list[str]:
    said: list[str] = []
    for word, value in words.items():
        flag = f"--{word.replace('_', '-')}"
        said += [flag] if value is True else [flag, str(value)]
    return said


@pytest.mark.parametrize("name", CASES)
def test_both_doors_give_the_same_answer(topoopt: Topoopt, name: str) -> None:
    verb, model, words = CASES[name]
    ran = topoopt("llm", verb, model, *flags(words), "--json")
    assert ran.code == 0, ran.err
    answer = json.loads(json.dumps(getattr(front.llm, verb)(model, **words).to_json()))
    printed = json.loads(ran.out)
    for clock in CLOCKS:
        answer.pop(clock, None), printed.pop(clock, None)
    assert printed == answer


@pytest.mark.parametrize(
    "words",
    [
        ("llm", "estimate"),
        ("llm", "search", "--top", "1"),
        ("plan", "--fabrics", "none", "--candidates", "1"),
    ],
)
def test_a_name_with_its_owner_is_no_path(topoopt: Topoopt, words: tuple[str, ...]) -> None:
    named = "meta-llama/Llama-3.1-8B-Instruct"
    ran = topoopt(*words, named, "--accelerators", "16")
    assert (ran.code, "llama3-8b" in ran.out) == (0, True), ran.err
    lost = topoopt(*words, "meta-llama/Llama-9-8B", "--accelerators", "16")
    assert lost.code == 2
    assert lost.err.startswith("error: meta-llama/Llama-9-8B: ")


@pytest.mark.parametrize(
    "package_and_verb",
    [*(("topoopt.frontends.cli.llm:", verb) for verb in LLM_VERBS), ("topoopt.frontends.cli", "plan")],
)
def test_help_in_80_columns_has_whole_names_and_choices(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch, package_and_verb: tuple[str, str]
) -> None:
    package, verb = package_and_verb
    monkeypatch.setenv("COLUMNS", "80")
    ran = topoopt(*(["llm"] if package.endswith("llm:") else []), verb, "--help-all")
    shown = [line[2:] for line in ran.out.splitlines() if line.startswith("│ --")]
    names = {line.split()[0] for line in shown}
    assert not [name for name in names if "…" in name]
    for parameter in load(package, verb).params:
        if parameter.opts[0].startswith("--"):
            name = parameter.opts[0]
            assert {name, f"--[no-]{name.removeprefix('--')}"} & names, name
    assert all(len(line) <= 80 for line in ran.out.splitlines())
