"""On which line of JSON text a value stands: at its key, or where it begins in a list."""

import json
import re
from collections.abc import Sequence

from topoopt.schema.files.content import Step

_BLANK = re.compile(r"\s*")
_DECODER = json.JSONDecoder()


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
