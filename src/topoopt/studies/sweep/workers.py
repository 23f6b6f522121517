"""Workers of a sweep: local processes, or those of a Ray cluster; they compute, and never write.

Callers that run repeatedly keep them: a start takes about a second of CPU time, and caches are kept.
"""

import os
import signal
import socket
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.extras import library
from topoopt.base.workers import end_with_parent
from topoopt.studies.sweep.compute import Made, solve
from topoopt.studies.sweep.point import FAILED, Answer, Crew, Point, Task

LOCAL, AUTO = "local", "auto"
KNOCK_S = 5.0
_REMEDY = "start one with ray start --head, or say ray=local"
READY, DONE = "ready", "done"
MOST_LOSSES = 3


def processes(count: int) -> Crew:
    """Return a crew of processes; 0 starts one per core. The answers do not depend on their number."""

    def crew(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
        with kept_processes(count) as run:
            yield from run(tasks, on_start)

    return crew


@contextmanager
def kept_processes(count: int) -> Iterator[Crew]:
    """Yield a crew whose processes wait for more work, and end with the context."""
    most, idle = count or os.cpu_count() or 1, list[_Worker]()

    def crew(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
        run = _Run(deque(tasks), on_start, idle)
        try:
            yield from run.answers(min(most, len(tasks)))
        finally:
            for worker in run.workers:
                worker.end()

    try:
        yield crew
    finally:
        for worker in idle:
            worker.end()


@dataclass(eq=False, slots=True)
class _Worker:
    """A process, our end of its pipe, its outstanding points, and the plans that it has computed."""

    process: BaseProcess
    connection: Connection
    task: Task | None = None
    owed: deque[int] = field(default_factory=deque)
    plans: set[str] = field(default_factory=set)

    def begin(self, task: Task) -> None:
        self.task, self.owed = task, deque(range(len(task.points)))
        self.plans.add(task.points[0].plan_digest)
        with suppress(OSError):  # whoever has died meanwhile is found out when it is heard
            self.connection.send(task)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


@dataclass(eq=False, slots=True)
class _Run:
    """Waiting tasks, busy workers, and idle ones."""

    pending: deque[Task]
    on_start: Callable[[Task], None]
    idle: list[_Worker]
    workers: list[_Worker] = field(default_factory=list)

    def answers(self, count: int) -> Iterator[Answer]:
        """Yield the answers of ``count`` workers."""
        for _ in range(count):
            if self.idle:
                worker = self.idle.pop()
                self.workers.append(worker)
                self.hand_out(worker)
            else:
                self.workers.append(_start())
        while self.workers:
            ready = set(wait([worker.connection for worker in self.workers]))
            for worker in [worker for worker in self.workers if worker.connection in ready]:
                yield from self.receive(worker)

    def receive(self, worker: _Worker) -> Iterator[Answer]:
        """Handle one message of a worker: an answer, a request for work, or its death."""
        try:
            message = worker.connection.recv()
        except (EOFError, OSError):
            yield from self.after_death(worker)
            return
        if isinstance(message, Answer):
            worker.owed.popleft()
            yield message
        else:
            self.hand_out(worker)

    def hand_out(self, worker: _Worker) -> None:
        """Assign a task to a worker, if possible one whose plan it has, or one that no other has; or let it wait."""
        if not self.pending:
            self.workers.remove(worker)
            self.idle.append(worker)
            return
        elsewhere = {plan for other in self.workers if other is not worker for plan in other.plans}
        ranks = [
            (plan not in worker.plans, plan in elsewhere, place)
            for place, plan in enumerate(task.points[0].plan_digest for task in self.pending)
        ]
        task = self.pending[min(ranks)[-1]]
        self.pending.remove(task)
        self.on_start(task)
        worker.begin(task)

    def after_death(self, worker: _Worker) -> Iterator[Answer]:
        """The point at which a process died has failed; another process takes its remaining points."""
        self.workers.remove(worker)
        worker.process.join()
        how = _cause_of_death(worker.process.exitcode)
        worker.connection.close()
        if worker.task is None:
            raise Infeasible(f"sweep: a process ended while it started ({how}); is there enough memory?")
        if not worker.owed:
            self.workers.append(_start())
            return
        point, *rest = [worker.task.points[index] for index in worker.owed]
        if rest:
            self.pending.appendleft(Task(tuple(rest), worker.task.folder))
        if self.pending:
            self.workers.append(_start())
        yield Answer(
            point, FAILED, f"the process that computed it ended ({how}); is there enough memory?", {}, 0.0
        )


def _cause_of_death(exit_code: int | None) -> str:
    if exit_code is not None and exit_code < 0:
        return f"signal {-exit_code}"
    return f"exit code {exit_code}"


def _start() -> _Worker:
    context = get_context("spawn")  # forking a process that runs compiled kernels is not safe
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process, ours)


def _work(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the first process, which ends this one
    end_with_parent()
    connection.send(READY)
    made = Made()
    while True:
        task = connection.recv()
        for answer in solve(task, made):
            connection.send(answer)
        connection.send(DONE)


def ray_cluster(address: str, processes: int = 0) -> Crew:
    """Return a crew of all cores of a Ray cluster; every host needs the same version of topoopt.

    Parameters
    ----------
    address : str
        ``local`` starts Ray on this host, ``auto`` finds the cluster of this host; otherwise
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
    """Yield a crew as :func:`ray_cluster` does, whose connection stays until the context ends.

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
            quiet = {"log_to_driver": False, "logging_level": "CRITICAL"}
            try:
                if address == LOCAL:
                    ray.init(address=LOCAL, num_cpus=processes or None, include_dashboard=False, **quiet)
                else:
                    ray.init(address=address, **quiet)
            except Exception as error:  # Ray raises a bare one where its node does not start in time
                reason = " ".join(str(error).split())[:200]
                raise InvalidInput(f"ray {address}: no cluster there: {reason}; {_REMEDY}") from None
        yield from _answers(ray, tasks, on_start, processes)

    try:
        yield crew
    finally:
        if connected:
            ray.shutdown()


def _ready(address: str) -> Any:
    """Return Ray, once the address responds."""
    # where a cluster is said to be; none where Ray looks for it
    if address in (LOCAL, AUTO):
        place = None
    else:
        host, sign, port = address.removeprefix("ray://").rpartition(":")
        if not sign or not host or not port.isdigit():
            raise InvalidInput(f'ray: expected auto, local, ray://host:port or host:port, got "{address}"')
        place = host, int(port)
    # Read when Ray is imported: it would otherwise tell its makers that it is used.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")  # else it dumps its stacks into the terminal
    ray = library("ray", "ray", "ray")
    if place is not None:
        _check_reachable(address, *place)
    return ray


def _check_reachable(address: str, host: str, port: int) -> None:
    """Check that a host and port respond: Ray itself would wait for half a minute, with messages."""
    try:
        socket.create_connection((host, port), KNOCK_S).close()
    except (OSError, OverflowError) as error:
        raise InvalidInput(f"ray {address}: no cluster there: {error}; {_REMEDY}") from None


def _answers(
    ray: Any, tasks: Sequence[Task], on_start: Callable[[Task], None], processes: int
) -> Iterator[Answer]:
    """Submit as many tasks as there are cores, and yield each point as it is computed.

    A point whose worker is lost is computed by another one, and has failed after :data:`MOST_LOSSES` of them.
    """
    remote = ray.remote(num_cpus=1, max_retries=0, num_returns="streaming")(solve)
    cores = max(int(ray.cluster_resources().get("CPU", 1)), 1)
    most = min(processes, cores) if processes else cores
    pending = deque(tasks)
    running: dict[Any, tuple[Task, deque[Point]]] = {}
    lost: Counter[str] = Counter()
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
                lost[owed[0].digest] += 1
                again = (
                    lost[owed[0].digest] < MOST_LOSSES
                )  # a worker or its host has gone: others take its points
                rest = tuple(owed)[0 if again else 1 :]
                if rest:
                    pending.appendleft(Task(rest, task.folder))
                if again:
                    continue
                lines = [line.strip() for line in str(error).splitlines() if line.strip()]
                one_line = f"Ray: {lines[0] if lines else type(error).__name__}"[:300]
                answer = Answer(owed[0], FAILED, one_line, {}, 0.0)
            else:
                owed.popleft()
            yield answer
