"""Points computed on the machines of a Ray cluster; Ray is imported here and nowhere else, when it is asked for."""

import os
import socket
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.studies.sweep.compute import solve
from topoopt.studies.sweep.point import FAILED, Answer, Crew, Point, Task

LOCAL, AUTO = "local", "auto"
KNOCK_S = 5.0
_REMEDY = "start one with ray start --head, or say ray=local"


def ray_cluster(address: str, processes: int = 0) -> Crew:
    """Return a crew of all cores of a Ray cluster; every machine needs the same version of topoopt.

    Parameters
    ----------
    address : str
        ``local`` starts Ray on this machine, ``auto`` finds the cluster of which it is part; otherwise
        ``ray://host:port`` or ``host:port``.
    processes : int
        Most tasks at a time; 0 for one on each core of the cluster.

    Raises
    ------
    InvalidInput
        If Ray is not installed, or there is no cluster.
    """
    _ready(address)

    def crew(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
        with kept_ray_cluster(address, processes) as run:
            yield from run(tasks, on_start)

    return crew


@contextmanager
def kept_ray_cluster(address: str, processes: int = 0) -> Iterator[Crew]:
    """Give a crew as :func:`ray_cluster` does, whose connection stays until the context ends.

    Raises
    ------
    InvalidInput
        As :func:`ray_cluster`.
    """
    ray, connected = _ready(address), list[bool]()

    def crew(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
        if not tasks:
            return
        if not connected:
            connected.append(True)
            _connect(ray, address, processes)
        yield from _answers(ray, tasks, on_start, processes)

    try:
        yield crew
    finally:
        if connected:
            ray.shutdown()


def _ready(address: str) -> Any:
    """Return Ray, once somebody answers at the address."""
    place = _host_and_port(address)
    ray = _imported()
    if place is not None:
        _check_reachable(address, *place)
    return ray


def _imported() -> Any:
    # Read when Ray is imported: it would otherwise tell its makers that it is used.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray  # noqa: PLC0415 - an extra
    except ImportError:
        raise InvalidInput('ray: Ray is not installed; pip install "topoopt[ray]"') from None
    return ray


def _host_and_port(address: str) -> tuple[str, int] | None:
    """Return where a cluster is said to be; none where Ray looks for it."""
    if address in (LOCAL, AUTO):
        return None
    host, sign, port = address.removeprefix("ray://").rpartition(":")
    if not sign or not host or not port.isdigit():
        raise InvalidInput(f'ray: expected auto, local, ray://host:port or host:port, got "{address}"')
    return host, int(port)


def _check_reachable(address: str, host: str, port: int) -> None:
    """Knock at a host and port: Ray itself would wait for half a minute, and tell what it tries."""
    try:
        socket.create_connection((host, port), KNOCK_S).close()
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"ray {address}: no cluster there: {error}; {_REMEDY}") from None


def _connect(ray: Any, address: str, processes: int) -> None:
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    try:
        if address == LOCAL:
            ray.init(address=LOCAL, num_cpus=processes or None, include_dashboard=False, **quiet)
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, ValueError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InvalidInput(f"ray {address}: no cluster there: {reason}; {_REMEDY}") from None


def _answers(
    ray: Any, tasks: Sequence[Task], on_start: Callable[[Task], None], processes: int
) -> Iterator[Answer]:
    """Hand out as many tasks as there are cores, and yield each point as it is computed."""
    remote = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(solve)
    cores = max(int(ray.cluster_resources().get("CPU", 1)), 1)
    most = min(processes, cores) if processes else cores
    pending = deque(tasks)
    running: dict[Any, tuple[Task, deque[Point]]] = {}
    while pending or running:
        while pending and len(running) < most:
            task = pending.popleft()
            on_start(task)
            running[remote.remote(task)] = task, deque(task.points)
        ready, _ = ray.wait(list(running), num_returns=1)
        for stream in ready:
            task, owed = running[stream]
            try:
                answer: Answer = ray.get(next(stream))
            except StopIteration:
                del running[stream]
                continue
            except ray.exceptions.RayError as error:
                del running[stream]
                if len(owed) > 1:
                    pending.appendleft(Task(tuple(owed)[1:], task.folder))
                answer = Answer(owed[0], FAILED, _one_line(error), {}, 0.0)
            else:
                owed.popleft()
            yield answer


def _one_line(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"Ray: {lines[0] if lines else type(error).__name__}"[:300]
