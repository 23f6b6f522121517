"""Twenty people at once, and one who reads slowly."""

import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from tests.frontends.web.conftest import Running
from tests.frontends.web.test_api import LONG, until

CLIENTS = 20


def asks(studio: Running, client: int) -> list[int]:
    """Move three sliders, as one person does; return what the server said."""
    steps = [
        {"servers": 8 + client, "degree": 4},
        {"servers": 8 + client, "degree": 6},
        {"servers": 64, "degree": 1 + client % 8},
    ]
    return [studio.estimate(model="llama3-8b", bandwidth="400Gbps", **step).status for step in steps]


@pytest.mark.slow
def test_twenty_clients_are_answered_beside_a_plan(start: Callable[..., Any]) -> None:
    with start() as studio:
        key = studio.ask("/api/plans", "POST", LONG).json["id"]
        until(lambda: studio.ask(f"/api/plans/{key}").json["total"] > 0)
        with ThreadPoolExecutor(CLIENTS) as pool:
            said = list(pool.map(lambda client: asks(studio, client), range(CLIENTS)))
        assert {one for row in said for one in row} <= {200, 422}
        assert sum(one == 200 for row in said for one in row) >= 2 * CLIENTS


def test_a_slow_reader_keeps_nobody_waiting(start: Callable[..., Any]) -> None:
    """It opens a stream of events and an estimate, and reads neither."""
    with start() as studio:
        key = studio.ask("/api/plans", "POST", LONG).json["id"]
        slow = []
        for path in [f"/api/plans/{key}/events", "/api/estimate?model=llama3-8b&servers=8"] * 5:
            one = socket.create_connection(("127.0.0.1", studio.port))
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            one.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\n\r\n".encode())
            slow.append(one)
        assert studio.ask("/api/fields").status == 200
        assert studio.estimate(model="llama3-8b", servers=4).status == 200
        for one in slow:
            one.close()
