"""Detection of the kind of a file, by its content, and the verbs that accept it. All kinds are listed here."""

import os
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import (
    GZIP,
    XZ,
    ForeignFile,
    csv_lines,
    decoded,
    is_file,
    parse_json,
    parse_toml,
    parse_yaml,
    read_bytes,
    unpacked,
)
from topoopt.topologies.wirings import is_ns3_topology
from topoopt.workloads.recorded import begins_as_workload, is_recorded

_BY_SUFFIX = {
    ".fbuf": "task-graph",
    ".et": "chakra",
    ".onnx": "onnx",
    ".pt2": "program",
    ".npy": "matrix",
    ".safetensors": "weights",
    ".graphml": "wiring",
    ".dot": "wiring",
    ".gv": "wiring",
    ".duckdb": "results",
}
_BY_FIRST_BYTES = (
    (b"\x93NUMPY", "matrix"),
    (b"<!doctype html", "page"),
    (b"<html", "page"),
)
_SCHEMAS = {
    "topoopt-plan": "plan",
    "topoopt-profile": "device-profile",
    "topoopt-cluster": "cluster-result",
    "topoopt-comparison": "comparison",
    "topoopt-wiring": "wiring",
    "topoopt-graph": "wiring",
}
_SWEEP = {"models", "seeds", "exclude", "presets", "fabrics"}
_CLUSTER = {"servers", "degree", "link_bandwidth", "accelerators_per_server"}
_JOB = {"model", "config", "traffic", "training", "cluster"}
_TABLES: Sequence[tuple[str, set[str]]] = (
    ("operators", {"name", "inputs"}),
    ("trace", {"id", "model", "servers"}),
    ("prices", {"item", "usd"}),
    ("watts", {"item", "watts"}),
    ("runs", {"gpus", "gpu"}),
    ("trace", {"job_id", "gpu_num", "submit_time"}),
    ("trace", {"job_id", "num_gpu", "submit_time"}),
    ("request-trace", {"arrival_s", "input_tokens", "output_tokens"}),
    ("request-trace", {"timestamp", "contexttokens", "generatedtokens"}),
    ("request-trace", {"timestamp", "request tokens", "response tokens"}),
)
"""Columns that a table of a kind has."""
_LONGEST_ROW = 100_000
"""Characters of a first line in which a second one is looked for."""
_TIMES, _SENT = {"time_s", "time_ms", "time_us"}, {"sent_bytes", "rate_bps", "rate_mbps", "rate_gbps"}
_MODELS = "topoopt plan, compare and traffic take it"
_PLANS = "topoopt compare, traffic, simulate, cost, fail, export, verify, rewire and report take it"
_WIRINGS = "topoopt topology, verify, rewire and collective take it, plan and compare as wiring=FILE"


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file.

    Attributes
    ----------
    words : str
        Description with its article.
    taken : str
        Verbs that accept it, as a clause.
    """

    words: str
    taken: str


KINDS: Mapping[str, FileKind] = {
    "plan": FileKind("a plan", _PLANS),
    "comparison": FileKind("a comparison of fabrics", "topoopt report takes it"),
    "cluster-result": FileKind("the result of a cluster", "topoopt report takes it"),
    "job": FileKind("a job", _MODELS),
    "serving-job": FileKind("a job that serves a model", "topoopt plan and serving take it"),
    "cluster": FileKind(
        "the description of a cluster, not a job", "topoopt plan MODEL takes it as cluster=FILE"
    ),
    "operators": FileKind("a list of operators", "topoopt plan, compare, traffic and profile take it"),
    "program": FileKind("a program of torch.export", _MODELS),
    "onnx": FileKind("a model in ONNX", _MODELS),
    "matrix": FileKind("a traffic matrix", _MODELS),
    "recording": FileKind("NCCL's log or a trace of torch.profiler", _MODELS),
    "chakra": FileKind(
        "Chakra's execution traces", "topoopt simulate and phases take them, and plan, compare and traffic"
    ),
    "simai-workload": FileKind(
        "a workload of SimAI or AICB",
        "topoopt plan, compare and traffic take it with accelerators_per_server=8, topoopt simulate and phases with "
        "fabric=fat-tree and bandwidth=400Gbps",
    ),
    "device-profile": FileKind("a profile of topoopt profile", _MODELS + ", also as profile_file=FILE"),
    "flexnet-profile": FileKind("a profile of FlexNet", _MODELS + ", also as profile_file=FILE"),
    "config": FileKind(
        "the config.json of a transformer",
        "topoopt plan, compare, traffic, models and the verbs of topoopt llm take it",
    ),
    "task-graph": FileKind("a task graph of FlexNet", "topoopt simulate and phases take it"),
    "wiring": FileKind("a wiring", _WIRINGS),
    "mix": FileKind("a mix of jobs", "topoopt choose takes it"),
    "sweep": FileKind("a sweep", "topoopt sweep takes it"),
    "results": FileKind("what a sweep has stored", "topoopt results and report take it"),
    "trace": FileKind("a trace of jobs", "topoopt cluster run takes it"),
    "job-profile": FileKind("what a job sends in an iteration", "topoopt interleave and phases take it"),
    "counters": FileKind("counters of links", "topoopt phases and interleave take them"),
    "runs": FileKind("a table of measured runs", "topoopt llm calibrate takes it, llm estimate as runs=FILE"),
    "prices": FileKind("a price list", "the verbs that price a network take it as prices=FILE"),
    "watts": FileKind("a table of watts", "topoopt cost takes it as power=FILE"),
    "inventory": FileKind("an inventory", "topoopt export takes it as inventory=FILE"),
    "rates": FileKind("a table of failure rates", "topoopt fail takes it as rates=FILE, with availability"),
    "calibration": FileKind("a calibration", "the verbs about transformers take it as calibration=FILE"),
    "weights": FileKind(
        "weights without a model", "export the model with torch.export.save, or give its config.json"
    ),
    "arrays": FileKind(
        "an archive of NumPy's arrays (.npz)", "save the matrix alone with numpy.save, as .npy"
    ),
    "execution-trace": FileKind("an execution trace of PyTorch", _MODELS),
    "request-trace": FileKind("a trace of requests", "topoopt serving takes it as trace=FILE"),
    "schedule": FileKind(
        "a schedule in MSCCL's XML",
        "topoopt verify runs it; topoopt collective finds schedules, export writes them",
    ),
    "nccl-graph": FileKind("a graph of NCCL", "topoopt export writes such files of a plan; give it the plan"),
    "astra-network": FileKind(
        "a network of ASTRA-sim", "topoopt export writes such files of a plan; give it the plan"
    ),
    "page": FileKind("a page for browsers", "the plan that it shows was written by topoopt plan as out=FILE"),
}
"""Kinds by name, in the order of the data flow."""


def wrong_kind(path: str, *expected: str) -> InvalidInput | None:
    """Return the error for a file of an unexpected kind; None for an expected or unknown kind."""
    found = file_kind(path)
    if found is None or found in expected:
        return None
    kind = KINDS[found]
    return InvalidInput(f"{path}: is {kind.words}; {kind.taken.replace('FILE', path)}")


@contextmanager
def expecting(path: object, *expected: str) -> Iterator[None]:
    """Convert read errors of a file of an unexpected kind to one that names its kind and verbs."""
    try:
        yield
    except InvalidInput:
        other = wrong_kind(path, *expected) if isinstance(path, str) else None
        if other is None:
            raise
        raise other from None


def file_kind(path: str) -> str | None:
    """Return the name of the kind of a file or folder, as its content says it; None where nothing does.

    File errors (missing, cut short) are ignored here; readers report them.

    Raises
    ------
    ForeignFile
        For a file of another program that no verb reads.
    """
    try:
        if os.path.isdir(path):
            return _of_folder(path)
        if not is_file(path):
            given = Path(path)
            is_prefix = bool(given.name) and is_file(given.parent / f"{given.name}.0.et")
            return "chakra" if is_prefix else None
        return of_bytes(read_bytes(path), Path(path).suffix.lower(), path)
    except ForeignFile:
        raise
    except (InvalidInput, OSError, ValueError):
        return None


def of_bytes(data: bytes, suffix: str, path: str) -> str | None:
    """Return the kind of a file's content; by its suffix if the content is not text."""
    if data.startswith((b"PK\x03\x04", GZIP, XZ)):
        return _of_archive(path) if data.startswith(b"PK") else _of_packed(data, path)
    begins = data[:64].lstrip().lower()
    for mark, kind in _BY_FIRST_BYTES:
        if data.startswith(mark) or begins.startswith(mark):
            return kind
    if data[8:12] == b"DUCK":
        return "results"
    if suffix in _BY_SUFFIX:
        return _BY_SUFFIX[suffix]
    if is_recorded(data):
        return "recording"
    return of_text(decoded(data, path), suffix, path)


def of_text(text: str, suffix: str, path: str) -> str | None:
    """Return the kind of a text."""
    begins = text.lstrip()[:200]
    if begins.startswith("<"):
        roots = (("<graphml", "wiring"), ("<algo ", "schedule"), ("<graphs ", "nccl-graph"))
        return next((kind for root, kind in roots if root in text[:10_000]), None)
    if begins_as_workload(text):
        return "simai-workload"
    if re.match(r"(strict\s+)?(di)?graph\b[^:=]*\{", begins) or is_ns3_topology(text):
        return "wiring"
    if suffix == ".csv" or suffix not in (".yaml", ".yml", ".json", ".toml"):
        kind = _of_table(text, path)
        if kind or suffix == ".csv":
            return kind
    if begins.startswith("{") and "\n{" in text[:_LONGEST_ROW]:
        text = text.lstrip().partition("\n")[0]  # a row of JSON a line
    parse: Callable[[str, str], Any] = parse_json if begins.startswith("{") else parse_yaml
    return of_content(parse_toml(text, path) if suffix == ".toml" else parse(text, path))


def of_content(content: object) -> str | None:
    """Return the kind of the content of a YAML, JSON or TOML file."""
    if isinstance(content, Mapping):
        return _of_mapping(content)
    return _of_rows(content) if isinstance(content, list) else None


def _of_mapping(content: Mapping[str, Any]) -> str | None:
    """Return the kind of a mapping of keys to values: the first whose keys it has."""
    graph = content.get("graph")
    marks = (
        content.get("schema"),
        content.get("format"),
        graph.get("format") if isinstance(graph, Mapping) else None,
    )
    for mark in marks:
        for begin, kind in _SCHEMAS.items():
            if str(mark or "").startswith(begin):
                return kind
    keys = set(content)
    rules: Sequence[tuple[str, bool]] = (
        ("recording", isinstance(content.get("traceEvents"), list)),
        ("execution-trace", {"schema", "nodes"} <= keys and "pid" in keys),
        ("flexnet-profile", "measurements" in keys),
        ("operators", isinstance(content.get("operators"), list)),
        ("config", bool({"model_type", "architectures"} & keys)),
        ("wiring", bool({"links", "edges"} & keys) and bool({"nodes", "graph"} & keys)),
        ("plan", "strategy" in keys),
        ("comparison", {"simulators", "fabrics"} <= keys),
        ("job-profile", {"phases", "iteration_time_ms"} <= keys),
        (
            "inventory",
            isinstance(content.get("servers"), list) and "models" not in keys and "model" not in keys,
        ),
        ("serving-job", isinstance(content.get("serving"), Mapping)),
        ("mix", isinstance(content.get("jobs"), list)),
        ("sweep", "models" in keys and bool(_SWEEP & keys)),
        ("calibration", {"accelerator", "attention"} <= keys and "model" not in keys),
        ("astra-network", {"topology", "npus_count"} <= keys),
        ("request-trace", {"timestamp", "input_length", "output_length"} <= keys),
        ("rates", any(isinstance(row, Mapping) and "mtbf" in row for row in content.values())),
        ("prices", list(content) == ["prices"]),
        ("watts", list(content) == ["watts"]),
        ("cluster", bool(_CLUSTER & keys) and "cluster" not in keys),
        ("job", bool(_JOB & keys)),
    )
    return next((kind for kind, holds in rules if holds), None)


def _of_rows(rows: Sequence[Any]) -> str | None:
    if rows and all(
        isinstance(row, Mapping) and {"attempts", "submitted_time"} <= row.keys() for row in rows
    ):
        return "trace"
    if rows and all(isinstance(row, Mapping) and "item" in row for row in rows):
        return "prices" if all("usd" in row for row in rows) else "watts"
    return None


def _of_table(text: str, path: str) -> str | None:
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if not lines:
        return None
    try:
        rows = [cells for _, cells in csv_lines("\n".join(lines[:3]), path)]
    except InvalidInput:
        return None
    columns = {cell.strip().lower() for cell in rows[0]}
    for kind, needed in _TABLES:
        if needed <= columns:
            return kind
    if columns & _TIMES and columns & _SENT:
        return "counters"
    if {"source", "target"} <= columns or {"src", "dst"} <= columns:
        return "wiring"
    numbers = all(_is_number(cell) for row in rows for cell in row)
    square = len(lines) == len(rows[0]) >= 2 and all(len(row) == len(rows[0]) for row in rows)
    return "matrix" if numbers and square else None


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _of_packed(data: bytes, path: str) -> str:
    """Return the kind of the content: a recording, or a task graph if it is binary."""
    if is_recorded(data):
        return "recording"
    try:
        inside = unpacked(data, path)
    except InvalidInput as error:
        raise ForeignFile(str(error)) from None
    if b"\0" in inside[:1000]:
        return "task-graph"
    raise ForeignFile(f"{path}: is a packed file, but neither a recording nor a task graph; unpack it first")


def _of_archive(path: str) -> str | None:
    """Return the kind of a zip file: a program of ``torch.export``, output of ``torch.save``, or arrays of NumPy."""
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except Exception:  # of a damaged one it raises errors of many kinds
        names = []
    if any(name.endswith(("models/model.json", "serialized_exported_program.json")) for name in names):
        return "program"
    if any(name.endswith(".npy") for name in names):
        return "arrays"
    if any(name.endswith("data.pkl") for name in names):
        return "weights"
    suffix = Path(path).suffix.lower()  # its reader says what is missing
    return "arrays" if suffix == ".npz" else _BY_SUFFIX.get(suffix)


def _of_folder(path: str) -> str | None:
    files = sorted(one for one in Path(path).iterdir() if one.is_file())
    if any(one.suffix == ".et" for one in files):
        return "chakra"
    kind = file_kind(str(files[0])) if files else None
    return kind if kind in ("recording", "execution-trace") else None  # readers of others take a file
