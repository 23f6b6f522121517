"""Whether the libraries of the live page are installed; they are an extra."""

import sys
from importlib.util import find_spec

from topoopt.base.errors import InvalidInput

NEEDED = ("starlette", "uvicorn")


def check_installed() -> None:
    """Refuse where a library is missing, and say how to get it.

    Raises
    ------
    InvalidInput
        In one line.
    """
    missing = [name for name in NEEDED if not _is_there(name)]
    if missing:
        raise InvalidInput(f'studio: {" and ".join(missing)} not installed; pip install "topoopt[studio]"')


def _is_there(name: str) -> bool:
    """Return whether it can be imported; Python keeps None for what must not be."""
    return sys.modules[name] is not None if name in sys.modules else find_spec(name) is not None
