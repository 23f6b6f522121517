"""Sources of a job: a model of the zoo (and the list of these), or a file of any kind."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import create_model

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.jobs.file_kind import KINDS, file_kind, of_content, wrong_kind
from topoopt.jobs.request import JobRequest, job_from_mapping, names_file
from topoopt.schema.files import (
    Strict,
    checked,
    is_file,
    read_bytes,
    read_json,
    read_text,
    read_yaml,
    validated,
)
from topoopt.schema.words import ServingWords, described
from topoopt.workloads import MODELS, ListedModel, listed_model, resolve_variant
from topoopt.workloads.transformer import (
    ListedTransformer,
    find_transformer,
    is_transformer,
    listed_transformers,
)


@shows_itself
@dataclass(frozen=True, slots=True)
class ModelList:
    """One model, ``named``, or all of them."""

    models: tuple[ListedModel, ...]
    transformers: tuple[ListedTransformer, ...]
    named: bool

    def to_json(self) -> dict[str, Any]:
        """Return both lists as a mapping."""
        return {
            "models": [model.to_json() for model in self.models],
            "transformers": [transformer.to_json() for transformer in self.transformers],
        }

    def to_frame(self) -> Frame:
        """Return a row for each variant and each transformer, as pandas has it."""
        variants = [
            {
                "model": variant.variant,
                **fields_of(variant, "servers", "parameter_bytes", "description"),
            }
            for model in self.models
            for variant in model.variants
        ]
        transformers = [
            {"model": one.model.name, "parameters": one.parameters.total, "description": one.model.family}
            for one in self.transformers
        ]
        return frame([*variants, *transformers])


SUFFIXES = (".yaml", ".yml", ".json", ".csv", ".npy")
_BINARY = (".onnx", ".pt2", ".et")
WORDS: Mapping[str, str] = {
    "program": "program",
    "onnx": "program",
    "recording": "traffic",
    "execution-trace": "traffic",
    "chakra": "traffic",
    "simai-workload": "traffic",
    "matrix": "traffic",
    "device-profile": "profile",
    "flexnet-profile": "profile",
    "operators": "operators",
    "config": "config",
}
"""Option of a request for a file, by kind of file."""
_FILES = ("trace", "deployment", "prices")
"""Words that may name files, which lie beside the job."""
_KINDS: Mapping[str, Any] = {"trace": str, "deployment": str | dict[str, Any], "fabrics": list[str]}
"""Types of options whose values differ between files and Python."""
if TYPE_CHECKING:

    class ServingPart(Strict):
        """A served model: its name, and the words of the vocabulary."""

        model: str

else:
    ServingPart = create_model(
        "ServingPart",
        __base__=Strict,
        __doc__="A served model: its name and options; missing ones are searched or have defaults.",
        model=(str | None, None),
        **{word.name: (_KINDS.get(word.name, word.kind) | None, None) for word in described(ServingWords)},
    )


class _ServingFile(Strict):
    serving: ServingPart


def is_serving_job(word: str) -> bool:
    """Return whether a word is the name of a job that serves a model."""
    return Path(word).suffix.lower() in (".yaml", ".yml", ".json") and file_kind(word) == "serving-job"


def read_serving_job(path: str) -> tuple[str | None, dict[str, Any]]:
    """Return the model of a serving job, and the options in its file.

    Raises
    ------
    InvalidInput
        In one line: ``job.yaml: serving.rate: expected a number, got "many"``.
    """
    part = validated(_ServingFile, read_yaml(path), path).serving
    words = part.model_dump(exclude_none=True)
    model, folder = words.pop("model", None), Path(path).parent
    for name in _FILES:
        named = words.get(name)
        if isinstance(named, str) and (name == "trace" or names_file(named)):
            words[name] = str(folder / named)
    if model is not None and is_file(str(folder / model)):
        model = str(folder / model)
    return model, words


def is_plan(word: str) -> bool:
    """Return whether the word is the name of a plan file.

    Raises
    ------
    InvalidInput
        If it is a JSON file that is missing or cut short.
    """
    suffix = Path(word).suffix.lower()
    if suffix == ".json":
        content = read_json(word, foreign=True)
        if not isinstance(content, Mapping):
            raise InvalidInput(
                f"{word}: expected a mapping of keys to values, got a {type(content).__name__}"
            )
        return str(content.get("schema", "")).startswith("topoopt-plan") or "strategy" in content
    return suffix not in SUFFIXES and is_file(word) and file_kind(word) == "plan"


def request_of(word: str) -> JobRequest:
    """Return the request of a model's name, or of a file by its content.

    ``.npy`` and a CSV without a header are traffic matrices; a CSV with a column ``name`` and a YAML with a
    list ``operators`` are operators; a JSON with ``measurements``, or of ``topoopt profile``, is a profile, one
    with ``model_type`` or ``architectures`` the ``config.json`` of a transformer, one with ``traceEvents`` a trace of
    ``torch.profiler``; a file or folder with lines of NCCL is its log; other YAML and JSON is a job file.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or is of a kind that other verbs take.
    """
    suffix = Path(word).suffix.lower()
    if suffix in (".yaml", ".yml", ".json"):
        return _of_content(read_json(word, foreign=True) if suffix == ".json" else read_yaml(word), word)
    if suffix == ".npy":
        return JobRequest(traffic=word)
    kind = file_kind(word)
    if kind is None and suffix in _BINARY and not os.path.isdir(word):
        read_bytes(word)  # of a missing file it says so
    if kind is not None and kind in WORDS:
        return _named(kind, word)
    if (other := wrong_kind(word, "job")) is not None:
        raise other
    if suffix == ".csv":
        return JobRequest(operators=word) if _has_header(word) else JobRequest(traffic=word)
    if is_file(word) or os.path.isdir(word) or ("/" in word and not is_transformer(word)):
        raise InvalidInput(
            f"{word}: what kind of file is this? Expected one that ends in {', '.join(SUFFIXES)}, .pt2, .onnx or .et, "
            "or a log of NCCL"
        )
    return JobRequest(model=word)


def _of_content(content: object, word: str) -> JobRequest:
    kind = of_content(content)
    if kind is None and not isinstance(content, Mapping) and word.lower().endswith(".json"):
        raise InvalidInput(f"{word}: expected a mapping of keys to values, got a {type(content).__name__}")
    if kind is not None and kind in WORDS:
        return _named(kind, word)
    if kind in (None, "job"):
        again = word.lower().endswith(".json")  # as a file of ours: nothing in it is passed over
        return job_from_mapping(read_json(word) if again else checked(content, word), word)
    raise InvalidInput(f"{word}: is {KINDS[kind].words}; {KINDS[kind].taken.replace('FILE', word)}")


def _named(kind: str, word: str) -> JobRequest:
    return replace(JobRequest(), **{WORDS[kind]: word})  # type: ignore[arg-type]


def _has_header(path: str) -> bool:
    lines = (line for line in read_text(path).splitlines() if line.strip())
    return "name" in [cell.strip().lower() for cell in next(lines, "").split(",")]


def listed_models(name: str | None = None) -> ModelList:
    """Return all models, the one of a name or ``config.json``, or the transformers whose names begin so.

    Raises
    ------
    InvalidInput
        If there is no such model; with the nearest, or why it cannot be one.
    """
    transformers = listed_transformers(name)
    if name is None:
        return ModelList(tuple(map(listed_model, MODELS)), transformers, named=False)
    if name and not transformers and name not in MODELS:
        family = tuple(
            one for one in listed_transformers() if _plain(one.model.name).startswith(_plain(name))
        )
        if family:
            return ModelList((), family, named=False)
    models = () if transformers else (listed_model(_model_of(name)),)
    return ModelList(models, transformers, named=True)


def _plain(name: str) -> str:
    return name.lower().replace("-", "")


def _model_of(name: str) -> str:
    """Return the model that a name means; naming a variant means its model."""
    try:
        return resolve_variant(name)[0]
    except InvalidInput as unknown:
        raise _nearer(name, unknown) from None


def _nearer(name: str, unknown: InvalidInput) -> InvalidInput:
    """Return an error that names similar transformers, or why the model is none; else ``unknown``."""
    try:
        find_transformer(name)
    except InvalidInput as reason:
        if "did you mean" in str(reason) or "unknown" not in str(reason):
            return reason
    return unknown
