"""What people type who come from other programs: a synonym is taken for the flag, or the error names the right one."""

import json

import pytest

import topoopt
from tests.frontends.cli.conftest import Topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.program import VERBS
from topoopt.frontends.cli.synonyms import VERB_SYNONYMS
from topoopt.schema import words
from topoopt.schema.words.synonyms import SYNONYMS

KNOWN = {
    word
    for vocabulary in (getattr(words, name) for name in words.__all__)
    if hasattr(vocabulary, "__annotations__") and hasattr(vocabulary, "__total__")
    for word in vocabulary.__annotations__
}
SAME = [
    ("traffic vgg16 --gpus 16", "traffic vgg16 --servers 4"),
    ("plan vgg16 --nodes 4 --ports 2 --nic-speed 100G", "plan vgg16 --servers 4 --degree 2 --bandwidth 100Gbps"),
    (
        "llm search llama3-8b --gpus=16 --gpu h100 --tensor-model-parallel-size 2 --seq-length 4096 --gbs 64",
        "llm search llama3-8b --accelerators 16 --accelerator h100 --tp 2 --seq 4096 --global-batch 64",
    ),
    (
        "llm estimate llama3-8b --num-gpus 16 --tensor-parallel-size 2 --zero-stage 2 --dtype fp8",
        "llm estimate llama3-8b --accelerators 16 --tp 2 --zero 2 --precision fp8",
    ),
    (
        "cost --nodes 8 --ports 4 --bw 400GbE --networks rail",
        "cost --servers 8 --degree 4 --bandwidth 400Gbps --fabrics rail",
    ),
    (
        "collective --gpu h100 --gpus 16 --op allreduce --bytes 1GB",
        "collective --accelerator h100 --accelerators 16 --op allreduce --bytes 1GB",
    ),
]  # fmt: skip
REFUSED = [
    ("price --servers 8", "write topoopt cost"),
    ("search llama3-8b", "write topoopt llm search"),
    ("train llama3-8b", "write topoopt plan"),
    ("serve llama3-8b", "write topoopt serving"),
    ("buy", "write topoopt choose"),
    ("optimize vgg16", "write topoopt plan"),
    ("estimate llama3-8b", "write topoopt llm estimate"),
    ("gpus", "write topoopt hardware"),
    ("version", "write topoopt --version"),
    ("view x.json", "write topoopt report"),
    ("all_reduce_perf -b 8", "write topoopt collective"),
    ("vgg16 --servers 4", "write topoopt plan vgg16"),
    ("finetune llama3-8b --lora", "LoRA is what finetune does by default; --full"),
    ("models --family llama", "such as topoopt models llama"),
    ("plan vgg16 --gpus 16 --servers 3", "16 are 4 servers of 4"),
    ("help plan", "write topoopt plan --help"),
    ("fattree", "write topoopt compare"),
    ("schedule trace.csv", "write topoopt cluster run"),
    ("nccl-tests", "write topoopt collective"),
    ("rlhf", "write topoopt rl"),
    ("lora", "write topoopt finetune"),
    ("complan", "did you mean plan or compare? topoopt --help lists all"),
    ("plan vgg16 --verbose", "--json prints every figure"),
    ("plan vgg16 -q", "2>/dev/null"),
    ("plan vgg16 --format json", "--json prints JSON"),
    ("plan --model vgg16", "the model is the first word after the verb"),
    ("plan vgg16 --batch-size 32", "give --global-batch"),
    ("cost --gpus 8", "give --servers"),
    ("choose vgg16 --budget 1000000", "--budget-usd is the most dollars, --proposals the strategies"),
    ("cost --bandwidth 400", "missing unit in \"400\"; write for example 400Gbps"),
    ("plan llama3-8b --gpus 64 --accelerators 32", "--accelerators: is given twice"),
]  # fmt: skip


@pytest.mark.parametrize(("typed", "meant"), SAME)
def test_a_synonym_is_taken_for_the_flag(topoopt: Topoopt, typed: str, meant: str) -> None:
    answers = [json.loads(topoopt(*line.split(), "--json").out) for line in (typed, meant)]
    for answer in answers:
        for key in ("search_cpu_s", "configurations_per_s", "proposals_per_s", "provenance", "search"):
            answer.pop(key, None)
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("typed", "remedy"), REFUSED)
def test_another_programs_word_is_answered_with_ours(topoopt: Topoopt, typed: str, remedy: str) -> None:
    refused = topoopt(*typed.split())
    assert refused.code == 2
    assert remedy in refused.err


def test_python_names_our_argument() -> None:
    with pytest.raises(InvalidInput, match='unknown name "gpus"; did you mean accelerators'):
        topoopt.plan("llama3-8b", gpus=8)  # type: ignore[call-arg]


def test_the_tables_name_arguments_and_verbs_that_exist() -> None:
    assert set(SYNONYMS) - {"out", "bytes"} <= KNOWN  # --out and --bytes are of the command line alone
    for ours, others in VERB_SYNONYMS.items():
        assert ours.startswith("--") or ours.split()[0] in VERBS, ours
        assert not set(others.split()) & set(VERBS)


def test_a_part_and_a_family_of_models_are_listed(topoopt: Topoopt) -> None:
    part = json.loads(topoopt("hardware", "h100", "--json").out)
    assert [row["name"] for row in part["accelerators"]] == ["H100-SXM5-80GB"]
    assert {row["accelerator"] for row in part["servers"]} == {"H100-SXM5-80GB"}
    family = topoopt("models", "llama3").out
    assert "llama3-8b" in family
    assert "qwen" not in family
    assert topoopt("hardware", "connectx").code == 2
