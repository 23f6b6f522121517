"""Where in a file a value stands: the line of a key such as ``servers[3].name``, for messages."""

import json
import re
from collections.abc import Sequence

import yaml

from topoopt.schema.files.content import Step

_BLANK = re.compile(r"\s*")
_DECODER = json.JSONDecoder()
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


def line_in_json(text: str, steps: Sequence[Step]) -> int:
    """Return the line to which some keys and indices lead: of the last that is there, 0 where not even the first is.

    Raises
    ------
    ValueError
        If the text is not JSON, or a single value.
    """
    line, here = 0, _after_blanks(text, 0)
    if text[here : here + 1] not in ("{", "["):
        raise ValueError("no mapping or list of JSON")
    for step in steps:
        found = _inside(text, here, step)
        if found is None:
            break
        begins, here = found
        line = text.count("\n", 0, begins) + 1
    return line


def _inside(text: str, start: int, step: Step) -> tuple[int, int] | None:
    """Return where a key and its value begin, or twice where a value of a list does that begins at ``start``."""
    keyed, found = isinstance(step, str), None
    if text[start : start + 1] != ("{" if keyed else "["):
        return None
    here, index = _after_blanks(text, start + 1), 0
    while text[here : here + 1] not in ("]", "}"):
        begins, key = here, step if index == step else None
        if keyed:
            key, here = _DECODER.raw_decode(text, here)
            here = _after_blanks(text, _after_blanks(text, here) + 1)  # the colon
        if key == step:
            found = begins, here  # of a key that stands twice the later value counts
            if not keyed:
                break
        here, index = _after_blanks(text, _DECODER.raw_decode(text, here)[1]), index + 1
        if text[here : here + 1] == ",":
            here = _after_blanks(text, here + 1)
    return found


def _after_blanks(text: str, here: int) -> int:
    blank = _BLANK.match(text, here)
    assert blank is not None
    return blank.end()
