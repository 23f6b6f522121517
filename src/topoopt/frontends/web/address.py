"""The address of a studio: host, port and token, checked before the libraries of its server are imported."""

import sys
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

from topoopt.base.errors import InvalidInput

NEEDED = ("starlette", "uvicorn")
LEAST_PORT, MOST_PORT = 0, 65535
SHORTEST_TOKEN = 8
LONGEST_S = 1e8
"""Three years."""


@dataclass(frozen=True, slots=True)
class StudioAddress:
    """Address of a studio.

    Attributes
    ----------
    url : str
        URL to open; with the token, where one is needed.
    """

    url: str
    host: str
    port: int
    token: str | None

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        return asdict(self)


def check_address(port: int, token: str | None, longest_s: float | None) -> None:
    """Refuse settings that no studio can be served with.

    Raises
    ------
    InvalidInput
        For a port that does not exist, a token that is too short, or a time that is none.
    """
    if not LEAST_PORT <= port <= MOST_PORT:
        raise InvalidInput(f"port: expected an integer from {LEAST_PORT} to {MOST_PORT}, got {port}")
    if token is not None and len(token) < SHORTEST_TOKEN:
        raise InvalidInput(
            f"token: expected {SHORTEST_TOKEN} characters or more, got {len(token)}; leave it out for a random one"
        )
    if longest_s is not None and not 0 < longest_s <= LONGEST_S:
        raise InvalidInput(f"seconds: expected a number above 0, at most {LONGEST_S:g}, got {longest_s:g}")


def check_installed() -> None:
    """Refuse to start if a library is missing, with the command that installs it.

    Raises
    ------
    InvalidInput
        In one line.
    """
    missing = [name for name in NEEDED if not _is_there(name)]
    if missing:
        raise InvalidInput(f'studio: {" and ".join(missing)} not installed; pip install "topoopt[studio]"')


def _is_there(name: str) -> bool:
    """Return whether a module can be imported; None in ``sys.modules`` blocks it."""
    return sys.modules[name] is not None if name in sys.modules else find_spec(name) is not None
