"""The server of the studio: it listens, answers until it is interrupted, and takes its plans with it."""

import asyncio
import os
import secrets
import shutil
import signal
import socket
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import uvicorn

if sys.platform != "win32":
    import fcntl

from topoopt.base.errors import InvalidInput
from topoopt.base.machine import as_errors
from topoopt.frontends.web.access import is_loopback
from topoopt.frontends.web.address import StudioAddress
from topoopt.frontends.web.estimators import Estimators
from topoopt.frontends.web.handlers import Studio, make_app
from topoopt.frontends.web.plan_desk import PlanDesk
from topoopt.frontends.web.question import Question

GRACE_S = 1
"""Time for answers in progress after an interrupt."""
FOLDER = "topoopt-studio-"
"""Prefix of the folders of plans, in the system's folder for temporary files."""


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
    with as_errors(), _folder() as folder:
        desk, estimators = PlanDesk(folder), Estimators()

        def close() -> None:
            estimators.close()
            desk.close()

        app = make_app(Studio(desk, first, files, token, estimators))
        config = uvicorn.Config(
            app, log_level="error", access_log=False, timeout_graceful_shutdown=GRACE_S, lifespan="off"
        )

        def start() -> None:
            estimators.start()
            _say(address, browser, on_ready)

        server = _Server(config, longest_s, start, close)
        try:
            server.run(sockets=[listening])
        except KeyboardInterrupt:  # how it is meant to end
            pass
        finally:
            close()
            listening.close()
    return address


@contextmanager
def _folder() -> Iterator[Path]:
    """Make a folder for plans, removed at the end; and remove those of studios that were killed.

    Each studio locks its folder, and the system unlocks it however the studio ends.
    """
    for old in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError):
            os.close(_locked(old, lambda: shutil.rmtree(old, ignore_errors=True)))  # noqa: B023 - called at once
    made = Path(tempfile.mkdtemp(prefix="topoopt-new-"))
    folder = made.with_name(made.name.replace("topoopt-new-", FOLDER))
    try:
        held = _locked(made, lambda: made.rename(folder))  # known to others when it is locked
    except OSError:
        held, folder = None, made  # where folders cannot be locked
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def _locked(folder: Path, then: Callable[[], object]) -> int:
    """Lock a folder of this user, do something, and return the handle that holds the lock.

    Raises
    ------
    OSError
        If another process holds it, or it is no folder of this user.
    """
    if sys.platform == "win32":
        raise PermissionError("folders have no locks")
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(handle).st_uid != os.geteuid():
            raise PermissionError(f"{folder} belongs to another user")
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        then()
    except OSError:
        os.close(handle)
        raise
    return handle


class _Server(uvicorn.Server):
    """Reports when it listens, and may end by itself."""

    def __init__(
        self,
        config: uvicorn.Config,
        longest_s: float | None,
        on_ready: Callable[[], None],
        on_end: Callable[[], None],
    ) -> None:
        super().__init__(config)
        self._longest_s = longest_s
        self._on_ready = on_ready
        self._on_end = on_end

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and say so."""
        await super().startup(sockets)
        if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
            signal.signal(signal.SIGHUP, self.handle_exit)  # a terminal that closes ends it as Ctrl-C does
        if self._longest_s is not None:
            asyncio.get_running_loop().call_later(self._longest_s, self._end)
        self._on_ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the answers in progress, and the server."""
        self._on_end()
        await super().shutdown(sockets)

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
