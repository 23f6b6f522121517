"""Points computed by processes of this machine, which only compute: the one that started them writes."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from topoopt.errors import Infeasible
from topoopt.sweep.answer import FAILED, Answer, Crew, Task
from topoopt.sweep.compute import solve
from topoopt.workers import end_with_parent

READY, DONE = "ready", "done"


def processes(count: int) -> Crew:
    """Return a crew of so many processes; 0 takes one for each core. The answers do not depend on it."""
    most = count or os.cpu_count() or 1

    def crew(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
        pending = deque(tasks)
        workers = [_start() for _ in range(min(most, len(tasks)))]
        try:
            while workers:
                ready = set(wait([worker.connection for worker in workers]))
                for worker in [worker for worker in workers if worker.connection in ready]:
                    yield from _receive(worker, workers, pending, on_start)
        finally:
            for worker in workers:
                worker.end()

    return crew


@dataclass(eq=False, slots=True)
class _Worker:
    """A process, our end of the pipe to it, and the points that it still owes."""

    process: BaseProcess
    connection: Connection
    task: Task | None = None
    owed: deque[int] = field(default_factory=deque)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.connection.close()


def _receive(
    worker: _Worker, workers: list[_Worker], pending: deque[Task], on_start: Callable[[Task], None]
) -> Iterator[Answer]:
    """Take one message of a worker: an answer, that it is free, or its death."""
    try:
        message = worker.connection.recv()
    except (EOFError, OSError):
        yield from _after_death(worker, workers, pending)
        return
    if isinstance(message, Answer):
        worker.owed.popleft()
        yield message
    elif pending:
        task = pending.popleft()
        on_start(task)
        worker.task, worker.owed = task, deque(range(len(task.points)))
        worker.connection.send(task)
    else:
        workers.remove(worker)
        worker.end()


def _after_death(worker: _Worker, workers: list[_Worker], pending: deque[Task]) -> Iterator[Answer]:
    """The point that a process died of has failed; another process takes what it had not come to."""
    workers.remove(worker)
    worker.process.join()
    how = _cause_of_death(worker.process.exitcode)
    worker.connection.close()
    if worker.task is None:
        raise Infeasible(f"sweep: a process ended while it started ({how}); is there enough memory?")
    if not worker.owed:
        workers.append(_start())
        return
    point, *rest = [worker.task.points[index] for index in worker.owed]
    if rest:
        pending.appendleft(Task(tuple(rest), worker.task.folder))
    if pending:
        workers.append(_start())
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
    while True:
        task = connection.recv()
        for answer in solve(task):
            connection.send(answer)
        connection.send(DONE)
