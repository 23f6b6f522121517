"""The server of the studio: it listens, answers until it is interrupted, and takes its plans with it."""

import asyncio
import secrets
import socket
import tempfile
import webbrowser
from collections.abc import Callable
from pathlib import Path

import uvicorn

from topoopt.base.errors import InvalidInput
from topoopt.frontends.web.access import is_loopback
from topoopt.frontends.web.address import StudioAddress
from topoopt.frontends.web.handlers import Studio, make_app
from topoopt.frontends.web.plan_desk import PlanDesk
from topoopt.frontends.web.question import Question

GRACE_S = 1
"""Time for answers in progress after an interrupt."""


def serve(
    first: Question,
    files: frozenset[str],
    *,
    host: str = "127.0.0.1",
    port: int = 8321,
    token: str | None = None,
    browser: bool = False,
    longest_s: float | None = None,
    on_ready: Callable[[StudioAddress], None] = lambda address: None,
) -> StudioAddress:
    """Serve the page until it is interrupted; return its address.

    Parameters
    ----------
    files
        Names of the files that the page may choose.
    token
        Token that requests must present; generated where others can reach the address and none is given.
    longest_s
        Time after which the server ends by itself.
    on_ready
        Called once it listens.

    Raises
    ------
    InvalidInput
        If it cannot listen there.
    """
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    listening = _listening(host, port)
    port = listening.getsockname()[1]
    name = f"[{host}]" if ":" in host else host
    url = f"http://{name}:{port}/" + (f"?token={token}" if token else "")
    address = StudioAddress(url, host, port, token)
    with tempfile.TemporaryDirectory(prefix="topoopt-studio-") as folder:
        desk = PlanDesk(Path(folder))
        app = make_app(Studio(desk, first, files, token))
        config = uvicorn.Config(
            app, log_level="warning", access_log=False, timeout_graceful_shutdown=GRACE_S, lifespan="off"
        )
        server = _Server(config, longest_s, lambda: _say(address, browser, on_ready))
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:  # how it is meant to end
            pass
        finally:
            desk.close()
            listening.close()
    return address


class _Server(uvicorn.Server):
    """Reports when it listens, and may end by itself."""

    def __init__(self, config: uvicorn.Config, longest_s: float | None, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._longest_s = longest_s
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if self._longest_s is not None:
            asyncio.get_running_loop().call_later(self._longest_s, self._end)
        self._on_ready()

    def _end(self) -> None:
        self.should_exit = True


def _say(address: StudioAddress, browser: bool, on_ready: Callable[[StudioAddress], None]) -> None:
    on_ready(address)
    if browser:
        webbrowser.open(address.url)


def _listening(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = error.strerror or str(error)
        raise InvalidInput(
            f"port {port}: cannot listen on {host} ({why}); give another, or 0 for a free one"
        ) from None
