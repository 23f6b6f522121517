"""The error tree: every mistake of a user is a ``TopoOptError`` with a one-line message.

A message gives the place, the value, the allowed values and the remedy. The command line prints it and exits
with code 2. Our own mistakes are ``assert``.
"""

import difflib
import json
import re
from collections.abc import Iterable, Sequence

LONGEST_VALUE = 80
"""Characters of a value that a message repeats."""
LONGEST_MESSAGE = 1000
MOST_NAMES = 12
"""Known names that a message lists; of more it lists the nearest."""

_LONG = re.compile(rf'"[^"]{{{LONGEST_VALUE + 1},}}"|[^\s"/]{{{LONGEST_VALUE + 1},}}')


class TopoOptError(Exception):
    """Base of every error that a user can cause and mend; its message is one line that a terminal can show."""

    def __init__(self, message: str) -> None:
        line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in " ".join(message.split()))
        line = _LONG.sub(lambda match: _cut(match[0]), line)
        super().__init__(line if len(line) <= LONGEST_MESSAGE else f"{line[:LONGEST_MESSAGE]}...")


class Note(UserWarning):
    """Something that a user should know, though it changes no answer."""


class InvalidInput(TopoOptError):
    """An invalid value."""


class Infeasible(TopoOptError):
    """Valid input for which no answer exists, e.g. a model that fits in no memory."""


class NoRoute(TopoOptError):
    """Two servers that have to talk and cannot reach each other."""


def unknown_name(kind: str, value: str, known: Iterable[str]) -> InvalidInput:
    """Return the error for a misspelled name, with the nearest known names.

    Examples
    --------
    >>> str(unknown_name("model", "dlmr", ["dlrm", "bert"]))
    'model: unknown name "dlmr"; did you mean dlrm? Known: bert, dlrm'
    """
    return InvalidInput(f'{kind}: unknown name "{value}"; {hint(value, known)}')


def check_known(kind: str, value: str, known: Iterable[str]) -> None:
    """Refuse a value that is none of the known names.

    Raises
    ------
    InvalidInput
        See :func:`unknown_name`.
    """
    names = tuple(known)
    if value not in names:
        raise unknown_name(kind, value, names)


def check_fields(noun: object, **known: Iterable[str]) -> None:
    """Refuse a noun of which a field is none of the names that are known for it; messages call it by its words."""
    for field, names in known.items():
        check_known(field.replace("_", " "), getattr(noun, field), names)


def check_least(noun: object, **least: float) -> None:
    """Refuse a noun of which a field, if it is not None, is below the least value that it may have."""
    for field, bound in least.items():
        value = getattr(noun, field)
        if value is not None and value < bound:
            raise InvalidInput(f"{field}: must be >= {bound}, got {value}")


def hint(value: str, known: Iterable[str]) -> str:
    """Return ``did you mean a? Known: a, b``; of a long list only the names nearest to the value.

    Examples
    --------
    >>> hint("fat", (f"fabric-{number}" for number in range(99)))[-38:]
    ' fabric-97, fabric-98, ... (99 in all)'
    """
    names, value = sorted(set(map(str, known))), value[:LONGEST_VALUE]
    near = difflib.get_close_matches(value, names, n=3, cutoff=0.5)
    near = near or [name for name in names if value and value in name][:3]
    question = f"did you mean {' or '.join(near)}? " if near else ""
    if len(names) <= MOST_NAMES:
        return f"{question}Known: {', '.join(names)}"
    listed = sorted(difflib.get_close_matches(value, names, n=MOST_NAMES, cutoff=0.0))
    return f"{question}Known: {', '.join(listed)}, ... ({len(names)} in all)"


def shown(value: object) -> str:
    """Return a value as JSON has it, cut to :data:`LONGEST_VALUE` characters; whatever it is.

    Examples
    --------
    >>> shown("many"), shown([1, None]), shown({(1, 2): 3}), shown(10**5000)
    ('"many"', '[1, null]', 'a dict', 'a int')
    """
    try:
        return _cut(json.dumps(value, default=str, ensure_ascii=False))
    except (
        TypeError,
        ValueError,
        RecursionError,
    ):  # keys that are no text, a thousand digits, a list in itself
        return f"a {type(value).__name__}"


def decimal_hint(value: object) -> str:
    """Return the remedy for a number with a decimal comma, to follow the value given; nothing for another value.

    Examples
    --------
    >>> decimal_hint("4,5 h"), decimal_hint("1.090,25"), decimal_hint("a,5")
    ('; write a decimal point, not a comma', '; write a decimal point, not a comma', '')
    """
    is_comma = isinstance(value, str) and re.match(r"\s*[-+]?\d[\d.]*,\d+\b(?!,)", value)
    return "; write a decimal point, not a comma" if is_comma else ""


def refuse_repeated(word: str, values: Sequence[object]) -> None:
    """Refuse a list in which a value is given twice."""
    for place, value in enumerate(values):
        if value in values[:place]:
            raise InvalidInput(f"{word}: {shown(value)} stands twice; name each once")


def _cut(text: str) -> str:
    if len(text) <= LONGEST_VALUE + 2:
        return text
    return f'{text[: LONGEST_VALUE - 3]}..."' if text.startswith('"') else f"{text[: LONGEST_VALUE - 3]}..."
