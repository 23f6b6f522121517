"""What a word that names a job is: a model of the zoo, or which kind of file."""

from collections.abc import Mapping
from pathlib import Path

from topoopt.errors import InvalidInput
from topoopt.files import is_file, read_json, read_text, read_yaml
from topoopt.job.file import job_from_mapping
from topoopt.job.request import JobRequest
from topoopt.transformer import is_transformer

SUFFIXES = (".yaml", ".yml", ".json", ".csv", ".npy")


def is_plan(word: str) -> bool:
    """Return whether the word is the name of a plan file.

    Raises
    ------
    InvalidInput
        If it is a JSON file that is missing or cut short.
    """
    suffix = Path(word).suffix.lower()
    return (suffix == ".json" or (suffix not in SUFFIXES and is_file(word))) and _plan(_json(word))


def request_of(word: str) -> JobRequest:
    """Return the request of a model's name, or of a file by its suffix and content.

    ``.npy`` and a CSV without a header are traffic matrices; a CSV with a column ``name`` and a YAML with a
    list ``operators`` are operators; a JSON with ``measurements``, or of ``topoopt profile``, is a profile, one
    with ``model_type`` or ``architectures`` the ``config.json`` of a transformer; other YAML and JSON is a job file.

    Raises
    ------
    InvalidInput
        If the file cannot be read, or is a plan.
    """
    suffix = Path(word).suffix.lower()
    if suffix not in SUFFIXES:
        if is_file(word) or ("/" in word and not is_transformer(word)):
            raise InvalidInput(
                f"{word}: what kind of file is this? Expected one that ends in {', '.join(SUFFIXES)}"
            )
        return JobRequest(model=word)
    if suffix == ".npy":
        return JobRequest(traffic=word)
    if suffix == ".csv":
        return JobRequest(operators=word) if _has_header(word) else JobRequest(traffic=word)
    content = _json(word) if suffix == ".json" else read_yaml(word)
    return _of_mapping(content, word) if isinstance(content, Mapping) else job_from_mapping(content, word)


def _of_mapping(content: Mapping[str, object], word: str) -> JobRequest:
    if str(content.get("schema", "")).startswith("topoopt-profile") or "measurements" in content:
        return JobRequest(profile=word)
    if isinstance(content.get("operators"), list):
        return JobRequest(operators=word)
    if "model_type" in content or "architectures" in content:
        return JobRequest(config=word)
    if _plan(content):
        raise InvalidInput(f"{word}: is a plan already; topoopt simulate, traffic and compare read it")
    if "servers" in content and "cluster" not in content:
        raise InvalidInput(f"{word}: is a cluster, not a job; give a model and cluster={word}")
    return job_from_mapping(content, word)


def _plan(content: Mapping[str, object]) -> bool:
    return str(content.get("schema", "")).startswith("topoopt-plan") or "strategy" in content


def _has_header(path: str) -> bool:
    lines = (line for line in read_text(path).splitlines() if line.strip())
    return "name" in [cell.strip().lower() for cell in next(lines, "").split(",")]


def _json(path: str) -> Mapping[str, object]:
    content = read_json(path)
    if not isinstance(content, Mapping):
        raise InvalidInput(f"{path}: expected a mapping of keys to values, got a {type(content).__name__}")
    return content
