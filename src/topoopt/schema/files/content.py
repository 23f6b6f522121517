"""Content of a file: bytes or text of a regular file, and TOML, YAML or JSON as plain values."""

import json
import os
import re
import stat
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import Path
from typing import Any

import yaml

from topoopt.base.errors import InvalidInput, shown
from topoopt.base.limits import LARGEST, LARGEST_NUMBER, MOST
from topoopt.base.units import format_memory
from topoopt.schema.files.foreign import refuse_foreign

LARGEST_FILE_BYTES = 2**32
DEEPEST = 50
"""Levels of lists and mappings; no file of ours has more than ten."""
MOST_YAML_VALUES = 1_000_000
"""Values of a YAML file, each alias counted with its target."""
LONGEST_YAML = 2**22
"""Characters; reading them takes half a minute."""
_LONGEST_SEARCHED = 2**15
"""Characters of JSON in which the line of a repeated key is looked for."""
_DEEP_KEY = re.compile(rf"(?<![\w\"'-])(?:[\w\"'-]++\s*+\.\s*+){{{DEEPEST}}}")
"""A key of many parts, which tomllib reads in a time that grows with their square."""
Step = int | str


def parse_toml(text: str, place: str) -> Any:
    """Parse TOML text; ``place`` is the prefix of every error.

    Raises
    ------
    InvalidInput
        If the text is not TOML, with the line, or has values that are not portable, with the key.
    """
    if _DEEP_KEY.search(text):
        raise InvalidInput(f"{place}: not valid TOML: nested too deeply")
    try:
        return checked(tomllib.loads(text), place)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{place}: not valid TOML: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{place}: not valid TOML: nested too deeply") from None


def read_yaml(path: str | Path) -> Any:
    """Parse a YAML file (JSON is YAML too).

    Raises
    ------
    InvalidInput
        As :func:`parse_yaml` and :func:`~topoopt.schema.files.read_text`.
    """
    return parse_yaml(read_text(path), str(path))


def parse_yaml(text: str, place: str) -> Any:
    """Parse YAML text; ``place`` is the prefix of every error.

    Raises
    ------
    InvalidInput
        If the text is not YAML, names a key twice, or has values that :func:`checked` refuses, with line or key.
    """
    if text.lstrip()[:1] in ("{", "["):  # JSON, with tabs too, which YAML does not have between words
        with suppress(ValueError, RecursionError):
            json.loads(text, parse_int=str)  # of any length
            return parse_json(text, place)
    if len(text) > LONGEST_YAML:
        raise InvalidInput(f"{place}: longer than {LONGEST_YAML} characters of YAML; write it as JSON")
    depth = 0
    for bracket in re.finditer(r"[\[{\]}]|(?:[-?] ){1000}", text):
        depth = max(0, depth + (1 if bracket[0] in "[{" else -1 if bracket[0] in "]}" else 1000))
        if depth >= 1000:
            raise InvalidInput(f"{place}: not valid YAML: nested too deeply")
    try:
        content = _constructed(text, place)
    except yaml.MarkedYAMLError as error:
        line = f"line {error.problem_mark.line + 1}: " if error.problem_mark else ""
        raise InvalidInput(f"{place}: {line}not valid YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise InvalidInput(f"{place}: not valid YAML: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{place}: not valid YAML: nested too deeply") from None
    except (ValueError, TypeError, OverflowError, AttributeError) as error:  # e.g. the date 2024-13-45
        raise InvalidInput(f"{place}: not valid YAML: {error}") from None
    return checked(content, place, MOST_YAML_VALUES)


def read_json(path: str | Path, expected: str = "", *, foreign: bool = False) -> Any:
    """Parse a JSON file; see :func:`parse_json`."""
    text = decoded(read_bytes(path), str(path), f"; {expected}" if expected else "")
    return parse_json(text, str(path), expected, foreign=foreign)


def parse_json(text: str, place: str, expected: str = "", *, foreign: bool = False) -> Any:
    """Parse JSON text; ``place`` is the prefix of every error.

    Parameters
    ----------
    expected
        Ends the message where the text is not JSON.
    foreign
        Whether it is a file of another program, in which some numbers are irrelevant.

    Raises
    ------
    InvalidInput
        If the text is not JSON or cut short, or repeats a key, with the line, or has a value that :func:`checked`
        refuses, with the key. A file of another program may repeat a key with the same value.
    """
    remedy = f"; {expected}" if expected else ""
    try:
        return checked(
            json.loads(text, object_pairs_hook=_once_or_equal if foreign else _once), place, foreign=foreign
        )
    except _RepeatedKey as error:
        if len(text) <= _LONGEST_SEARCHED and not foreign:  # JSON is YAML, whose nodes know their lines
            with suppress(yaml.YAMLError, RecursionError):  # of a text that is no JSON behind that key
                _refuse_repeated_keys(yaml.compose(text.replace("\t", " "), Loader=yaml.SafeLoader), place)
        raise InvalidInput(f"{place}: {error}") from None
    except json.JSONDecodeError as error:
        what = "truncated" if expected and _is_cut(error) else f"not JSON: {error.msg}"
        what = what if expected else f"not a whole JSON file: {error.msg}"
        raise InvalidInput(f"{place}: line {error.lineno}: {what}{remedy}") from None
    except RecursionError:
        raise InvalidInput(f"{place}: nested too deeply{remedy}") from None
    except ValueError:
        raise InvalidInput(f"{place}: a number too long, of more than 4,000 digits{remedy}") from None


def checked(content: Any, place: str, most: int | None = None, *, foreign: bool = False) -> Any:
    """Return the content, or refuse values that are not portable.

    Raises
    ------
    InvalidInput
        For more than :data:`DEEPEST` levels or ``most`` values, keys that are no text, half characters, and numbers
        that are not finite or too large; with the key.
    """
    pending: list[Iterator[tuple[tuple[Step, ...], Any]]] = (
        [] if _is_plain(content) else [iter([((), content)])]
    )
    count = 0
    while pending:
        where, value = next(pending[-1], ((), None))
        if value is None:
            pending.pop()
            continue
        count += 1
        if isinstance(value, dict | list):
            if len(where) >= DEEPEST:
                raise InvalidInput(f"{place}: {dotted(where[:3])}nested too deeply")
            count += len(value)
            if most is not None and count > most:
                raise InvalidInput(f"{place}: more than {most} values, those of its aliases counted")
            if _are_plain_numbers(value):
                continue
            if most is None and isinstance(value, list) and all(map(_are_plain_numbers, value)):
                continue
            _check_keys(value, where, place)
            pending.append(_inner(where, value))
        elif not foreign:
            raise InvalidInput(f"{place}: {dotted(where)}{_refusal(value, where)}")
    return content


def _inner(where: tuple[Step, ...], value: Any) -> Iterator[tuple[tuple[Step, ...], Any]]:
    """Yield the values of a list or a mapping that are not plain, each with the steps to it."""
    items: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    yield from (((*where, key), inner) for key, inner in items if not _is_plain(inner, key))


def dotted(where: Iterable[Step]) -> str:
    """Return ``cluster.nics[0]: `` for the steps to a value.

    Examples
    --------
    >>> dotted(("cluster", "nics", 0)), dotted(())
    ('cluster.nics[0]: ', '')
    """
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in where).lstrip(".")
    return f"{text}: " if text else ""


def _is_plain(value: Any, key: Step = "") -> bool:
    """Return whether the value of a key is one that every reader can use, or at least cite."""
    if isinstance(value, float):
        return isfinite(value) and abs(value) <= LARGEST_NUMBER
    if isinstance(value, int):
        return -LARGEST <= value <= MOST.get(str(key), LARGEST)
    if isinstance(value, str):
        return value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value)
    return not isinstance(value, dict | list)


def _are_plain_numbers(values: Any) -> bool:
    """Return whether these are numbers of one kind, all plain: a fast check for most of a large file."""
    if not isinstance(values, list):
        return False
    kinds = set(map(type, values))
    if kinds == {int}:
        return bool(min(values) >= -LARGEST and max(values) <= LARGEST)
    if kinds == {float}:  # a sum with one that is no number, or infinite, is not finite
        low, high = min(values), max(values)
        return isfinite(sum(values)) and bool(low >= -LARGEST_NUMBER and high <= LARGEST_NUMBER)
    return False


def _refusal(value: Any, where: Sequence[Step] = ()) -> str:
    if isinstance(value, float):
        return f"expected a finite number up to {LARGEST_NUMBER:g}, got {value:g}"
    if isinstance(value, int):
        most = MOST.get(str(where[-1]) if where else "", LARGEST)
        return f"expected an integer <= {most}, got {shown(value)}"
    return f"half a character, which no text has, in {value!a}"


def _check_keys(value: Any, where: tuple[Step, ...], place: str) -> None:
    for key in value if isinstance(value, dict) else ():
        if not isinstance(key, str):
            raise InvalidInput(f"{place}: {dotted(where)}expected keys of text, got {shown(key)}")
        if not _is_plain(key):
            raise InvalidInput(f"{place}: {dotted(where)}{_refusal(key, where)}")


def _is_cut(error: json.JSONDecodeError) -> bool:
    """Return whether the text ends too early: after something, inside a string, or with the ``t`` of a ``true``."""
    rest = error.doc[error.pos :].rstrip()
    return (len(rest) <= 1 and rest not in ("}", "]")) or error.msg.startswith("Unterminated string")


def _constructed(text: str, place: str) -> Any:
    loader = _Loader(text)
    try:
        node = loader.get_single_node()
        _refuse_repeated_keys(node, place)
        return None if node is None else loader.construct_document(node)
    finally:
        loader.dispose()


class _Loader(yaml.SafeLoader):
    """Reads ``1:30`` as text, which YAML 1.1 takes for 90."""

    def construct_yaml_int(self, node: Any) -> Any:
        """Return an integer, or text with colons as it is."""
        return self.construct_scalar(node) if ":" in node.value else super().construct_yaml_int(node)

    def construct_yaml_float(self, node: Any) -> Any:
        """Return a number, or text with colons as it is."""
        return self.construct_scalar(node) if ":" in node.value else super().construct_yaml_float(node)


_Loader.add_constructor("tag:yaml.org,2002:int", _Loader.construct_yaml_int)
_Loader.add_constructor("tag:yaml.org,2002:float", _Loader.construct_yaml_float)


class _RepeatedKey(Exception):
    """A key occurs twice in one JSON object."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next(key for key, count in Counter(key for key, _ in pairs).items() if count > 1)
        raise _RepeatedKey(f'key "{twice}" stands twice')
    return made


def _once_or_equal(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        twice = next((key for key, value in pairs if value != made[key]), "")
        if twice:
            raise _RepeatedKey(f'key "{twice}" stands twice, with different values')
    return made


def _refuse_repeated_keys(node: yaml.Node | None, place: str) -> None:
    """PyYAML lets a later key overwrite an earlier one silently; two of them are most likely a mistake."""
    pending, met = [node], set()
    merged = 0
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
                merged += _merged_values(key, value, place)
                pending.append(value)
    if merged > MOST_YAML_VALUES:
        raise InvalidInput(f"{place}: the keys << bring in more than {MOST_YAML_VALUES} values")


def _merged_values(key: yaml.Node, value: yaml.Node, place: str) -> int:
    """Return the number of values merged by a key; nested merges could double without end."""
    if key.tag != "tag:yaml.org,2002:merge":
        return 0
    sources = value.value if isinstance(value, yaml.SequenceNode) else [value]
    pairs = [pair for source in sources if isinstance(source, yaml.MappingNode) for pair in source.value]
    if any(inner.tag == key.tag for inner, _ in pairs):
        raise InvalidInput(f"{place}: line {key.start_mark.line + 1}: << of what has a << itself")
    return len(pairs)


def is_file(path: str | Path) -> bool:
    """Return whether there is such a regular file; a name that no file can have is none."""
    return os.path.isfile(path)  # Path.is_file() raises where a name is too long


def read_bytes(path: str | Path) -> bytes:
    """Return the content of a file.

    Raises
    ------
    InvalidInput
        As :func:`any_bytes`; for a format of another program that no verb reads.
    """
    data = any_bytes(path)
    refuse_foreign(data, str(path))
    return data


def any_bytes(path: str | Path) -> bytes:
    """Return the content of a file, whatever its format.

    Raises
    ------
    InvalidInput
        If there is no such file, it may not be read, is larger than 4 GiB, or is a directory, a device or a pipe,
        which might never end.
    """
    try:
        check_name(path)
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with os.fdopen(descriptor, "rb") as stream:
            _check_kind(path, os.fstat(descriptor))
            data = stream.read()  # with a limit, memory of that size would be taken first
    except FileNotFoundError:
        raise InvalidInput(f"{path}: no such file") from None
    except IsADirectoryError:
        raise InvalidInput(f"{path}: is a directory, expected a file") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InvalidInput(f"{path}: cannot be read: {reason}") from None
    if len(data) > LARGEST_FILE_BYTES:
        raise InvalidInput(f"{path}: larger than {format_memory(LARGEST_FILE_BYTES)}")
    return data


_NO_1252 = re.compile(rb"[\0-\x08\x0e-\x1f\x7f\x81\x8d\x8f\x90\x9d]")
"""Bytes that no text in Windows-1252 holds."""


def read_text(path: str | Path) -> str:
    """Return the text of a file, see :func:`decoded`; a binary file is an :class:`InvalidInput`."""
    return decoded(read_bytes(path), str(path))


def decoded(data: bytes, place: str, remedy: str = "") -> str:
    """Return the text of bytes; errors as :func:`read_text`, with the remedy behind them.

    It is UTF-8, or UTF-16 with its mark in front, as spreadsheets write "Unicode text"; a table may be Windows-1252,
    as Excel writes CSV.
    """
    wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        if not wide and Path(place).suffix.lower() in (".csv", ".tsv") and not _NO_1252.search(data):
            return data.decode("cp1252")
        raise InvalidInput(
            f"{place}: not a text file: byte {error.start} is not UTF-{16 if wide else 8}{remedy}"
        ) from None
    if "\0" in text:
        raise InvalidInput(f"{place}: not a text file: it holds a NUL byte{remedy}")
    return text


def check_name(path: str | Path) -> None:
    """Refuse a name that is not UTF-8: no result and no file could contain it.

    Raises
    ------
    InvalidInput
        If it contains a NUL, an escaped byte, or half of a surrogate pair.
    """
    if "\0" in str(path):
        raise InvalidInput(f"{path}: a file name holds no NUL")
    try:
        str(path).encode()
    except UnicodeEncodeError:
        raise InvalidInput(f"{path}: the name is not UTF-8 text; give the file another name") from None


def _check_kind(path: str | Path, status: os.stat_result) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise InvalidInput(f"{path}: is a directory, expected a file")
    if not stat.S_ISREG(status.st_mode):
        raise InvalidInput(f"{path}: is a device or a pipe, expected a file")
    if status.st_size > LARGEST_FILE_BYTES:
        raise InvalidInput(f"{path}: larger than {format_memory(LARGEST_FILE_BYTES)}")
