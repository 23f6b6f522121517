"""A job that serves a model, from a file: the words of ``topoopt serving`` under ``serving``."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import create_model

from topoopt.jobs.file_kind import file_kind
from topoopt.jobs.request import names_file
from topoopt.schema.files import Strict, is_file, read_yaml, validated
from topoopt.schema.words import ServingWords, described

_FILES = ("trace", "deployment", "prices")
"""Words that may name files, which lie beside the job."""

_KINDS: Mapping[str, Any] = {"trace": str, "deployment": str | dict[str, Any], "fabrics": list[str]}
"""Of words whose values are written otherwise in a file than in Python."""

if TYPE_CHECKING:

    class ServingPart(Strict):
        """A served model: its name, and the words of the vocabulary."""

        model: str

else:
    ServingPart = create_model(
        "ServingPart",
        __base__=Strict,
        __doc__="A served model: its name, and the words of the vocabulary; what is not said is searched or usual.",
        model=(str | None, None),
        **{word.name: (_KINDS.get(word.name, word.kind) | None, None) for word in described(ServingWords)},
    )


class _ServingFile(Strict):
    serving: ServingPart


def is_serving_job(word: str) -> bool:
    """Return whether a word is the name of a job that serves a model."""
    return Path(word).suffix.lower() in (".yaml", ".yml", ".json") and file_kind(word) == "serving-job"


def read_serving_job(path: str) -> tuple[str | None, dict[str, Any]]:
    """Return the model of a job that serves one, and the words that the file says.

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
