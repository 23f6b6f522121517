"""A file of the wrong kind: every verb says in one line what it is, and who takes it."""

import gzip
import json
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.jobs import KINDS, file_kind

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a file of each kind that can be had here."""
    folder = tmp_path_factory.mktemp("kinds")
    plan = topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=0)
    topoopt.write_plan(folder / "plan.json", plan)
    np.save(folder / "matrix.npy", np.ones((4, 4)))
    np.savez(folder / "arrays.npz", a=np.ones(3))
    (folder / "config.json").write_text(
        json.dumps({"model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 2})
    )
    (folder / "comparison.json").write_text(json.dumps(topoopt.compare(plan, fabrics=()).to_json()))
    (folder / "watts.yaml").write_text("- {item: nic, bandwidth_gbps: 100, watts: 3}\n")
    (folder / "page.html").write_text("<!doctype html>\n<title>a plan</title>\n")
    (folder / "graph.dot").write_text("graph lab { a -- b; b -- c; c -- a }\n")
    (folder / "weights.safetensors").write_bytes(b"\x08\0\0\0\0\0\0\0{}      ")
    (folder / "et.json").write_text(json.dumps({"schema": "1.1.1-chakra.0.0.4", "pid": 1, "nodes": []}))
    (folder / "workload.txt").write_text(
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 8 ga: 1 all_gpus: 8\n1\n"
        "a -1 5 ALLREDUCE 16 1 NONE 0 1 NONE 0 1\n"
    )
    (folder / "requests.jsonl").write_text('{"timestamp": 1, "input_length": 2, "output_length": 3}\n' * 2)
    (folder / "schedule.xml").write_text('<algo name="a" coll="allreduce"><gpu id="0"/></algo>\n')
    (folder / "graph.xml").write_text('<graphs version="1"><graph id="0"/></graphs>\n')
    (folder / "network.yml").write_text("topology: [ Ring ]\nnpus_count: [ 8 ]\nbandwidth: [ 10 ]\n")
    named = {
        "simai-workload": folder / "workload.txt",
        "request-trace": folder / "requests.jsonl",
        "schedule": folder / "schedule.xml",
        "nccl-graph": folder / "graph.xml",
        "astra-network": folder / "network.yml",
        "plan": folder / "plan.json",
        "comparison": folder / "comparison.json",
        "config": folder / "config.json",
        "matrix": folder / "matrix.npy",
        "watts": folder / "watts.yaml",
        "arrays": folder / "arrays.npz",
        "page": folder / "page.html",
        "weights": folder / "weights.safetensors",
        "execution-trace": folder / "et.json",
        "wiring": folder / "graph.dot",
        "job": EXAMPLES / "job.yaml",
        "cluster": EXAMPLES / "cluster.yaml",
        "operators": EXAMPLES / "operators.csv",
        "device-profile": EXAMPLES / "profile.json",
        "recording": EXAMPLES / "recorded" / "nccl.log",
        "sweep": EXAMPLES / "sweep.yaml",
        "mix": EXAMPLES / "mix.yaml",
        "trace": EXAMPLES / "trace.csv",
        "job-profile": EXAMPLES / "long-job.yaml",
        "counters": EXAMPLES / "counters.csv",
        "runs": EXAMPLES / "runs.csv",
        "prices": EXAMPLES / "prices.csv",
        "inventory": EXAMPLES / "room.yaml",
        "rates": EXAMPLES / "failure-rates.yaml",
        "program": EXAMPLES / "models" / "recommender.pt2",
        "onnx": EXAMPLES / "models" / "resnet18.onnx",
        "task-graph": next((EXAMPLES / "taskgraphs").glob("*.fbuf*")),
    }
    return {kind: os.fspath(path) for kind, path in named.items()}


def test_each_file_is_known_by_its_content(files: dict[str, str], tmp_path: Path) -> None:
    assert {kind: file_kind(path) for kind, path in files.items()} == {kind: kind for kind in files}
    for kind in ("plan", "config", "inventory", "recording", "matrix", "comparison", "rates"):
        renamed = tmp_path / kind
        renamed.write_bytes(Path(files[kind]).read_bytes())
        assert file_kind(os.fspath(renamed)) == kind


@pytest.mark.parametrize("name", ["lab.csv", "lab.graphml", "mixed.dot", "dumbbell.csv"])
def test_wirings_of_other_programs_are_wirings_or_unknown(name: str) -> None:
    assert file_kind(os.fspath(EXAMPLES / "wirings" / name)) in ("wiring", None)


def test_other_examples(tmp_path: Path) -> None:
    assert file_kind(os.fspath(EXAMPLES / "traffic.csv")) == "matrix"
    assert file_kind(os.fspath(EXAMPLES / "operators.yaml")) == "operators"
    assert file_kind(os.fspath(EXAMPLES / "recorded" / "rank0.trace.json")) == "recording"
    for content in (b"", b"\0\1\2", b"just words\n", b"[1, 2", b"\xff\xfe", b"{}"):
        (tmp_path / "odd").write_bytes(content)
        assert file_kind(os.fspath(tmp_path / "odd")) is None
    assert file_kind(os.fspath(tmp_path / "missing")) is None


MODELS = {
    "job",
    "operators",
    "program",
    "onnx",
    "matrix",
    "recording",
    "execution-trace",
    "simai-workload",
    "device-profile",
    "config",
}
VERBS: dict[str, tuple[Callable[[str], Any], set[str]]] = {
    "plan": (topoopt.plan, MODELS),
    "compare": (topoopt.compare, {"plan", *MODELS}),
    "traffic": (topoopt.traffic, {"plan", *MODELS}),
    "simulate": (topoopt.simulate, {"plan", "task-graph", "simai-workload"}),
    "cost": (lambda path: topoopt.cost(plan=path), {"plan"}),
    "fail": (lambda path: topoopt.fail(path, server=0), {"plan"}),
    "export": (topoopt.export, {"plan"}),
    "verify": (topoopt.verify, {"plan", "schedule", "wiring"}),
    "rewire": (lambda path: topoopt.rewire(path, path), {"plan", "wiring"}),
    "topology": (lambda path: topoopt.topology(file=path), {"plan", "wiring"}),
    "report": (topoopt.report, {"plan", "comparison"}),
    "sweep": (topoopt.sweep, {"sweep"}),
    "results": (topoopt.results, set()),
    "cluster run": (topoopt.cluster.run, {"trace"}),
    "phases": (topoopt.phases, {"plan", "task-graph", "simai-workload", "job-profile", "counters"}),
    "llm estimate": (topoopt.llm.estimate, {"config"}),
}
"""How each verb is asked about a file, and the kinds that it takes."""


@pytest.mark.parametrize("verb", VERBS)
def test_a_wrong_kind_says_what_it_is_and_who_takes_it(verb: str, files: dict[str, str]) -> None:
    ask, taken = VERBS[verb]
    for kind in files.keys() - taken:
        with pytest.raises(InvalidInput) as raised:
            ask(files[kind])
        message = str(raised.value)
        assert message.startswith(f"{files[kind]}: is {KINDS[kind].words}; "), f"{verb} of {kind}: {message}"
        assert KINDS[kind].taken.partition("FILE")[0] in message
        assert "\n" not in message


@pytest.mark.parametrize(
    ("pack", "says"), [(gzip.compress, "unpacked with gzip: "), (lzma.compress, "unpacked with xz: ")]
)
def test_a_packed_file_is_judged_by_what_is_inside(
    pack: Callable[[bytes], bytes], says: str, tmp_path: Path
) -> None:
    path, packed = tmp_path / "odd.json.xz", pack(b'{"model": "dlrm", "servers": 8}')
    for content, message in (
        (packed, "is a packed file, but neither a recording nor a task graph; unpack it first"),
        (packed[:-6], says),
        (packed[:12] + b"\xff\xff\xff" + packed[15:], says),
    ):
        path.write_bytes(content)
        with pytest.raises(InvalidInput, match=message):
            topoopt.plan(os.fspath(path))


def test_a_topology_of_ns3_is_a_wiring(tmp_path: Path) -> None:
    path = tmp_path / "topology.txt"
    path.write_text("2 0 1\n\n0 1 400Gbps 0.005ms 0\n")
    with pytest.raises(InvalidInput, match=r"is a wiring; topoopt topology, .* as wiring="):
        topoopt.plan(os.fspath(path))


REQUEST_COLUMNS = (
    "arrival_s,input_tokens,output_tokens\n1,2,3\n",
    "TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46,374,44\n",
    "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n5,ChatGPT,472,18,490,API log\n",
)


@pytest.mark.parametrize("text", REQUEST_COLUMNS)
def test_traces_of_requests_are_known_by_their_columns(text: str, tmp_path: Path) -> None:
    (tmp_path / "requests.csv").write_text(text)
    assert file_kind(os.fspath(tmp_path / "requests.csv")) == "request-trace"


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_names_a_file_of_another_program(verb: str, tmp_path: Path) -> None:
    path = tmp_path / "topology.conf"
    path.write_text("SwitchName=leaf1 Nodes=gpu[001-032]\n")
    with pytest.raises(
        InvalidInput, match=f"^{path}: is Slurm's topology.conf: the switches, .* such as fat-tree"
    ):
        VERBS[verb][0](os.fspath(path))


WORDS: dict[str, Callable[[str], Any]] = {
    "prices": lambda path: topoopt.cost(servers=16, degree=4, bandwidth="400Gbps", prices=path),
    "power": lambda path: topoopt.cost(servers=16, degree=4, bandwidth="400Gbps", power=path),
    "cluster": lambda path: topoopt.plan("dlrm", cluster=path),
    "profile_file": lambda path: topoopt.plan("dlrm", profile_file=path),
    "wiring": lambda path: topoopt.collective("allreduce", "1MB", wiring=path),
    "trace": lambda path: topoopt.serving("llama3-8b", trace=path, accelerators=2),
    "calibration": lambda path: topoopt.llm.estimate("llama3-8b", accelerators=64, calibration=path),
}
"""A question with each word that takes a file."""


@pytest.mark.parametrize("word", WORDS)
def test_a_word_names_the_kind_that_it_does_not_take(word: str, files: dict[str, str]) -> None:
    with pytest.raises(InvalidInput) as raised:
        WORDS[word](files["job-profile"])
    assert str(raised.value).startswith(f"{files['job-profile']}: is {KINDS['job-profile'].words}; ")
