"""Files at the edge: YAML and JSON in, one-line errors out, and writes that are whole or not at all.

Every file that a person writes by hand comes in through here: :func:`read_yaml` or :func:`read_text`, then
:func:`validated` with a pydantic model that has ``extra="forbid"``. Whatever is wrong becomes one line of the
form ``cluster.yaml: servers: expected an integer >= 2, got "many"`` (:class:`~topoopt.errors.InvalidInput`).
"""

import contextlib
import difflib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, BinaryIO, TypeVar

import yaml
from pydantic import BaseModel, BeforeValidator, ValidationError, ValidationInfo
from pydantic_core import ErrorDetails, PydanticCustomError

from topoopt.errors import InvalidInput
from topoopt.units import parse_bandwidth, parse_bytes, parse_time

ModelT = TypeVar("ModelT", bound=BaseModel)


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InvalidInput
        If there is no such file, it is a directory, or it may not be read.
    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path}: is a directory, expected a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidInput(f"{path}: cannot be read: {reason}") from None


def read_text(path: str | Path) -> str:
    """Return the text of a UTF-8 file; a binary file is an :class:`InvalidInput`."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"{path}: not a text file: byte {error.start} is not UTF-8") from None
    if "\0" in text:
        raise InvalidInput(f"{path}: not a text file: it holds a NUL byte")
    return text


def read_yaml(path: str | Path) -> Any:
    """Return what a YAML file says (JSON is YAML too).

    Raises
    ------
    InvalidInput
        As :func:`read_text`, and if the text is not YAML or names a key twice, with the line.
    """
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, place: str) -> Any:
    """Return what YAML text says; ``place`` stands in front of every error."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        _refuse_repeated_keys(node, place)
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise InvalidInput(f"{place}: {line}not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"{place}: not valid YAML: {' '.join(str(error).split())}") from None
    except (ValueError, RecursionError) as error:  # e.g. the date 2024-13-45
        raise InvalidInput(f"{place}: not valid YAML: {' '.join(str(error).split())}") from None


def validated(model_class: type[ModelT], mapping: object, place: str) -> ModelT:
    """Return the model made of ``mapping``, or say what is wrong with it in one line.

    Parameters
    ----------
    model_class
        A pydantic model; give it ``ConfigDict(extra="forbid")``, so that a misspelled key is an error.
    mapping
        What :func:`read_yaml` returned.
    place
        What stands in front of the message: the name of the file.

    Raises
    ------
    InvalidInput
        With the first mistake: place, key, what is allowed, what was there.
    """
    if not isinstance(mapping, Mapping):
        what = "an empty file" if mapping is None else _shown(mapping)
        raise InvalidInput(f"{place}: expected a mapping of keys to values, got {what}")
    try:
        return model_class.model_validate(mapping)
    except ValidationError as error:
        # A misspelled key is often the reason why another one is missing: name it first.
        details = sorted(error.errors(include_url=False), key=lambda item: item["type"] != "extra_forbidden")
        raise InvalidInput(_one_line(details[0], model_class, place)) from None


def write_atomically(path: str | Path, text: str) -> None:
    """Write a text file so that a reader, or a crash, never meets half of it.

    Raises
    ------
    InvalidInput
        If the folder does not exist or may not be written.
    """
    write_bytes_atomically(path, text.encode())


def write_bytes_atomically(path: str | Path, data: bytes) -> None:
    """Write a binary file; see :func:`write_atomically`."""
    with whole_file(path) as stream:
        stream.write(data)


@contextlib.contextmanager
def whole_file(path: str | Path) -> Iterator[BinaryIO]:
    """Open a file to be written bit by bit, which takes its name when all is done, and is gone otherwise.

    Raises
    ------
    InvalidInput
        As :func:`write_atomically`.
    """
    target = Path(path)
    if target.is_dir():
        raise InvalidInput(f"{path}: is a directory, expected a file name")
    try:
        handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except FileNotFoundError:
        raise InvalidInput(f"{path}: the folder {target.parent} does not exist") from None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
        Path(temporary).chmod(_mode_of_new_files())
        Path(temporary).replace(target)
    except BaseException as error:
        with contextlib.suppress(FileNotFoundError):
            Path(temporary).unlink()
        if isinstance(error, OSError):
            raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None
        raise


def _quantity(parse: Callable[[str, str], float]) -> Callable[[object, ValidationInfo], float]:
    def read(value: object, info: ValidationInfo) -> float:
        key = info.field_name or "value"
        try:
            return parse(value if isinstance(value, str) else json.dumps(value, default=str), key)
        except InvalidInput as error:
            raise PydanticCustomError("quantity", "{message}", {"message": str(error)}) from None

    return read


BandwidthText = Annotated[float, BeforeValidator(_quantity(parse_bandwidth))]
"""A field of a pydantic model that is written ``100 Gbps`` and read as bits per second."""
BytesText = Annotated[float, BeforeValidator(_quantity(parse_bytes))]
"""A field that is written ``80 GB`` and read as bytes."""
TimeText = Annotated[float, BeforeValidator(_quantity(parse_time))]
"""A field that is written ``1 us`` and read as seconds."""


def _one_line(detail: ErrorDetails, model_class: type[BaseModel], place: str) -> str:
    loc = detail["loc"]
    schema, known = _schema_at(model_class.model_json_schema(), loc)
    if detail["type"] == "extra_forbidden":
        parent = _dotted(loc[:-1])
        near = difflib.get_close_matches(str(loc[-1]), known, n=3, cutoff=0.5)
        near = near or [key for key in known if str(loc[-1]) in key]
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        return f'{place}: {parent}unknown key "{loc[-1]}"; {hint}Known: {", ".join(known)}'
    if detail["type"] == "missing":
        said = _expected(schema.get("anyOf", [schema])[0], detail)
        said = "give a value" if said == detail["msg"] else f"expected {said}"
        which = f'key "{loc[-1]}"' if isinstance(loc[-1], str) else f"value [{loc[-1]}]"
        return f"{place}: {_dotted(loc[:-1])}missing {which}: {said}"
    if detail["type"] == "quantity":  # its message names the key, also of one value in a list
        outside = loc[:-2] if isinstance(loc[-1], int) else loc[:-1]
        return f"{place}: {_dotted(outside)}{detail['msg']}"
    if detail["type"] == "value_error":
        return f"{place}: {_dotted(loc)}{detail['msg'].removeprefix('Value error, ')}"
    return f"{place}: {_dotted(loc)}expected {_expected(schema, detail)}, got {_shown(detail['input'])}"


def _schema_at(root: dict[str, Any], loc: tuple[int | str, ...]) -> tuple[dict[str, Any], list[str]]:
    """Return the JSON schema at a place, and the keys known where its last step was taken."""
    here, known = root, list(root.get("properties", {}))
    for step in loc:
        here = _resolved(root, here)
        if isinstance(step, int):  # of a list, or of the list that may stand in place of one value
            lists = [branch for branch in here.get("anyOf", (here,)) if "items" in branch]
            here = lists[0]["items"] if lists else {}
            continue
        known = list(here.get("properties", {}))
        inner = here.get("properties", {}).get(step, here.get("additionalProperties"))
        here = inner if isinstance(inner, dict) else {}
    return _resolved(root, here), sorted(known)


def _resolved(root: dict[str, Any], schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        return _resolved(root, root["$defs"][schema["$ref"].rsplit("/", 1)[1]])
    kinds = [branch for branch in schema.get("anyOf", ()) if branch.get("type") != "null"]
    return _resolved(root, kinds[0]) if len(kinds) == 1 else schema


def _expected(schema: dict[str, Any], detail: ErrorDetails) -> str:
    """Return ``an integer >= 2`` from the schema; pydantic's own words where the schema says nothing."""
    if "enum" in schema:
        return " or ".join(str(value) for value in schema["enum"])
    names = {
        "integer": "an integer",
        "number": "a number",
        "string": "text",
        "boolean": "true or false",
        "array": "a list",
        "object": "a mapping of keys to values",
    }
    limits = {"minimum": ">=", "exclusiveMinimum": ">", "maximum": "<=", "exclusiveMaximum": "<"}
    if schema.get("type") not in names:
        return detail["msg"].removeprefix("Input should be ")
    bounds = [f"{sign} {schema[limit]:g}" for limit, sign in limits.items() if limit in schema]
    return " ".join([names[schema["type"]], " and ".join(bounds)]).strip()


def _dotted(loc: tuple[int | str, ...]) -> str:
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in loc).lstrip(".")
    return f"{text}: " if text else ""


def _shown(value: object) -> str:
    text = json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def _refuse_repeated_keys(node: yaml.Node | None, place: str) -> None:
    """PyYAML lets a later key overwrite an earlier one silently; a person who wrote two meant one."""
    pending, met = [node], set()
    while pending:
        here = pending.pop()
        if id(here) in met:  # an alias
            continue
        met.add(id(here))
        if isinstance(here, yaml.SequenceNode):
            pending.extend(here.value)
        elif isinstance(here, yaml.MappingNode):
            keys: set[str] = set()
            for key, value in here.value:
                if isinstance(key, yaml.ScalarNode) and key.value in keys:
                    raise InvalidInput(
                        f'{place}: line {key.start_mark.line + 1}: key "{key.value}" stands twice'
                    )
                keys.add(key.value if isinstance(key, yaml.ScalarNode) else "")
                pending.append(value)


def _mode_of_new_files() -> int:
    # mkstemp makes private files; a result should get the mode that open() would have given it.
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
