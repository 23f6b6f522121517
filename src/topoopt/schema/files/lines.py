"""Where in a file a value stands: the line of a key such as ``servers[3].name``, for messages."""

import re
from collections.abc import Sequence

import yaml

from topoopt.schema.files.content import Step
from topoopt.schema.files.json_line import line_in_json

_STEP = re.compile(r"([A-Za-z_]\w*)|\[(\d+)\]")
_PATH = re.compile(r"[A-Za-z_]\w*(?:\[\d+\])*(?:\.[A-Za-z_]\w*(?:\[\d+\])*)*(?=: )")
_UNKNOWN = re.compile(r'(?:[\w.\[\]]+: )?unknown key "([^"]+)"')


def with_line(message: str, text: str, place: str) -> str:
    """Return ``place: line N: message`` for a message that begins with a key of the file, else without the line.

    Of a key that is not there, the line is that of the part in which it is missing.

    Parameters
    ----------
    message : str
        What is wrong, with or without the place before it.
    text : str
        What the file says, as YAML, JSON or TOML.

    Examples
    --------
    >>> with_line("a[1].b: expected text, got 3", "a:\\n- b: x\\n- b: 3", "f.yaml")
    'f.yaml: line 3: a[1].b: expected text, got 3'
    """
    message = message.removeprefix(f"{place}: ")
    steps = _steps(message)
    line = _line_in_toml(text, steps) if place.endswith(".toml") else _line(text, steps)
    return f"{place}: line {line}: {message}" if line and steps else f"{place}: {message}"


def _steps(message: str) -> list[Step]:
    """Return the way to the value that a message is about, such as ``["servers", 3, "name"]``."""
    found, unknown = _PATH.match(message), _UNKNOWN.match(message)
    steps: list[Step] = [name or int(number) for name, number in _STEP.findall(found[0])] if found else []
    return [*steps, unknown[1]] if unknown else steps


def _line(text: str, steps: Sequence[Step]) -> int:
    try:
        return line_in_json(text, steps)
    except ValueError:
        return _line_in_yaml(text, steps)


def _line_in_yaml(text: str, steps: Sequence[Step]) -> int:
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError):
        return 0
    line = 0
    for step in steps:
        if isinstance(node, yaml.MappingNode):
            inner = [(key, value) for key, value in node.value if getattr(key, "value", None) == step]
        elif isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
            inner = [(node.value[step], node.value[step])]
        else:
            inner = []
        if not inner:
            break
        key, node = inner[0]
        line = key.start_mark.line + 1
    return line


def _line_in_toml(text: str, steps: Sequence[Step]) -> int:
    """Return the line of ``[[servers]]`` for ``servers[3]``, and below it that of its key, or its own."""
    name, place, *keys = (*steps, 0, 0)
    lines = text.splitlines()
    heads = [number for number, row in enumerate(lines) if row.strip().replace(" ", "") == f"[[{name}]]"]
    if not isinstance(place, int) or place >= len(heads):
        own = [number for number, row in enumerate(lines) if re.match(rf"\s*{name}\s*=", row)]
        return own[0] + 1 if own else 0
    for number in range(heads[place] + 1, len(lines)):
        if lines[number].lstrip().startswith("["):
            break
        if keys and re.match(rf"\s*{keys[0]}\s*=", lines[number]):
            return number + 1
    return heads[place] + 1
