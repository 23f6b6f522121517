"""Optional libraries: the extras of ``pip install "topoopt[NAME]"``, imported when an answer needs them."""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

from topoopt.base.errors import InvalidInput


def library(name: str, extra: str, place: str) -> Any:
    """Return a library that belongs to an extra.

    Parameters
    ----------
    name, extra : str
        Package of Python, and extra of topoopt that installs it.
    place : str
        The option, file or verb that needs it: the beginning of the error.

    Raises
    ------
    InvalidInput
        If it is not installed, with the command that installs it.
    """
    try:
        return import_module(name)
    except ImportError:
        raise InvalidInput(f'{place}: {name} is not installed; pip install "topoopt[{extra}]"') from None


@dataclass(frozen=True, slots=True)
class LaterLibrary:
    """A library of an extra that is imported when something of it is used; parameters as of :func:`library`."""

    name: str
    extra: str
    place: str

    def __getattr__(self, word: str) -> Any:
        """Return a name of the library."""
        return getattr(library(self.name, self.extra, self.place), word)
