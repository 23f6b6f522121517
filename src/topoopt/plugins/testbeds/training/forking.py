"""The process that imports PyTorch and forks the ranks, each into its network namespace."""

import ctypes
import gc
import os
import pickle
import signal
import sys
from importlib import import_module
from multiprocessing.connection import Connection

from topoopt.base.errors import Infeasible
from topoopt.plugins.testbeds.training.member import Command, Place, RanksOrder, Reply
from topoopt.plugins.testbeds.training.programs import PROGRAMS, Program
from topoopt.plugins.testbeds.training.worker import Worker

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
    """Do what the commander says until the pipe closes; never return."""
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
            pipe.send(Reply(_program(command.program)(worker, **command.words)))
        except Exception as error:
            pipe.send(Reply(error=_in_a_line(error)))


def _program(name: str) -> Program:
    """Return a program of the table, or a function of one's own, ``MODULE:FUNCTION``."""
    module, _, function = name.partition(":")
    found: Program = getattr(import_module(module), function) if function else PROGRAMS[name]
    return found


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
    """End this process when the one that started it ends, whatever it is doing then."""
    if sys.platform == "linux":
        _LINUX.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was quicker
        os._exit(1)


def _in_a_line(error: Exception) -> str:
    text = str(error).strip().splitlines()
    return f"{type(error).__name__}: {text[0] if text else 'no reason given'}"


if __name__ == "__main__":
    main()
