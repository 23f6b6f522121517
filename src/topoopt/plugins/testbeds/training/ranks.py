"""Run ranks; checks whether this host can train with this many processes come first."""

import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from multiprocessing.connection import Connection, wait
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.base.limits import refuse_too_large
from topoopt.plugins.testbeds.network import check_machine
from topoopt.plugins.testbeds.training.script import Command, Place, RanksOrder, Reply, ServerScript

START_LIMIT_S = 120.0
"""PyTorch is imported and all pairs are connected by then, or something is wrong."""
END_LIMIT_S = 3.0
GRACE_S = 1.0


class Ranks:
    """Processes of a torch.distributed group, rank i at ``places[i]``; to be used in a ``with`` statement.

    Commands and replies go through pipes and not over the network, whose counters see training alone. All processes
    end with the one that made them, however it ends.

    Raises
    ------
    InvalidInput
        If PyTorch is not installed.
    Infeasible
        If the processes do not find each other in time.
    """

    def __init__(self, places: Sequence[Place]) -> None:
        need_pytorch()
        self._meeting = Path(tempfile.mkdtemp(prefix="topoopt-ranks-"))
        pairs = [socket.socketpair() for _ in places]
        self._pipes = [Connection(ours.detach()) for ours, _ in pairs]
        theirs = tuple(end.fileno() for _, end in pairs)
        order = RanksOrder(tuple(places), theirs, str(self._meeting / "ranks"))
        self._log = (self._meeting / "log").open("w+b")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "topoopt.plugins.testbeds.training.forking"],
            stdin=subprocess.PIPE,
            stdout=self._log,
            stderr=self._log,
            pass_fds=theirs,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            start_new_session=True,
        )
        for _, end in pairs:
            end.close()
        try:
            assert self._process.stdin is not None
            self._process.stdin.write(pickle.dumps(order))
            self._process.stdin.close()
            self.gather(START_LIMIT_S)
        except BaseException:
            self.close(at_once=True)
            raise
        shutil.rmtree(self._meeting)  # all have met; a run that is killed leaves nothing behind

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close(at_once=error is not None)

    def run(
        self, program: str, limit_s: float, each: Sequence[dict[str, Any]] = (), **words: Any
    ) -> list[Any]:
        """Run a program on all members, and return their results.

        Parameters
        ----------
        program : str
            A name in the table of programs, or ``MODULE:FUNCTION`` called with the worker and options.
        limit_s : float
            Seconds after which it is given up.
        each : sequence of dict
            Further options for each member.

        Raises
        ------
        Infeasible
            If a member fails, or times out; with its output.
        """
        self.command(program, each, **words)
        return self.gather(limit_s)

    def command(self, program: str, each: Sequence[dict[str, Any]] = (), **words: Any) -> None:
        """Start a program on all members, without waiting for it."""
        for number, pipe in enumerate(self._pipes):
            try:
                pipe.send(Command(program, {**words, **(each[number] if each else {})}))
            except OSError:
                raise Infeasible(f"testbed: the process of server {number} has ended{self._said()}") from None

    def gather(self, limit_s: float) -> list[Any]:
        """Wait for the reply of each member; once one has failed, the others have a second more."""
        end_s = time.monotonic() + limit_s
        answers: dict[int, Any] = {}
        errors: list[str] = []
        while len(answers) < len(self._pipes):
            left = {pipe: number for number, pipe in enumerate(self._pipes) if number not in answers}
            ready = wait(list(left), max(0.0, end_s - time.monotonic()))
            if not ready:
                break
            for pipe in ready:
                number = left[pipe]  # type: ignore[index]
                answers[number], error = self._reply(number)
                if error and not errors:
                    end_s = min(end_s, time.monotonic() + GRACE_S)
                errors += [error] if error else []
        if errors:
            raise Infeasible(f"testbed: {errors[0]}")
        if len(answers) < len(self._pipes):
            late = ", ".join(str(number) for number in range(len(self._pipes)) if number not in answers)
            raise Infeasible(f"testbed: no answer from server {late} within {limit_s:.0f} s{self._said()}")
        return [answers[number] for number in range(len(self._pipes))]

    def close(self, at_once: bool = False) -> None:
        """End all processes and clean up; ``at_once`` also processes that wait for others."""
        for pipe in self._pipes:
            pipe.close()
        try:
            self._process.wait(0.0 if at_once else END_LIMIT_S)
        except subprocess.TimeoutExpired:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._log.close()
        shutil.rmtree(self._meeting, ignore_errors=True)

    def cpu_s(self) -> float:
        """Return the seconds of processor time that all members have taken so far."""
        return float(sum(self.run("cpu", END_LIMIT_S)))

    def _reply(self, number: int) -> tuple[Any, str]:
        try:
            reply: Reply = self._pipes[number].recv()
        except (EOFError, OSError):
            return None, f"the process of server {number} has ended{self._said()}"
        return reply.answer, f"server {number}: {reply.error}" if reply.error else ""

    def _said(self) -> str:
        """Return the last line that a process wrote before it ended."""
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1][:200]}" if lines else ""


AHEAD_S = 0.05
"""Lead time with which an iteration is announced, so that all servers begin at the same moment."""
LOAD_LIMIT_S = 60.0
PATIENCE = 20.0
"""Factor on the expected time, and seconds in addition, after which an iteration is aborted."""


@dataclass(frozen=True, slots=True)
class Iterations:
    """Seconds of each iteration, from the moment at which all servers begin to the one at which the last is done.

    Attributes
    ----------
    warm_up_s, measured_s : tuple of float
        Warm-up iterations, and measured ones.
    cpu_s : float
        Processor time of all processes in measured ones; the kernel's time between two processes is only partly
        included.
    """

    warm_up_s: tuple[float, ...]
    measured_s: tuple[float, ...]
    cpu_s: float

    @property
    def median_s(self) -> float:
        """Median of the measured iterations."""
        return float(np.median(self.measured_s))


SHARED_BYTES = 0.4e9
"""PyTorch as it is imported once, and the one that commands; measured: 0.3 GB of code and data that all share."""
PROCESS_BYTES = 6e7
"""A process of its own has, while it trains: 45 MB measured on 12 servers."""


def check_ready() -> None:
    """Refuse a host that cannot run a testbed, or lacks PyTorch.

    Raises
    ------
    InvalidInput
        In one line with the reason.
    """
    need_pytorch()
    check_machine()


def check_processes(servers: int) -> None:
    """Refuse more servers than this host has memory for.

    Raises
    ------
    Infeasible
        With how many it has.
    """
    refuse_too_large(
        f"testbed: {servers} PyTorch processes",
        SHARED_BYTES + servers * PROCESS_BYTES,
        "take a plan of fewer servers",
    )


def load_scripts(ranks: Ranks, scripts: Sequence[ServerScript]) -> None:
    """Send every member its part."""
    ranks.run("load", LOAD_LIMIT_S, [{"script": script} for script in scripts])


def one_iteration(ranks: Ranks, expected_s: float, meanwhile: Callable[[float], None] | None = None) -> float:
    """Run the loaded scripts once, and return the seconds that the slowest member took.

    Parameters
    ----------
    meanwhile : function, optional
        Called with the time at which the iteration begins, while it runs; such as one that cuts a link.
    """
    begin_s = time.monotonic() + AHEAD_S
    ranks.command("iterate", begin_s=begin_s)
    if meanwhile is not None:
        meanwhile(begin_s)
    ends_s = ranks.gather(PATIENCE * (1.0 + expected_s))
    return float(max(ends_s)) - begin_s


def run_iterations(
    ranks: Ranks,
    scripts: Sequence[ServerScript],
    expected_s: float,
    measured: int,
    warm_up: int = 1,
    between: Callable[[], None] | None = None,
) -> Iterations:
    """Run a job for some iterations, each on its own: the next begins when all servers are done with the last.

    Parameters
    ----------
    expected_s : float
        Expected time of an iteration; far beyond it the run is aborted.
    between : function, optional
        Called after the warm-up, when nothing is on the links; such as one that reads counters.
    """
    load_scripts(ranks, scripts)
    warm_up_s = tuple(one_iteration(ranks, expected_s) for _ in range(warm_up))
    if between is not None:
        between()
    cpu_s = ranks.cpu_s()
    measured_s = tuple(one_iteration(ranks, expected_s) for _ in range(measured))
    return Iterations(warm_up_s, measured_s, ranks.cpu_s() - cpu_s)


def need_pytorch() -> None:
    """Refuse to train without PyTorch.

    Raises
    ------
    InvalidInput
        With how to get it.
    """
    if find_spec("torch") is None:
        raise InvalidInput('testbed: PyTorch is not installed; pip install "topoopt[testbed]"')
