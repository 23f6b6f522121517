"""What kind of file this is, whoever wrote it, and which verb takes it: the one place that knows all kinds."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.jobs.recognize import recognized

_MODELS = "topoopt plan, compare and traffic take it"
_PLANS = "topoopt compare, traffic, simulate, cost, fail, export, verify, rewire and report take it"
_WIRINGS = "topoopt topology, verify, rewire and collective take it, plan and compare as wiring=FILE"


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file.

    Attributes
    ----------
    words : str
        What it is, with its article.
    taken : str
        Who takes it, as a clause.
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
    "results": FileKind("what a sweep has stored", "topoopt results takes it"),
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
    "execution-trace": FileKind("an execution trace of PyTorch", _MODELS),
    "page": FileKind("a page for browsers", "the plan that it shows was written by topoopt plan as out=FILE"),
}
"""By name, in the order of the way of the data."""


def file_kind(path: str) -> str | None:
    """Return the name of the kind of a file or folder, as its content says it; None where nothing does.

    Errors of the file (missing, cut short) are none here: whoever reads it says them.
    """
    return recognized(path)


def wrong_kind(path: str, *expected: str) -> InvalidInput | None:
    """Return what to say of a file of another kind than those that are expected; None of one of them, or unknown."""
    found = file_kind(path)
    if found is None or found in expected:
        return None
    kind = KINDS[found]
    return InvalidInput(f"{path}: is {kind.words}; {kind.taken.replace('FILE', path)}")


@contextmanager
def expecting(path: object, *expected: str) -> Iterator[None]:
    """Say of a file that cannot be read, and is of another kind than is expected, what it is and who takes it."""
    try:
        yield
    except InvalidInput:
        other = wrong_kind(path, *expected) if isinstance(path, str) else None
        if other is None:
            raise
        raise other from None
