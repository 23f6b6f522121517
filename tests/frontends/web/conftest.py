"""A studio that runs as people run it: a process of its own, asked over HTTP."""

import json
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import pytest

LONGEST_S = 600
"""Until a test is given up; nothing is measured by it."""
HAS_LIBRARIES = all(find_spec(name) is not None for name in ("starlette", "uvicorn"))
needs_libraries = pytest.mark.skipif(not HAS_LIBRARIES, reason="starlette and uvicorn are not installed here")


@dataclass(frozen=True)
class Answered:
    """What a server said."""

    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self) -> Any:
        return json.loads(self.text)


@dataclass(frozen=True)
class Running:
    """A studio that runs, and how to ask it."""

    process: subprocess.Popen[str]
    url: str
    port: int
    token: str | None

    def ask(self, path: str, method: str = "GET", body: Any = None, **headers: str) -> Answered:
        data = None if body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            data,
            {"Content-Type": "application/json", **named},
            method=method,
        )
        try:
            with urllib.request.urlopen(request, timeout=LONGEST_S) as answer:
                return Answered(answer.status, dict(answer.headers.items()), answer.read().decode())
        except urllib.error.HTTPError as error:
            with error:
                return Answered(error.code, dict(error.headers.items()), error.read().decode())

    def estimate(self, **words: object) -> Any:
        return self.ask(f"/api/estimate?{urllib.parse.urlencode(words)}")

    def planned(self, **words: object) -> dict[str, Any]:
        """Ask for a plan, and wait until it is over."""
        key = self.ask("/api/plans", "POST", words).json["id"]
        said = self.ask(f"/api/plans/{key}/events").text
        last: dict[str, Any] = json.loads(said.strip().split("\n\n")[-1].split("data: ", 1)[1])
        return last


@contextmanager
def running(*flags: str) -> Iterator[Running]:
    command = [
        sys.executable,
        "-m",
        "topoopt",
        "studio",
        *(() if "--port" in flags else ("--port", "0")),
        "--json",
        *flags,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        assert line, process.stderr.read()
        where = json.loads(line)
        try:
            yield Running(process, where["url"], where["port"], where["token"])
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()


@pytest.fixture(scope="session")
def studio() -> Iterator[Running]:
    """One studio for all tests that leave it as it is."""
    if not HAS_LIBRARIES:
        pytest.skip("starlette and uvicorn are not installed here")
    with running() as one:
        yield one


@pytest.fixture
def start() -> Callable[..., Any]:
    """What starts a studio of one's own."""
    if not HAS_LIBRARIES:
        pytest.skip("starlette and uvicorn are not installed here")
    return running
