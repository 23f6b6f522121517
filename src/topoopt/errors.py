"""The error tree: every mistake of a user is a ``TopoOptError`` with a one-line message.

A message says the place, the value, what is allowed and the remedy. The command line prints it and exits
with code 2. Our own mistakes are ``assert``.
"""

import difflib
from collections.abc import Iterable


class TopoOptError(Exception):
    """Base of every error that a user can cause and mend."""


class InvalidInput(TopoOptError):
    """A value outside what is allowed."""


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
    names = sorted(known)
    near = difflib.get_close_matches(value, names, n=3, cutoff=0.5)
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return InvalidInput(f'{kind}: unknown name "{value}"; {hint}Known: {", ".join(names)}')
