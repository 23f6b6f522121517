"""Twenty people at once, and one who reads slowly."""

import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.frontends.web.conftest import Running
from tests.frontends.web.test_api import LONG, until

CLIENTS = 20


@pytest.fixture
def planning(studio: Running) -> Iterator[str]:
    """A plan that is being made, by its key."""
    key = studio.ask("/api/plans", "POST", LONG).json["id"]
    until(lambda: studio.ask(f"/api/plans/{key}").json["total"] > 0)
    yield key
    studio.ask(f"/api/plans/{key}", "DELETE")


def asks(studio: Running, client: int) -> int:
    """Move a slider, as one person does; return what the server said."""
    said = studio.estimate(model="vgg16", bandwidth="400Gbps", servers=8 + client, degree=1 + client % 8)
    return int(said.status)


def test_twenty_clients_are_answered_beside_a_plan_and_one_who_reads_nothing(
    studio: Running, planning: str
) -> None:
    slow = []
    for path in [f"/api/plans/{planning}/events", "/api/estimate?model=llama3-8b&servers=8"] * 5:
        one = socket.create_connection(("127.0.0.1", studio.port))
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
        one.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{studio.port}\r\n\r\n".encode())
        slow.append(one)
    with ThreadPoolExecutor(CLIENTS) as pool:
        said = list(pool.map(lambda client: asks(studio, client), range(CLIENTS)))
    assert set(said) <= {200, 422}
    assert said.count(200) >= CLIENTS * 2 / 3
    assert studio.ask(f"/api/plans/{planning}").json["status"] == "running"
    for one in slow:
        one.close()
