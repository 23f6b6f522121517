"""The noun JobRequest: what a job file, or the words beside it, ask for.

Only what was written is in it. Several of them may be laid over each other (a file, then words) before
:func:`topoopt.jobs.requested_job` fills in the defaults.
"""

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from topoopt.base.errors import TopoOptError
from topoopt.base.provenance import digest
from topoopt.catalog import ClusterSpec
from topoopt.schema.files import is_file, read_bytes
from topoopt.workloads import OperatorGraph, Traffic
from topoopt.workloads.recorded import Recording, recorded_files
from topoopt.workloads.transformer import TransformerModel

DEFAULT_CLUSTER: Mapping[str, Any] = {"servers": 128, "degree": 4, "link_bandwidth_bps": 100e9}
"""The cluster of the TopoOpt authors' dedicated jobs."""

TRAINING_FILES = ("calibration", "loads")
"""What of the training may be the name of a file."""

WORK_FILES = ("config", "operators", "program", "profile", "traffic")
"""What a job may be made of instead of a model's name, or beside it: names of files."""

_PLAIN = ("model", "variant", *WORK_FILES, "batch_per_accelerator")
_MERGED = ("training", "hyperparameters", "cluster", "settings", "search")


Described = OperatorGraph | Traffic | TransformerModel | Recording


@dataclass(frozen=True, slots=True)
class JobRequest:
    """What was asked for; empty where nothing was said.

    Attributes
    ----------
    model, variant, config, operators, program, profile, traffic : str
        A model's name, or the path of a file; ``config`` is a transformer's ``config.json``,
        ``program`` one of ``torch.export`` or in ONNX, ``traffic`` a matrix or what a run has sent.
    training : mapping
        Fields of :class:`TrainingPart`, for transformers.
    hyperparameters : mapping
        Changes to the model, named as in its parameter class.
    batch_per_accelerator : int
        0 for the model's own.
    cluster, settings : mapping
        Fields of :class:`~topoopt.catalog.ClusterSpec` and of :class:`~topoopt.jobs.JobSettings`.
    search : mapping
        Options of the search; the search room knows which there are.
    files : tuple of str
        The files read so far.
    places : mapping
        Where each word that a file says stands in it, such as ``job.yaml: training.tp``.
    described : OperatorGraph, Traffic, TransformerModel or Recording, optional
        A model that is no file and has no name in the zoo: made in Python; or what the files of a run say.
    """

    model: str = ""
    variant: str = ""
    config: str = ""
    training: Mapping[str, Any] = field(default_factory=dict)
    hyperparameters: Mapping[str, Any] = field(default_factory=dict)
    operators: str = ""
    program: str = ""
    profile: str = ""
    traffic: str = ""
    batch_per_accelerator: int = 0
    cluster: Mapping[str, Any] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    search: Mapping[str, Any] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    places: Mapping[str, str] = field(default_factory=dict)
    described: Described | None = None

    def overlaid(self, above: "JobRequest") -> "JobRequest":
        """Return this request with everything replaced that ``above`` says."""
        plain: dict[str, Any] = {name: getattr(above, name) or getattr(self, name) for name in _PLAIN}
        merged: dict[str, Any] = {name: {**getattr(self, name), **getattr(above, name)} for name in _MERGED}
        words = {name for name in _PLAIN if getattr(above, name)}.union(
            *(getattr(above, name) for name in _MERGED)
        )
        places = {word: place for word, place in self.places.items() if word not in words}
        return JobRequest(
            **plain,
            **merged,
            files=self.files + above.files,
            places={**places, **above.places},
            described=above.described or self.described,
        )

    def input_digests(self) -> dict[str, str]:
        """Return the SHA-256 of every file that the job is made of, and of what is described in Python, by name."""
        named = filter(None, self.files_by_word().values())
        paths = (*self.files, *(file for path in named for file in recorded_files(path)))
        digests = {Path(path).name: digest(read_bytes(path)) for path in paths}
        if self.described is not None and not isinstance(self.described, Recording):
            name = getattr(self.described, "name", "traffic")
            text = json.dumps(asdict(self.described), sort_keys=True, default=_plain)
            digests[name] = digest(text.encode())
        return digests

    def files_by_word(self) -> dict[str, str]:
        """Return the file that each word names; empty where it names none."""
        training = {word: str(self.training.get(word, "")) for word in TRAINING_FILES}
        named = {word: text for word, text in training.items() if names_file(text)}
        return {**{word: getattr(self, word) for word in WORK_FILES}, **named}


def _plain(value: Any) -> Any:
    """Return what JSON can hold of a set or an array, always in the same order."""
    return sorted(value) if isinstance(value, frozenset) else value.tolist()


@contextmanager
def in_its_place(request: JobRequest) -> Iterator[None]:
    """Say of a mistake in a word of a file where it stands: ``job.yaml: training.tp 3: does not divide …``."""
    try:
        yield
    except TopoOptError as error:
        message = _placed(str(error), request)
        if message == str(error):
            raise
        raise type(error)(message) from None


def _placed(message: str, request: JobRequest) -> str:
    """Return the message with the place of the word that it begins with, or of the word that names a missing file."""
    for word, path in request.files_by_word().items():
        if path and message.startswith(f"{path}: ") and word in request.places and not is_file(path):
            return f"{request.places[word]}: {message}"
    model, _, rest = message.partition(": ")
    about = rest if request.model.startswith(model) else message
    match = re.match(r"[A-Za-z_]\w*(?=[ :])", about)
    if match is None:
        return message
    places = (request.places.get(match[0] + unit) for unit in ("", "_bps", "_s"))
    place = next(filter(None, places), None)
    return f"{place}{about[match.end() :]}" if place else message


def requested_cluster(request: JobRequest, servers: int) -> ClusterSpec:
    """Return the cluster asked for, the rest from :data:`DEFAULT_CLUSTER`; ``servers`` where none were named."""
    return ClusterSpec(**{**DEFAULT_CLUSTER, "servers": servers, **request.cluster})


def names_file(text: str) -> bool:
    """Return whether a word names a file; ``zipf:1.2`` does not."""
    return bool(Path(text).suffix) and ":" not in text
