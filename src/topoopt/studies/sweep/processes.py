"""Points computed by processes of this machine, which only compute: the one that started them writes.

Who asks again and again keeps them: starting one takes about a second of CPU time, and what it has made is still there.
"""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from topoopt.base.errors import Infeasible
from topoopt.base.workers import end_with_parent
from topoopt.studies.sweep.compute import Made, solve
from topoopt.studies.sweep.point import FAILED, Answer, Crew, Task

READY, DONE = "ready", "done"


def processes(count: int) -> Crew:
    """Return a crew of so many processes; 0 takes one for each core. The answers do not depend on it."""

    def crew(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
        with kept_processes(count) as run:
            yield from run(tasks, on_start)

    return crew


@contextmanager
def kept_processes(count: int) -> Iterator[Crew]:
    """Give a crew whose processes wait for more when they are done, and end where the context ends."""
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
    """A process, our end of the pipe to it, the points that it still owes, and the plans that it has met."""

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
    """Tasks that wait, the workers that are at some, and those that have nothing left to do."""

    pending: deque[Task]
    on_start: Callable[[Task], None]
    idle: list[_Worker]
    workers: list[_Worker] = field(default_factory=list)

    def answers(self, count: int) -> Iterator[Answer]:
        """Yield what so many workers answer."""
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
        """Take one message of a worker: an answer, that it is free, or its death."""
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
        """Give a worker a task, if possible one whose plan it has met, or one that no other has; or let it wait."""
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
        """The point that a process died of has failed; another process takes what it had not come to."""
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
