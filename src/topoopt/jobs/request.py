"""JobRequest: the options of a job, also read from a job file.

A request holds only the options that were given. Several may be layered (a file, then arguments) before
:func:`topoopt.jobs.requested_job` fills in the defaults.
"""

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, create_model, model_validator

from topoopt.base.answers import digest
from topoopt.base.errors import InvalidInput, TopoOptError, shown
from topoopt.catalog import ClusterSpec, find_accelerator
from topoopt.jobs.settings import BucketText, JobSettings, MicrobatchesText
from topoopt.schema.files import BandwidthText, Strict, TimeText, is_file, read_bytes, read_yaml, validated
from topoopt.schema.words import TrainingWords, described
from topoopt.workloads import OperatorGraph, Traffic
from topoopt.workloads.recorded import Recording, recorded_files
from topoopt.workloads.transformer import TransformerModel

DEFAULT_CLUSTER: Mapping[str, Any] = {"servers": 128, "degree": 4, "link_bandwidth_bps": 100e9}
"""The cluster of the TopoOpt authors' dedicated jobs."""
TRAINING_FILES = ("calibration", "loads")
"""Training options that may be file names."""
WORK_FILES = ("config", "operators", "program", "profile", "traffic")
"""File options that define a job in place of, or in addition to, the name of a model."""
_PLAIN = ("model", "variant", *WORK_FILES, "batch_per_accelerator")
_MERGED = ("training", "hyperparameters", "cluster", "settings", "search")
Described = OperatorGraph | Traffic | TransformerModel | Recording


@dataclass(frozen=True, slots=True)
class JobRequest:
    """Options of a job; empty where not given.

    Attributes
    ----------
    model, variant, config, operators, program, profile, traffic : str
        A model's name, or the path of a file; ``config`` is a transformer's ``config.json``, ``program`` one of
        ``torch.export`` or in ONNX, ``traffic`` a matrix or a recording.
    training : mapping
        Fields of :class:`TrainingPart`, for transformers.
    hyperparameters : mapping
        Changes to the model, named as in its parameter class.
    batch_per_accelerator : int
        0 for the model's own.
    cluster, settings : mapping
        Fields of :class:`~topoopt.catalog.ClusterSpec` and of :class:`~topoopt.jobs.JobSettings`.
    search : mapping
        Options of the search, defined in the search room.
    files : tuple of str
        The files read so far.
    places : mapping
        Place of each option in its file, such as ``job.yaml: training.tp``.
    described : OperatorGraph, Traffic, TransformerModel or Recording, optional
        A model that is no file and has no name in the zoo: made in Python; or the recording of a run.
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
        """Return this request with the values of ``above`` replaced."""
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
        """Return the SHA-256 of every file that the job is made of, and of objects described in Python, by name."""
        named = filter(None, self.files_by_word().values())
        paths = (*self.files, *(file for path in named for file in recorded_files(path)))
        digests = {Path(path).name: digest(read_bytes(path)) for path in paths}
        if self.described is not None and not isinstance(self.described, Recording):
            name = getattr(self.described, "name", "traffic")
            text = json.dumps(asdict(self.described), sort_keys=True, default=_plain)
            digests[name] = digest(text.encode())
        return digests

    def files_by_word(self) -> dict[str, str]:
        """Return the files by option."""
        training = {word: str(self.training.get(word, "")) for word in TRAINING_FILES}
        named = {word: text for word, text in training.items() if names_file(text)}
        return {**{word: getattr(self, word) for word in WORK_FILES}, **named}


SETTINGS = tuple(field.name for field in fields(JobSettings))
_Text = Annotated[str, BeforeValidator(lambda value: str(value) if type(value) is int else value)]


class ClusterPart(Strict):
    """Fields of ClusterSpec, any of which may be left to the flags or the defaults."""

    servers: int | None = Field(default=None, ge=2)
    degree: int | None = Field(default=None, ge=1)
    link_bandwidth_bps: BandwidthText | None = Field(default=None, alias="link_bandwidth")
    accelerators_per_server: int | None = Field(default=None, ge=1)
    accelerator: str | None = None
    intra_server_bandwidth_bps: BandwidthText | None = Field(default=None, alias="intra_server_bandwidth")
    link_latency_s: TimeText | None = Field(default=None, alias="link_latency")
    links: Literal["duplex", "directed"] | None = None


_LEAST = {
    "accelerators": 2,
    **dict.fromkeys(("global_batch", "seq", "tp", "pp", "dp", "cp", "ep", "etp", "vpp", "micro_batch"), 1),
    "zero": 0,
    "candidates": 1,
}
"""Numbers of a training, with the least value of each."""
if TYPE_CHECKING:
    TrainingPart = Strict
else:
    TrainingPart = create_model(
        "TrainingPart",
        __base__=Strict,
        __doc__="Training options of a transformer; missing ones are searched.",
        **{
            name: (int | None, Field(default=None, ge=least, le=3 if name == "zero" else None))
            for name, least in _LEAST.items()
        },
        **{
            word.name: (word.kind | None, None)
            for word in described(TrainingWords)
            if word.name not in _LEAST
        },
    )


class JobModel(Strict):
    """The keys of a job file; see ``examples/job.yaml``."""

    model: str | None = None
    variant: _Text | None = None
    hyperparameters: dict[str, Any] = Field(default={}, alias="set")
    config: str | None = None
    operators: str | None = None
    program: str | None = None
    profile: str | None = None
    traffic: str | None = None
    training: TrainingPart | None = None
    batch_per_accelerator: int | None = Field(default=None, ge=1)
    cluster: ClusterPart | None = None
    compute: str | None = None
    precision: str | None = None
    embedding_bytes_factor: int | None = None
    memory_check: str | None = None
    optimizer: str | None = None
    bucket_bytes: BucketText | None = Field(default=None, alias="bucket")
    microbatches: MicrobatchesText | None = None
    collective: str | None = None
    search: dict[str, Any] = Field(default={})

    @model_validator(mode="after")
    def _one_workload(self) -> "JobModel":
        named = [name for name in ("model", *WORK_FILES) if getattr(self, name) is not None]
        if len(named) != 1 and named not in (
            ["model", "profile"],
            ["operators", "profile"],
            ["program", "profile"],
        ):
            got = " and ".join(named) or "none"
            raise ValueError(
                f"give one of model, config, operators, profile (with or without model), program, traffic; got {got}"
            )
        return self


def job_from_mapping(mapping: Any, path: str | Path) -> JobRequest:
    """Return the request in the content of a job file; relative file names start at its folder.

    Raises
    ------
    InvalidInput
        In one line: ``job.yaml: cluster.degree: expected an integer >= 1, got 0``.
    """
    place, folder = str(path), Path(path).parent
    files: tuple[str, ...] = (place,)
    cluster: dict[str, Any] = {}
    if isinstance(mapping, Mapping) and isinstance(mapping.get("cluster"), str):
        beside = str(folder / mapping["cluster"])
        if not is_file(beside):
            raise InvalidInput(f"{place}: cluster: {beside}: no such file")
        cluster, files = read_cluster_part(beside), (place, beside)
        mapping = {key: value for key, value in mapping.items() if key != "cluster"}
    document = validated(JobModel, mapping, place)
    if document.cluster:
        cluster = document.cluster.model_dump(exclude_none=True)
    before = f"{files[-1]}: {'cluster.' if document.cluster else ''}"
    keys = document.model_dump(exclude_none=True)
    settings = {name: keys[name] for name in SETTINGS if name in keys}
    try:
        JobSettings(**settings)
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None
    work_files: dict[str, Any] = {name: str(folder / keys[name]) for name in WORK_FILES if keys.get(name)}
    return JobRequest(
        **{name: keys[name] for name in ("model", "variant", "batch_per_accelerator") if name in keys},
        **work_files,
        training=_beside(keys.get("training", {}), folder),
        hyperparameters=document.hyperparameters,
        cluster=cluster,
        settings=settings,
        search=document.search,
        files=files,
        places={**_places(document, place), **cluster_places(cluster, before)},
    )


def read_cluster_part(path: str | Path) -> dict[str, Any]:
    """Return the fields of :class:`~topoopt.catalog.ClusterSpec` in a cluster file."""
    return validated(ClusterPart, read_yaml(path), str(path)).model_dump(exclude_none=True)


def cluster_places(cluster: Mapping[str, Any], before: str) -> dict[str, str]:
    """Return the place of each field of a cluster in its file; ``before`` is the file and the part."""
    return {field: f"{before}{_key(ClusterPart, field)}" for field in cluster}


def _places(document: JobModel, place: str) -> dict[str, str]:
    own = {name: _key(JobModel, name) for name in document.model_fields_set}
    training = document.training.model_fields_set if document.training else ()
    keys = {
        **own,
        **{name: f"training.{name}" for name in training},
        **{name: f"set.{name}" for name in document.hyperparameters},
    }
    return {word: f"{place}: {key}" for word, key in keys.items()}


def _key(part: type[Strict], field: str) -> str:
    return part.model_fields[field].alias or field


def _beside(training: dict[str, Any], folder: Path) -> dict[str, Any]:
    files = {key: str(folder / training[key]) for key in TRAINING_FILES if names_file(training.get(key, ""))}
    return {**training, **files}


def training_of_text(text: str, place: str) -> dict[str, Any]:
    """Return the training options in a text, with their values.

    Parameters
    ----------
    text
        Words of :class:`TrainingPart` with their values, blanks between them.
    place
        Prefix of error messages.

    Raises
    ------
    InvalidInput
        For an unknown or repeated option, an invalid value, or the name of a file: a table has no files.

    Examples
    --------
    >>> training_of_text("adapter_rank=16 global_batch=64", "training")
    {'global_batch': 64, 'adapter_rank': 16}
    """
    said = said_words(_parts(text, place), place, "global_batch=64")
    for word in TRAINING_FILES:
        if names_file(said.get(word, "")):
            raise InvalidInput(f"{place}: {word}: expected a name, got the file {shown(said[word])}")
    return validated(TrainingPart, said, place).model_dump(exclude_none=True)


def said_words(parts: Iterable[str], place: str, example: str) -> dict[str, str]:
    """Return the value of each word of texts such as ``rate=8``; errors as :func:`training_of_text`."""
    said: dict[str, str] = {}
    for part in parts:
        word, _, value = part.partition("=")
        if not word or not value:
            raise InvalidInput(f"{place}: expected words such as {example}, got {shown(part)}")
        if word in said:
            raise InvalidInput(f"{place}: {word} stands twice; leave one out")
        said[word] = value
    return said


def text_of_training(training: Mapping[str, Any]) -> str:
    """Return options as one text, in a fixed order; :func:`training_of_text` parses it.

    Examples
    --------
    >>> text_of_training({"global_batch": 64, "adapter_rank": 16, "graphs": True})
    'adapter_rank=16 global_batch=64 graphs=true'
    """
    return " ".join(f"{word}={_written(value)}" for word, value in sorted(training.items()))


def training_kinds() -> dict[str, Any]:
    """Return the type of each training option with its bounds, for a pydantic model."""
    kinds = {}
    for name, key in TrainingPart.model_fields.items():
        kind = get_args(key.annotation)[0]
        kinds[name] = Annotated[(kind, *key.metadata)] if key.metadata else kind
    return kinds


def _parts(text: str, place: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as error:
        raise InvalidInput(f"{place}: {error}, in {shown(text)}") from None


def _written(value: Any) -> str:
    text = ",".join(value) if isinstance(value, list | tuple) else str(value)
    return text.lower() if isinstance(value, bool) else shlex.quote(text)


def _plain(value: Any) -> Any:
    """Return a set or an array as a JSON-compatible value, in a fixed order."""
    return sorted(value) if isinstance(value, frozenset) else value.tolist()


@contextmanager
def in_its_place(request: JobRequest) -> Iterator[None]:
    """Add the place of an option in its file to an error: ``job.yaml: training.tp 3: does not divide …``."""
    try:
        yield
    except TopoOptError as error:
        message = _placed(str(error), request)
        if message == str(error):
            raise
        raise type(error)(message) from None


def _placed(message: str, request: JobRequest) -> str:
    """Return the message with the place of its leading option, or of the option that names a missing file."""
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
    """Return the requested cluster, completed from :data:`DEFAULT_CLUSTER`; ``servers`` is the default size."""
    return ClusterSpec(**{**DEFAULT_CLUSTER, "servers": servers, **request.cluster})


def scale_up_bandwidth_bps(cluster: Mapping[str, Any]) -> float:
    """Return the bandwidth inside servers of a requested cluster: as given, else that of its accelerator."""
    whole = requested_cluster(JobRequest(cluster=dict(cluster)), 2)
    given_bps = whole.intra_server_bandwidth_bps
    if "intra_server_bandwidth_bps" in cluster:
        return given_bps
    return find_accelerator(whole.accelerator).scale_up_bandwidth_bps or given_bps


def names_file(text: str) -> bool:
    """Return whether a word names a file; ``zipf:1.2`` does not."""
    return bool(Path(text).suffix) and ":" not in text
