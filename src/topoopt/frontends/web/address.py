"""The noun StudioAddress: where a studio listens; without the libraries of its server."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class StudioAddress:
    """Where a studio listens.

    Attributes
    ----------
    url : str
        To be opened; with the token, where one is needed.
    """

    url: str
    host: str
    port: int
    token: str | None

    def to_json(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {"url": self.url, "host": self.host, "port": self.port, "token": self.token}
