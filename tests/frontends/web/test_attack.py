"""An attack on the page: by other sites, by malformed requests, by questions that take too long, and by signals."""

import asyncio
import json
import os
import shutil
import signal
import socket
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.frontends.web.conftest import LONGEST_S, Running, needs_libraries
from tests.frontends.web.test_access import status
from tests.frontends.web.test_api import children, until
from topoopt.base.errors import Infeasible

SMALL = "/api/estimate?model=llama3-8b&servers=4"
PLAN = {"model": "dlrm", "servers": 4, "degree": 2, "bandwidth": "100Gbps", "budget": 20}


def sent(studio: Running, data: bytes, *, closes: bool = True) -> str:
    """Send bytes as they are, and return all that the server says until it hangs up."""
    with closing(socket.create_connection(("127.0.0.1", studio.port), LONGEST_S)) as connection:
        connection.sendall(data)
        said = b""
        while closes or b"\r\n\r\n" not in said:
            try:
                part = connection.recv(65536)
            except ConnectionResetError:  # what it did not read is lost, as is meant
                break
            if not part:
                break
            said += part
    return said.decode()


def head(studio: Running, path: str, *lines: str, method: str = "GET", host: str | None = None) -> bytes:
    named = [f"Host: {host if host is not None else f'127.0.0.1:{studio.port}'}", *lines]
    return "\r\n".join([f"{method} {path} HTTP/1.1", *named, "", ""]).encode("latin-1")


@pytest.mark.parametrize(
    "host", ["[::1", "127.0.0.1:port", "a b", "me@127.0.0.1", "127.0.0.1:80000000", "\xe9"]
)
def test_a_malformed_host_is_400(studio: Running, host: str) -> None:
    assert sent(studio, head(studio, "/", host=host), closes=False).startswith("HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "origin", ["http://[", "127.0.0.1", "http://a b", "\xff", "http://a\r\nOrigin: http://a"]
)
def test_a_malformed_origin_is_400(studio: Running, origin: str) -> None:
    said = sent(studio, head(studio, "/api/fields", f"Origin: {origin}"), closes=False)
    assert said.startswith("HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "headers",
    [
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "image"},
        {"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors", "Sec-Fetch-Dest": "script"},
        {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": "null"},
        {"Referer": "http://example.org/page"},
    ],
    ids=str,
)
def test_a_page_of_another_site_starts_nothing(studio: Running, headers: dict[str, str]) -> None:
    """What browsers send for images, scripts and links of another site, or of another port of this host."""
    named = {name.replace("-", "_"): text for name, text in headers.items()}
    for path in (SMALL, SMALL.replace("estimate", "page"), "/api/fields"):
        assert status(studio, path, **named)[0] == 403
    assert studio.ask("/api/plans", "POST", PLAN, **named).status == 403
    assert status(studio, SMALL, Sec_Fetch_Site="same-origin")[0] == 200


def test_a_link_on_another_site_opens_the_page(studio: Running) -> None:
    named = {"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate", "Referer": "http://example.org/"}
    assert status(studio, "/", **named)[0] == 200


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("servers=8&servers=16", "servers: 2 times in the address; give it once"),
        ("servers=%EF%BC%98", "servers: expected ASCII"),
        ("s%C3%A9rvers=8", "s\xe9rvers: expected ASCII"),
        ("servers=%ff", "address: expected NAME=VALUE"),
        ("servers", "address: expected NAME=VALUE"),
        ("servers=1_6", "servers: expected an integer"),
        ("years=1_0", "years: expected a number"),
        ("nothing=1", "word: unknown name"),
        ("servers=", 'servers: expected a value, got ""'),
        ("servers=1000000", "servers: expected an integer <= 131072, got 1000000"),
    ],
)
def test_an_address_is_refused_rather_than_taken_for_another_question(
    studio: Running, query: str, said: str
) -> None:
    answered = studio.ask(f"/api/estimate?{query}")
    assert answered.status in (400, 422)
    assert answered.json["message"].startswith(said)
    assert "\n" not in answered.json["message"]
    if said.split(":", 1)[1].startswith((" 2", " expected A", " expected N", " unknown", " expected a v")):
        assert studio.ask(f"/?{query}").json["message"] == answered.json["message"]  # nor is it the page's
    for path in ("/api/fields", "/api/openapi.json", "/assets/studio.js", "/api/plans/1"):
        assert studio.ask(f"{path}?{query}").status in (400, 404, 422)
    assert studio.ask(f"/api/plans?{query}", "POST", PLAN).status == 400


def test_a_key_given_twice_is_refused(studio: Running) -> None:
    body = b'{"model": "dlrm", "servers": 4, "servers": 8}'
    said = sent(studio, head(studio, "/api/plans", f"Content-Length: {len(body)}", method="POST") + body)
    assert said.startswith("HTTP/1.1 422 ")
    assert 'key \\"servers\\" stands twice' in said


@pytest.mark.parametrize(
    ("length", "part"),
    [
        ("Content-Length: 1000000000", b"x" * 65536),
        ("Transfer-Encoding: chunked", b"ffff\r\n" + b"x" * 65535 + b"\r\n"),
    ],
)
@pytest.mark.parametrize("path", ["/api/plans", SMALL])
def test_a_body_is_not_read_beyond_the_limit(studio: Running, path: str, length: str, part: bytes) -> None:
    method = "POST" if path == "/api/plans" else "GET"
    said = sent(studio, head(studio, path, length, method=method) + part * 3)
    assert said.startswith("HTTP/1.1 413 ")
    assert "\r\nconnection: close\r\n" in said


@pytest.fixture
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Studios of other tests, which run at the same time, keep their folders elsewhere."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))


def folders() -> set[Path]:
    return set(Path(os.environ["TMPDIR"]).glob("topoopt-studio-*"))


@pytest.mark.usefixtures("_own_folder")
def test_nothing_is_said_of_those_who_leave_and_sigterm_removes_the_folder(start: Callable[..., Any]) -> None:
    before = folders()
    with start() as studio:
        (folder,) = folders() - before
        for path in (SMALL, SMALL.replace("estimate", "page"), "/api/plans/nothing/events"):
            with closing(socket.create_connection(("127.0.0.1", studio.port))) as left:
                left.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # leave by a reset
                left.sendall(head(studio, path))
        with closing(socket.create_connection(("127.0.0.1", studio.port))) as left:
            left.sendall(head(studio, "/api/plans", "Content-Length: 50", method="POST") + b"{")
        sent(studio, b"\x16\x03\x01 no HTTP\r\n\r\n")
        key = studio.ask("/api/plans", "POST", {**PLAN, "servers": 16, "budget": 100_000_000}).json["id"]
        watching = socket.create_connection(("127.0.0.1", studio.port))
        watching.sendall(head(studio, f"/api/plans/{key}/events"))
        assert watching.recv(15) == b"HTTP/1.1 200 OK"
        workers = children(studio.process.pid)
        studio.process.send_signal(signal.SIGTERM)
        assert studio.process.wait(LONGEST_S) == 0  # as by Ctrl-C
        assert studio.process.stderr is not None
        assert studio.process.stderr.read() == ""
        watching.close()
        assert not folder.exists()
        until(lambda: not any(Path(f"/proc/{one}").exists() for one in workers))


@pytest.mark.usefixtures("_own_folder")
def test_what_a_killed_studio_leaves_is_removed_by_the_next_and_no_more(start: Callable[..., Any]) -> None:
    before = folders()
    with start() as killed:
        (folder,) = folders() - before
        with start():
            assert folder.exists()  # in use
        killed.process.kill()
        killed.process.wait(LONGEST_S)
    assert folder.exists()
    with start():
        assert not folder.exists()


@pytest.mark.usefixtures("_own_folder")
def test_a_plan_whose_folder_has_vanished_is_made_in_a_new_one(start: Callable[..., Any]) -> None:
    before = folders()
    with start() as studio:
        (folder,) = folders() - before
        state = studio.planned(**PLAN)
        shutil.rmtree(folder)
        assert studio.ask(f"/api/plans/{state['id']}/plan.json").status == 404
        assert studio.planned(**PLAN)["status"] == "done"
        shutil.rmtree(folder)
        folder.write_text("not a folder")
        failed = studio.planned(**PLAN, seed=1)
        assert failed["status"] == "failed"
        assert failed["message"].startswith("no plan: ")
        folder.unlink()
        assert studio.planned(**PLAN, seed=2)["status"] == "done"


@needs_libraries
def test_a_question_that_takes_too_long_or_kills_its_process_keeps_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from topoopt.frontends.web import estimators, question_of  # noqa: PLC0415 - the server's libraries are an extra

    desk = estimators.Estimators()
    desk.start()

    def asked(form: str, **words: object) -> Any:
        return json.loads(asyncio.run(desk.answer(form, question_of(words))))

    small: dict[str, object] = {"model": "llama3-8b", "servers": 4, "degree": 4}
    try:
        assert asked("estimate", **small)["best"]
        with monkeypatch.context() as patch:
            patch.setattr(estimators, "LONGEST_S", 0.01)
            with pytest.raises(Infeasible, match=r"^servers 131072: no estimate within 0\.01 s; use fewer$"):
                asked("estimate", model="llama3-70b", servers=131_072)
        assert asked("page", **small)["figures"]
        (alive,) = desk._all
        alive.process.kill()
        alive.process.join()
        with pytest.raises(Infeasible, match=r"^question: the process that answered ended \(exit code -9\)"):
            asked("estimate", **small)
        assert asked("estimate", **small)["best"]
    finally:
        desk.close()


def test_ctrl_c_does_not_wait_for_a_long_question(start: Callable[..., Any]) -> None:
    with start() as studio:
        connections = [socket.create_connection(("127.0.0.1", studio.port)) for _ in range(3)]
        for number, one in enumerate(connections):
            one.sendall(head(studio, f"/api/estimate?model=deepseek-v3&servers={131_072 - number}"))
        time.sleep(0.5)
        studio.process.send_signal(signal.SIGINT)
        assert studio.process.wait(LONGEST_S) == 0
        assert studio.process.stderr is not None
        assert studio.process.stderr.read() == ""
        for one in connections:
            one.close()
