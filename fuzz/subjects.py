"""What is spoiled: a valid file of every kind, with a command that reads it, and every verb, with words that work."""

import contextlib
import io
import json
import lzma
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer

from topoopt.frontends.cli import main
from topoopt.frontends.cli.program import VERBS, app
from topoopt.workloads import published_tables

EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True, slots=True)
class Reader:
    """A file, and the words of a command that reads it."""

    file: str
    words: tuple[str, ...]


def _reader(line: str) -> Reader:
    words = tuple(line.split())
    return Reader(
        next(word[1:] for word in words if word.startswith("@")), tuple(word.lstrip("@") for word in words)
    )


READERS = tuple(
    _reader(line)
    for line in """
    plan @job.yaml --budget 0 --fabrics none --json
    traffic @job.yaml --json
    plan @training.yaml --fabrics none --json
    traffic dlrm --set tables=4 --cluster @hall.yaml --json
    plan @operators.yaml --servers 4 --budget 0 --fabrics none --json
    plan @operators.csv --batch-per-accelerator 8 --servers 4 --budget 0 --fabrics none --json
    plan @traffic.csv --fabrics none --json
    plan @traffic.npy --fabrics none --json
    traffic @recommender.pt2 --servers 4 --json
    traffic @resnet18.onnx --batch-per-accelerator 8 --servers 4 --json
    traffic @nccl.log --degree 2 --json
    traffic @rank0.json --accelerators-per-server 4 --json
    plan @profile.json --budget 0 --fabrics none --json
    plan @measure_vgg.json --budget 0 --fabrics none --json
    models @config.json --json
    llm estimate @config.json --accelerators 8 --json
    traffic @plan.json --json
    report @plan.json --out page.html
    cost @plan.json --json
    compare @plan.json --fabrics ideal-switch --baseline-budget 0 --json
    simulate @plan.json --simulator analytic --json
    simulate @plan.json --simulator flow --json
    simulate @plan.json --simulator packet --json
    phases @counters.csv --json
    interleave @shared.yaml vgg16.yaml --capacity 50Gbps --json
    fail @plan.json --server 0 --json
    fail @plan.json --availability --runs 3 --json
    rewire @plan.json other.json --json
    export @plan.json --out exported --json
    export plan.json --format inventory,labels --inventory @room.yaml --out exported --json
    rewire plan.json other.json --inventory @room.yaml --json
    traffic @llama.json --json
    simulate @llama.json --simulator flow --json
    report @llama.json --out page.html
    report @comparison.json --out page.html
    report @cluster.json --out page.html
    cluster run @trace.csv --servers 8 --fabrics ideal-switch --json
    cluster run @trace.csv --servers 8 --fabrics topoopt --json
    choose @mix.yaml --servers 4 --degrees 2 --bandwidths 100Gbps --fabrics rail --proposals 0 --processes 1 --json
    sweep @sweep.yaml --dry-run
    results @sweep.duckdb --json
    cost --servers 8 --prices @prices.csv --json
    cost --servers 8 --prices @prices.yaml --json
    cost --servers 8 --power @watts.csv --json
    fail plan.json --availability --runs 3 --rates @rates.yaml --json
    llm estimate --runs @runs.csv --json
    llm calibrate @few.csv --json
    llm estimate llama2-7b --accelerators 8 --calibration @calibration.toml --json
    llm traffic mixtral-8x7b --accelerators 8 --ep 8 --loads @loads.csv --json
    llm traffic llama2-7b --accelerators 8 --tp 2 --slots @slots.txt --json
    collective --op allreduce --bytes 1MB --wiring @cables.txt --json
    collective --op all-gather --bytes 1MB --wiring @graph.json --json
    topology @wiring.json --json
    cost --servers 8 --fabrics @two-tier.csv --json
    simulate @plan.json --fabric @two-tier.csv --json
    topology @lab.graphml --json
    topology @lab.dot --json
    plan dlrm --set tables=4 --wiring @lab.csv --budget 0 --fabrics none --json
    verify @plan.json --json
    verify @wiring.json --json
    serving llama3-8b --accelerators 2 --trace @requests.jsonl --mode chunked --top 1 --json
    serving llama3-8b --accelerators 2 --trace @requests.csv --mode chunked --top 1 --prefix-cache --json
    serving llama3-8b --accelerators 2 --trace @bailian.jsonl --mode chunked --top 1 --json
    serving llama3-8b --accelerators 2 --trace @azure.csv --mode chunked --top 1 --json
    serving llama3-8b --accelerators 2 --trace @burst.csv --mode chunked --top 1 --json
    serving @serving.yaml --servers 2 --rate 1 --duration 2min --fabrics ideal-switch --top 1 --json
    serving llama3-70b --deployment @deployment.yaml --accelerators 32 --rate 4 --duration 30s --top 1 --json
    serving --runs @serving-runs.csv --json
    rl --runs @rl-runs.csv --json
    interleave @sends.json vgg16.yaml --capacity 50Gbps --json
    cluster run @serving_trace.csv --servers 32 --fabrics ideal-switch --json
    cluster run @acme.csv --mix vgg16=1 --servers 8 --fabrics ideal-switch --json
    cluster run @philly.json --mix vgg16=1 --servers 8 --fabrics ideal-switch --json
    traffic @european.csv --json
    simulate @graph.fbuf --simulator analytic --json
    simulate @graph.fbuf --simulator flow --json
    simulate @graph.fbuf.xz --simulator packet --json
    simulate @traces.0.et --fabric ideal-switch --bandwidth 100Gbps --simulator analytic --json
    simulate @traces.1.et --fabric plan.json --json
    """.strip().splitlines()
)
"""The file behind ``@`` is the one that is spoiled; the others are whole."""

WORDS = {
    "plan": "dlrm --set tables=4 --servers 4 --budget 0 --fabrics none --json",
    "topology": "--servers 12 --degree 4 --json",
    "collective": "--op allreduce --bytes 1MB --servers 12 --degree 4 --json",
    "traffic": "dlrm --set tables=4 --servers 4 --json",
    "llm estimate": "llama2-7b --accelerators 8 --json",
    "llm search": "llama2-7b --accelerators 8 --json",
    "llm traffic": "mixtral-8x7b --accelerators 8 --ep 8 --json",
    "llm calibrate": "few.csv --json",
    "finetune": "llama3-8b --accelerators 8 --json",
    "rl": "qwen3-8b --accelerators 16 --prompts 8 --max-length 1000 --json",
    "serving": "llama3-8b --accelerators 2 --rate 4 --duration 30s --mode chunked --top 1 --json",
    "compare": "plan.json --fabrics ideal-switch --baseline-budget 0 --json",
    "cost": "--servers 8 --json",
    "simulate": "plan.json --simulator flow --json",
    "mltcp simulate": "--communication 0.4 --json",
    "cluster run": "trace.csv --servers 8 --fabrics ideal-switch --json",
    "testbed status": "--json",
    "fail": "plan.json --server 0 --json",
    "rewire": "plan.json other.json --json",
    "phases": "counters.csv --json",
    "interleave": "shared.yaml vgg16.yaml --capacity 50Gbps --json",
    "export": "plan.json --format patch-list --out exported --json",
    "verify": "plan.json --json",
    "choose": "vgg16-16 --servers 4 --degrees 2 --bandwidths 100Gbps --fabrics rail --proposals 0 --processes 1 --json",
    "sweep": "sweep.yaml --dry-run",
    "results": "sweep.duckdb --json",
    "report": "plan.json --out page.html",
    "reproduce": "list",
    "profile": "dlrm --set tables=4 --json",
    "models": "dlrm --json",
    "hardware": "nics --json",
    "doctor": "--json",
}
"""For each verb words that work and take little time; others are put behind them."""

CHANGE_THE_MACHINE = {"testbed up", "testbed run", "testbed share", "testbed down"}
"""Verbs that would make networks, leave them behind, or remove somebody's."""

WAIT_FOR_PEOPLE = {"studio"}
"""Verbs that go on until they are interrupted."""


def verbs() -> Iterator[tuple[str, list[Any]]]:
    """Yield every verb of the command line and its options, as the program itself lists them."""
    yield from _verbs_of(typer.main.get_command(app), "", list(VERBS))


def _verbs_of(group: Any, before: str, names: list[str]) -> Iterator[tuple[str, list[Any]]]:
    context = typer.Context(group)
    for name in names:
        _, command, _ = group.resolve_command(context, [name])
        if hasattr(command, "list_commands"):
            yield from _verbs_of(command, f"{name} ", command.list_commands(typer.Context(command)))
        elif before + name not in CHANGE_THE_MACHINE | WAIT_FOR_PEOPLE:
            yield before + name, [one for one in command.params if one.opts[0].startswith("--")]


def make_files(folder: Path) -> None:
    """Write a valid file of every kind into a folder, which is the working directory."""
    for name, text in TEXT_FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    for name, example in (
        ("operators.yaml",) * 2,
        ("operators.csv",) * 2,
        ("profile.json",) * 2,
        ("watts.csv",) * 2,
        ("prices.csv",) * 2,
        ("rates.yaml", "failure-rates.yaml"),
        ("runs.csv",) * 2,
        ("room.yaml",) * 2,
        ("shared.yaml", "vgg16-job.yaml"),
        ("vgg16.yaml", "vgg16-job.yaml"),
        *((name, f"models/{name}") for name in ("recommender.pt2", "resnet18.onnx")),
        ("nccl.log", "recorded/nccl.log"),
        ("rank0.json", "recorded/rank0.trace.json"),
        ("cables.txt", "wirings/five.txt"),
        ("two-tier.csv", "fabrics/two-tier.csv"),
        ("serving.yaml", "serving-job.yaml"),
        *((name,) * 2 for name in ("deployment.yaml", "requests.jsonl", "requests.csv", "serving-runs.csv")),
        *((name,) * 2 for name in ("rl-runs.csv", "serving_trace.csv")),
        *((name, f"wirings/{name}") for name in ("lab.graphml", "lab.dot", "lab.csv")),
    ):
        (folder / name).write_bytes((EXAMPLES / example).read_bytes())
    sent = ((step, 10**6 * (step // 10 * 5 + min(step % 10, 5))) for step in range(80))
    rows = "".join(f"{step * 10},{size}\n" for step, size in sent)
    (folder / "counters.csv").write_text(f"time_ms,sent_bytes\n{rows}")
    (folder / "few.csv").write_text("\n".join((folder / "runs.csv").read_text().splitlines()[:5]))
    (folder / "prices.yaml").write_text(json.dumps(_rows((folder / "prices.csv").read_text())))
    packed = (EXAMPLES / "taskgraphs" / "10vgg_16.fbuf.xz").read_bytes()
    (folder / "graph.fbuf.xz").write_bytes(packed)
    (folder / "graph.fbuf").write_bytes(lzma.decompress(packed))
    np.save(folder / "traffic.npy", np.array([[0, 1e6, 0], [0, 0, 2e6], [3e6, 0, 0]]))
    arcs = [{"source": i, "target": (i + step) % 7} for i in range(7) for step in (1, 3)]
    (folder / "graph.json").write_text(json.dumps({"directed": True, "links": arcs}))
    (folder / "measure_vgg.json").write_text(_flexnet())
    plan = "plan dlrm --set tables=4 --servers 4 --budget 0 --fabrics none"
    for name, line in (
        ("plan.json", f"{plan} --degree 2 --out plan.json"),
        ("other.json", f"{plan} --degree 2 --seed 1 --strides nearest --out other.json"),
        ("wiring.json", "topology --servers 6 --degree 3 --family lifted --budget 0.01 --out wiring.json"),
        ("llama.json", "plan llama2-7b --accelerators 16 --candidates 1 --fabrics none --out llama.json"),
        ("sweep.duckdb", "sweep sweep.yaml --processes 1"),
        ("calibration.toml", "llm calibrate few.csv --out calibration.toml"),
        ("comparison.json", "compare plan.json --fabrics ideal-switch --baseline-budget 0 --json"),
        ("cluster.json", "cluster run trace.csv --servers 8 --fabrics ideal-switch --json"),
    ):
        printed = run(line.split())
        if not (folder / name).exists():
            (folder / name).write_text(printed, encoding="utf-8")
    run(["export", "plan.json", "--format", "chakra", "--out", "exported"])
    for file in sorted((folder / "exported").iterdir()):
        file.rename(folder / file.name.replace("plan.", "traces.").replace("comm_group", "traces.comm_group"))
    (folder / "exported").rmdir()


def read_files(folder: Path) -> None:
    """Run the command of every reader: all files are whole, and all is compiled before anything is timed."""
    for reader in READERS:
        run(reader.words)
    (folder / "page.html").unlink()


def run(words: Sequence[str]) -> str:
    """Run a command that is right and return what it prints."""
    printed, complaint = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(complaint):
        code = main(words)
    assert code == 0, f"{words}: {complaint.getvalue()}"
    return printed.getvalue()


def _rows(text: str) -> list[dict[str, str]]:
    header, *rows = [line.split(",") for line in text.splitlines() if line]
    return [{key: cell for key, cell in zip(header, row, strict=False) if cell} for row in rows]


def _flexnet() -> str:
    table = next(table for table in published_tables() if table.model.startswith("vgg16"))
    rows = [
        {"name": name, "pc_str": f"2-1-{round(table.global_batch / row.samples)}", "fw_time": row.forward_s * 1e3,
         "bw_time": row.backward_s * 1e3, "mem_req": 0}
        for name, measured in table.measurements.items() for row in measured
    ]  # fmt: skip
    return json.dumps({"batch_size": round(table.global_batch), "ngpus": table.servers, "measurements": rows})


TEXT_FILES = {
    "job.yaml": """model: dlrm
set: {tables: 4}
batch_per_accelerator: 64
cluster: {servers: 4, degree: 2, link_bandwidth: 100 Gbps, accelerators_per_server: 4, accelerator: a100}
compute: profile
memory_check: warn
bucket: 25 MB
search: {budget: 0}
""",
    "training.yaml": """model: llama2-7b
training: {accelerators: 16, global_batch: 64, tp: 2, recompute: none, candidates: 1}
cluster: {accelerator: h100, link_bandwidth: 400 Gbps}
""",
    "hall.yaml": """servers: 4
degree: 2
link_bandwidth: 100 Gbps
accelerators_per_server: 4
accelerator: a100
intra_server_bandwidth: 200 Gbps
link_latency: 1 us
links: duplex
""",
    "traffic.csv": "0,1000000,0,5\n7,0,2000000,0\n3000000,0,0,1\n0,4,0,0\n",
    "trace.csv": "id,model,servers,arrival_s,iterations\na,vgg16-16,4,0,10\nb,vgg16-16,4,1,10\n",
    "sweep.yaml": "models: [vgg16-16]\nservers: [4]\nbudget: 0\nbaseline_budget: 0\nfabrics: [ideal-switch]\n",
    "mix.yaml": "jobs:\n- {job: vgg16-16, share: 2}\n- {job: job.yaml, share: 1, servers: 2}\n",
    "european.csv": "0;1.000.000;0,5\n7;0;2.000.000\n3000000;0;0\n",
    "azure.csv": "TIMESTAMP,ContextTokens,GeneratedTokens\n"
    + "".join(f"2023-11-16 18:17:{second:02d}.9799600,{480 + second},10\n" for second in range(3, 50)),
    "burst.csv": "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type\n"
    + "".join(f"{n},GPT-4,{400 + n},{n % 9},{400 + n + n % 9},API log\n" for n in range(60)),
    "bailian.jsonl": "".join(
        json.dumps({"chat_id": n, "parent_chat_id": -1, "timestamp": 1.5 * n, "input_length": 40 + n,
                    "output_length": 9, "type": "text", "turn": 1, "hash_ids": list(range(-(-(40 + n) // 16)))})
        + "\n" for n in range(40)
    ),
    "acme.csv": "job_id,gpu_num,type,submit_time,duration\n"
    + "".join(f"{n},{4 * n},SFT,2023-03-01 00:0{n}:00+08:00,{60 * n}\n" for n in range(1, 9)),
    "philly.json": json.dumps(
        [{"status": "Pass", "vc": "a", "jobid": f"j{n}", "user": "u", "submitted_time": "2017-10-09 07:02:03",
          "attempts": [{"start_time": "2017-10-09 07:02:03", "end_time": f"2017-10-09 07:1{n}:03",
                        "detail": [{"ip": f"m{m}", "gpus": ["g0", "g1", "g2", "g3"]} for m in range(n)]}]}
         for n in range(1, 5)]
    ),
    "sends.json": json.dumps(
        {"name": "j", "iteration_time_ms": 100, "phases": [[0, 40, 20]]}
    ),
    "slots.txt": " ".join(str(rank) for rank in range(8)) + "\n",
    "loads.csv": "layer,expert,share\n"
    + "".join(f"{layer},{expert},{1 / 8}\n" for layer in range(32) for expert in range(8)),
    "config.json": json.dumps(
        {"model_type": "llama", "num_hidden_layers": 4, "hidden_size": 512, "num_attention_heads": 8,
         "num_key_value_heads": 4, "intermediate_size": 2048, "vocab_size": 32000, "max_position_embeddings": 2048}
    ),
}  # fmt: skip
