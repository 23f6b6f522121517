"""The process that imports PyTorch and forks the ranks, each into its network namespace."""

import ctypes
import gc
import heapq
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from importlib import import_module
from multiprocessing.connection import Connection
from queue import Empty, SimpleQueue
from typing import Any

from topoopt.base.errors import Infeasible
from topoopt.plugins.testbeds.collectives import all_to_all
from topoopt.plugins.testbeds.collectives.pytorch import dist, torch
from topoopt.plugins.testbeds.collectives.rings import Tensor
from topoopt.plugins.testbeds.training.real_training import Worker, train
from topoopt.plugins.testbeds.training.script import (
    Command,
    Compute,
    Exchange,
    Place,
    RanksOrder,
    Receive,
    Reduce,
    Reply,
    Send,
    ServerScript,
)


@dataclass
class Rehearsed:
    """A script with the buffers that its steps need, kept from one iteration to the next.

    Contents of messages do not matter, so all are sent from one buffer and received in another. Collectives have one
    each, of ones, and their sums are checked.
    """

    script: ServerScript
    out: Tensor
    into: Tensor
    numbers: dict[int, Tensor]
    threads: ThreadPoolExecutor

    def close(self) -> None:
        """Release the threads."""
        self.threads.shutdown()


@dataclass
class _Stage:
    rehearsed: Rehearsed
    worker: Worker
    missing: list[int]  # steps that each step still waits for
    ready_s: list[float]  # since when it may begin, as far as is known
    free_s: dict[int, float] = field(default_factory=dict)  # when each accelerator is idle again
    timers: list[tuple[float, int, bool]] = field(
        default_factory=list
    )  # when, which step, whether it is done then
    done: SimpleQueue[tuple[int, float, str]] = field(default_factory=SimpleQueue)
    sends: list[Any] = field(default_factory=list)
    may_reduce: set[int] = field(
        default_factory=set
    )  # collectives that wait for no step, but maybe for their turn
    turns: list[int] = field(default_factory=list)  # how many of each order have begun


Program = Callable[..., Any]


def cpu(worker: Worker) -> float:
    """Return the seconds of processor time that this member has taken."""
    return time.process_time()


def load(worker: Worker, script: ServerScript) -> None:
    """Get ready for a script, in the place of the one before."""
    if "script" in worker.kept:
        worker.kept.pop("script").close()
    worker.kept["script"] = rehearse(script)


def iterate(worker: Worker, begin_s: float) -> float:
    """Run the script once, beginning at a time of the monotonic clock, and return when it was done."""
    return run_script(worker, worker.kept["script"], begin_s)


PROGRAMS: Mapping[str, Program] = {"cpu": cpu, "load": load, "iterate": iterate, "train": train}
"""Each takes the worker and options."""
_PR_SET_PDEATHSIG = 1
_CLONE_NEWNET = 0x40000000
_LINUX = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    """Fork the members, and wait until the last has ended."""
    _end_with(os.getppid())
    order: RanksOrder = pickle.load(sys.stdin.buffer)
    gc.freeze()  # what is imported is shared, and collecting it would copy it
    members, me = [], os.getpid()
    for rank in range(len(order.places)):
        pid = os.fork()
        if pid == 0:
            _be_member(order, rank, me)
        members.append(pid)
    for pipe in order.pipes:
        os.close(pipe)
    for pid in members:
        os.waitpid(pid, 0)


def _be_member(order: RanksOrder, rank: int, parent: int) -> None:
    """Execute commands until the pipe closes; never return."""
    code = 1
    try:
        _end_with(parent)
        for other, pipe in enumerate(order.pipes):
            if other != rank:
                os.close(pipe)
        _obey(order, rank, Connection(order.pipes[rank]))
        code = 0
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _obey(order: RanksOrder, rank: int, pipe: Connection) -> None:
    try:
        _enter(order.places[rank])
        worker = Worker(rank, len(order.places), order.places[rank].address, order.meeting_file)
    except Exception as error:
        pipe.send(Reply(error=_in_a_line(error)))
        return
    pipe.send(Reply())
    while True:
        try:
            command: Command = pipe.recv()
        except EOFError:
            return
        try:
            module, _, function = command.program.partition(":")
            found: Program = (
                getattr(import_module(module), function) if function else PROGRAMS[command.program]
            )
            program = found
            pipe.send(Reply(program(worker, **command.words)))
        except Exception as error:
            pipe.send(Reply(error=_in_a_line(error)))


def _enter(place: Place) -> None:
    """Enter the network namespace, before there is a second thread."""
    if not place.namespace:
        return
    descriptor = os.open(place.namespace, os.O_RDONLY)
    try:
        if _LINUX.setns(descriptor, _CLONE_NEWNET):
            reason = os.strerror(ctypes.get_errno())
            raise Infeasible(f"cannot enter the network namespace {place.namespace}: {reason}")
    finally:
        os.close(descriptor)


def _end_with(parent: int) -> None:
    """End this process when its parent ends, whatever it does."""
    if sys.platform == "linux":
        _LINUX.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was quicker
        os._exit(1)


def _in_a_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else 'no reason given'}"


def rehearse(script: ServerScript) -> Rehearsed:
    """Return a script with its buffers and the threads that wait for messages."""
    largest, waiting, numbers = 1, 1, {}
    for number, step in enumerate(script.steps):
        match step.action:
            case Send(_, size, _):
                largest = max(largest, size)
            case Receive(_, size, _):
                largest, waiting = max(largest, size), waiting + 1
            case Exchange(members, size, _):
                largest, waiting = max(largest, size * len(members)), waiting + 1
            case Reduce(_, _, count):
                numbers[number] = torch.empty(count, dtype=torch.int32)
    out, into = (torch.zeros(largest, dtype=torch.uint8) for _ in range(2))
    return Rehearsed(script, out, into, numbers, ThreadPoolExecutor(waiting))


def run_script(worker: Worker, rehearsed: Rehearsed, begin_s: float) -> float:
    """Run every step once, from a time of the monotonic clock on, and return the end of the last one.

    Raises
    ------
    Infeasible
        If a message was lost, or a sum is wrong.
    """
    steps = rehearsed.script.steps
    stage = _Stage(rehearsed, worker, [step.waits_for for step in steps], [begin_s] * len(steps))
    stage.turns = [0] * len(rehearsed.script.orders)
    for tensor in rehearsed.numbers.values():
        tensor.fill_(1)
    landings = [(n, step.action) for n, step in enumerate(steps) if isinstance(step.action, Receive)]
    for number, action in landings:
        _post(stage, number, action)
    time.sleep(max(0.0, begin_s - time.monotonic()))
    for number, step in enumerate(steps):
        if not step.waits_for and not isinstance(step.action, Receive):
            _ready(stage, number)
    left, last_s = len(steps), begin_s
    while left:
        number, at_s = _next(stage)
        last_s, left = max(last_s, at_s), left - 1
        for after in steps[number].then:
            stage.missing[after] -= 1
            stage.ready_s[after] = max(stage.ready_s[after], at_s)
            if not stage.missing[after]:
                _ready(stage, after)
    for work in stage.sends:
        work.wait()
    _check_sums(rehearsed)
    return last_s


def _next(stage: _Stage) -> tuple[int, float]:
    """Return the next step that is done, and when that was; begin those whose delay is over."""
    while True:
        wait_s = stage.timers[0][0] - time.monotonic() if stage.timers else None
        if wait_s is not None and wait_s <= 0:
            at_s, number, over = heapq.heappop(stage.timers)
            if over:
                return number, at_s
            _begin(stage, number, at_s)
            continue
        try:
            number, at_s, error = stage.done.get(timeout=wait_s)
        except Empty:
            continue
        if error:
            raise Infeasible(error)
        return number, at_s


def _ready(stage: _Stage, number: int) -> None:
    """Begin a step that waits for nothing any more, after its delay."""
    step, now_s = stage.rehearsed.script.steps[number], stage.ready_s[number]
    if step.delay_s:
        heapq.heappush(stage.timers, (now_s + step.delay_s, number, False))
    else:
        _begin(stage, number, now_s)


def _begin(stage: _Stage, number: int, now_s: float) -> None:
    match stage.rehearsed.script.steps[number].action:
        case Compute(accelerator, duration_s):
            end_s = max(now_s, stage.free_s.get(accelerator, 0.0)) + duration_s
            stage.free_s[accelerator] = end_s
            heapq.heappush(stage.timers, (end_s, number, True))
        case Send(peer, size, tag):
            stage.sends.append(dist.isend(stage.rehearsed.out[:size], peer, stage.worker.transfers, tag))
            heapq.heappush(stage.timers, (now_s, number, True))
        case Exchange() as exchange:
            _in_thread(stage, number, lambda: _exchange(stage, exchange))
        case Reduce():
            stage.may_reduce.add(number)
            _begin_reduces(stage)


def _begin_reduces(stage: _Stage) -> None:
    """Begin collectives in the order that all servers keep."""
    script = stage.rehearsed.script
    for row, order in enumerate(script.orders):
        while stage.turns[row] < len(order) and order[stage.turns[row]] in stage.may_reduce:
            number = order[stage.turns[row]]
            stage.turns[row] += 1
            action = script.steps[number].action
            assert isinstance(action, Reduce)
            ring = stage.worker.multi_ring(action.rings)
            future = ring.start(stage.rehearsed.numbers[number], collective=action.collective)
            future.add_done_callback(lambda done, number=number: _report(stage, number, done))


def _report(stage: _Stage, number: int, future: Any) -> None:
    try:
        future.value()
    except Exception as error:
        stage.done.put((number, time.monotonic(), f"a collective ended with: {error}"))
    else:
        stage.done.put((number, time.monotonic(), ""))


def _post(stage: _Stage, number: int, action: Receive) -> None:
    landing = stage.rehearsed.into[: action.size_bytes]
    work = dist.irecv(landing, action.peer, stage.worker.transfers, action.tag)
    _in_thread(stage, number, work.wait)


def _in_thread(stage: _Stage, number: int, work: Callable[[], Any]) -> None:
    def wait() -> None:
        try:
            work()
        except Exception as error:
            stage.done.put((number, time.monotonic(), f"a message ended with: {error}"))
        else:
            stage.done.put((number, time.monotonic(), ""))

    stage.rehearsed.threads.submit(wait)


def _exchange(stage: _Stage, action: Exchange) -> None:
    parts = len(action.members)
    into, out = (
        list(buffer[: parts * action.bytes_per_pair].split(action.bytes_per_pair))
        for buffer in (stage.rehearsed.into, stage.rehearsed.out)
    )
    all_to_all(into, out, action.members, stage.worker.transfers, action.tag)


def _check_sums(rehearsed: Rehearsed) -> None:
    for number, tensor in rehearsed.numbers.items():
        action = rehearsed.script.steps[number].action
        assert isinstance(action, Reduce)
        if action.collective == "allreduce" and not bool((tensor == len(action.rings[0])).all()):
            raise Infeasible(
                f"an AllReduce of {len(tensor)} ones over {len(action.rings[0])} servers is not right"
            )


if __name__ == "__main__":
    main()
