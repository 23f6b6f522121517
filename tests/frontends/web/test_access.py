"""Who may ask, and what a browser may do with the answer."""

import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

import topoopt
from tests.frontends.web.conftest import LONGEST_S, Running, needs_libraries
from topoopt.frontends.cli import main


def status(studio: Running, path: str, **headers: str) -> tuple[int, dict[str, str]]:
    named = {name.replace("_", "-"): text for name, text in headers.items()}
    with closing(http.client.HTTPConnection("127.0.0.1", studio.port, timeout=20)) as connection:
        connection.request("GET", path, headers=named)
        answer = connection.getresponse()
        answer.read()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}


def test_a_page_of_another_name_or_server_is_refused(studio: Running) -> None:
    assert status(studio, "/")[0] == 200
    assert status(studio, "/api/fields", Host="example.org")[0] == 403
    assert status(studio, "/api/fields", Origin="http://example.org")[0] == 403
    here = f"127.0.0.1:{studio.port}"
    assert status(studio, "/api/fields", Host=here, Origin=f"http://{here}")[0] == 200


def test_nothing_leaves_the_page_and_no_other_script_runs(studio: Running) -> None:
    _, headers = status(studio, "/")
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
    assert "http" not in policy
    assert headers["x-content-type-options"] == "nosniff"


def test_files_are_those_of_the_page_alone(studio: Running) -> None:
    assert status(studio, "/assets/studio.js")[0] == 200
    for path in ("/assets/../app.py", "/assets/%2e%2e%2fapp.py", "/assets/nothing.js", "/app.py"):
        assert status(studio, path)[0] == 404
    tag = status(studio, "/assets/studio.js")[1]["etag"]
    assert status(studio, "/assets/studio.js", If_None_Match=tag)[0] == 304


def test_an_address_that_others_reach_needs_a_token_and_an_interrupt_ends_it(
    start: Callable[..., Any],
) -> None:
    with start("--host", "0.0.0.0") as studio:
        assert studio.token is not None
        assert len(studio.token) >= 24
        assert studio.token in studio.url
        assert status(studio, "/")[0] == status(studio, "/api/fields")[0] == 403
        assert status(studio, "/?token=guessed")[0] == 403
        assert status(studio, "/api/fields", Authorization="Bearer guessed")[0] == 403
        assert status(studio, "/api/fields", Authorization=f"Bearer {studio.token}")[0] == 200
        code, headers = status(studio, f"/?token={studio.token}&servers=8")
        assert (code, headers["location"]) == (303, "/?servers=8")
        assert "HttpOnly" in headers["set-cookie"]
        cookie = headers["set-cookie"].split(";")[0]
        assert status(studio, "/?servers=8", Cookie=cookie)[0] == 200
        studio.process.send_signal(signal.SIGINT)
        assert studio.process.wait(LONGEST_S) == 0
        assert studio.process.stderr is not None
        assert studio.process.stderr.read() == ""


def test_a_token_of_ones_own_holds_on_this_machine_too(start: Callable[..., Any]) -> None:
    with start("--token", "a long secret") as studio:
        assert status(studio, "/")[0] == 403
        assert status(studio, "/", Authorization="Bearer a long secret")[0] == 200


@needs_libraries
def test_it_ends_by_itself_where_that_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["studio", "--port", "0", "--seconds", "0.1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["token"] is None


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({"port": 99999}, "port: expected an integer from 0 to 65535, got 99999"),
        ({"token": "short"}, "token: expected 8 characters or more, got 5"),
        ({"seconds": 0}, "seconds: expected a number above 0, at most 1e+08, got 0"),
        ({"servers": 1}, "servers: expected an integer >= 2, got 1"),
    ],
)
def test_a_mistake_is_named_without_the_libraries_too(
    monkeypatch: pytest.MonkeyPatch, words: dict[str, Any], said: str
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(topoopt.InvalidInput) as refused:
        topoopt.studio(**words)
    assert str(refused.value).startswith(said)


@needs_libraries
def test_where_it_cannot_listen_it_says_so() -> None:
    with pytest.raises(topoopt.InvalidInput, match=r"^port 0: cannot listen on 192\.0\.2\.1"):
        topoopt.studio(host="192.0.2.1", port=0)


def test_a_port_in_use_is_refused_in_a_line(studio: Running) -> None:
    with pytest.raises(topoopt.InvalidInput, match=f"port {studio.port}: cannot listen on 127.0.0.1"):
        topoopt.studio(port=studio.port)


def test_without_the_libraries_it_says_what_to_install() -> None:
    """As if they were not there, in a process of its own: one line, and the estimate works all the same."""
    hidden = "import sys; sys.modules['starlette'] = sys.modules['uvicorn'] = None; sys.argv = ['topoopt', 'studio']; "
    estimate = "import topoopt; print(topoopt.studio_answer('vgg16', servers=4, degree=2).best); "
    command = [
        sys.executable,
        "-c",
        f"{hidden}{estimate}from topoopt.frontends.cli import main; sys.exit(main())",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert (
        done.stderr == 'error: studio: starlette and uvicorn not installed; pip install "topoopt[studio]"\n'
    )
    assert done.stdout.strip(), done.stderr


@needs_libraries
def test_an_interrupt_while_a_thread_starts_ends_the_studio() -> None:
    """Raised inside ``Thread.start``, it would leave a thread of the pool for which the process waits for ever."""
    program = """
import os, signal, sys, threading
from topoopt.frontends.cli.entry import main
start = threading.Thread.start
def interrupted(self):
    start(self)
    if "ThreadPool" in self.name:
        os.kill(os.getpid(), signal.SIGINT)
threading.Thread.start = interrupted
sys.argv = ["topoopt", "studio", "--port", "0", "--json"]
sys.exit(main())
"""
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60, check=False)
    assert ended.returncode == 0
    assert b"Traceback" not in ended.stderr
