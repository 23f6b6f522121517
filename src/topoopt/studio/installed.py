"""Whether the libraries of the live page are installed; they are an extra."""

from importlib.util import find_spec

from topoopt.errors import InvalidInput

NEEDED = ("starlette", "uvicorn")


def check_installed() -> None:
    """Refuse where a library is missing, and say how to get it.

    Raises
    ------
    InvalidInput
        In one line.
    """
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise InvalidInput(f'studio: {" and ".join(missing)} not installed; pip install "topoopt[studio]"')
