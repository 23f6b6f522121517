"""TOML as plain values, checked like YAML and JSON."""

import tomllib
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.schema.files.content import checked


def parse_toml(text: str, place: str) -> Any:
    """Return what TOML text says; ``place`` stands in front of every error.

    Raises
    ------
    InvalidInput
        If the text is not TOML, with the line, or holds what no reader can use, with the key.
    """
    try:
        return checked(tomllib.loads(text), place)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{place}: not valid TOML: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{place}: not valid TOML: nested too deeply") from None
