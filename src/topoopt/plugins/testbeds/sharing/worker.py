"""One end of a job's transfers, a process of its own: run by its file, imports nothing of topoopt, starts in no time.

It enters a network namespace and executes commands, one JSON document per line; it ends at their end, and with its
parent. A receiver takes a size and that many bytes from every connection, and replies to each with one byte. A
sender sleeps as long as a job computes, and sends the job's bytes.
"""

import ctypes
import json
import os
import selectors
import signal
import socket
import struct
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

_PR_SET_PDEATHSIG, _CLONE_NEWNET = 1, 0x40000000
_SO_MARK, _SO_MAX_PACING_RATE = 36, 47
_SETTING = "/proc/sys/net/ipv4/tcp_congestion_control"
_SIZE = struct.Struct("<Q")
_PIECE = bytes(1 << 16)
_PATIENCE_S = 60.0


def main() -> None:
    """Obey until there are no more commands."""
    order = json.loads(sys.stdin.readline())
    parent = int(order["parent"])
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was quicker
        sys.exit(1)
    namespace = order["namespace"]
    handle = os.open(namespace, os.O_RDONLY)
    linux = ctypes.CDLL(None, use_errno=True)
    if linux.setns(handle, _CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), f"cannot enter {namespace}")
    os.close(handle)
    # come before this machine's other processes, as on a server of its own; it waits most of the time
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    role: Callable[[Mapping[str, Any]], None] = {"send": send, "receive": receive}[order["role"]]
    try:
        role(order)
    except (OSError, EOFError) as error:
        _say(error=f"{type(error).__name__}: {error}")
        sys.exit(1)


def receive(order: Mapping[str, Any]) -> None:
    """Receive everything sent to a port, until the process is ended."""
    with socket.create_server((order["address"], order["port"]), backlog=64) as door:
        _say(ready=True)
        with selectors.DefaultSelector() as ready:
            ready.register(door, selectors.EVENT_READ)
            ready.register(sys.stdin, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select():
                    if key.fileobj is sys.stdin:
                        return
                    if key.fileobj is door:
                        ready.register(door.accept()[0], selectors.EVENT_READ, [b"", 0])
                    elif not _take(key.fileobj, key.data):
                        ready.unregister(key.fileobj)
                        key.fileobj.close()  # type: ignore[union-attr]


def send(order: Mapping[str, Any]) -> None:
    """Run a job as often as one is commanded to."""
    _say(ready=True)
    for line in sys.stdin:
        words = json.loads(line)
        if "stop" in words:
            continue  # it came after the end
        with _connections(order, words) as connections:
            _say(connected=True)
            begin_s = json.loads(sys.stdin.readline())["begin_s"]
            _iterate(words, connections, begin_s)
        _say(done=True)


def _iterate(words: Mapping[str, Any], connections: list[socket.socket], begin_s: float) -> None:
    """Run iterations until stopped, and report begin and end of each.

    A gap counts from the moment at which it should have begun, so that late timers do not add up.
    """
    start_s = begin_s
    _sleep_until(start_s)
    while True:
        at_s, sent_s = start_s, 0.0
        for gap_s, size_bytes, rate_bytes_s in words["steps"]:
            at_s += gap_s
            _sleep_until(at_s)
            began_s = at_s
            _transfer(connections, size_bytes, rate_bytes_s)
            at_s = time.monotonic()
            sent_s += at_s - began_s
        end_s = at_s + words["last_gap_s"]
        _sleep_until(end_s)
        _say(iteration=[start_s, end_s, sent_s])
        if _told():
            return
        start_s = end_s


def _transfer(connections: list[socket.socket], size_bytes: int, rate_bytes_s: float) -> None:
    """Send bytes, in equal parts over all connections, and wait for all to arrive."""
    parts = [size_bytes // len(connections)] * len(connections)
    parts[0] += size_bytes - sum(parts)
    with selectors.DefaultSelector() as ready:
        left: dict[socket.socket, int] = {}
        for connection, part in zip(connections, parts, strict=True):
            if rate_bytes_s:
                rate = struct.pack("<I", min(int(rate_bytes_s / len(connections)), 0xFFFFFFFF))
                connection.setsockopt(socket.SOL_SOCKET, _SO_MAX_PACING_RATE, rate)
            connection.setblocking(True)
            connection.sendall(_SIZE.pack(part))
            connection.setblocking(False)
            left[connection] = part
            ready.register(connection, selectors.EVENT_WRITE)
        while ready.get_map():
            some = ready.select(_PATIENCE_S)
            if not some:
                raise TimeoutError(f"nothing was sent or answered in {_PATIENCE_S:g} s")
            for key, _ in some:
                connection = key.fileobj  # type: ignore[assignment]
                if left[connection]:
                    left[connection] -= connection.send(memoryview(_PIECE)[: left[connection]])
                    if not left[connection]:
                        ready.modify(connection, selectors.EVENT_READ)
                elif not connection.recv(1):
                    raise EOFError("the receiver has ended")
                else:
                    ready.unregister(connection)


def _take(connection: Any, state: list[Any]) -> bool:
    """Receive from a connection; return whether it is open. The state: a partial size, bytes to come."""
    try:
        data = connection.recv(1 << 16)
    except ConnectionError:
        return False
    more = bool(data)
    while data:
        if not state[1]:
            missing = _SIZE.size - len(state[0])
            state[0], data = state[0] + data[:missing], data[missing:]
            if len(state[0]) == _SIZE.size:
                state[:] = b"", _SIZE.unpack(state[0])[0]
            continue
        taken = min(state[1], len(data))
        state[1] -= taken
        data = data[taken:]
        if not state[1]:
            connection.sendall(b".")
    return more


@contextmanager
def _connections(order: Mapping[str, Any], words: Mapping[str, Any]) -> Iterator[list[socket.socket]]:
    """Open a job's connections, under a congestion control of their own or that of the namespace."""
    if not words["mark"]:
        with open(_SETTING, "w") as setting:
            setting.write(words["congestion"])
    opened: list[socket.socket] = []
    try:
        for _ in range(words["connections"]):
            connection = socket.socket()
            opened.append(connection)
            if words["mark"]:
                connection.setsockopt(socket.SOL_SOCKET, _SO_MARK, words["mark"])
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, words["congestion"].encode())
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection.settimeout(_PATIENCE_S)
            connection.connect((order["address"], order["port"]))
        yield opened
    finally:
        for connection in opened:
            connection.close()


def _sleep_until(at_s: float) -> None:
    time.sleep(max(0.0, at_s - time.monotonic()))


def _told() -> bool:
    """Return whether a line has come, and take it."""
    with selectors.DefaultSelector() as ready:
        ready.register(sys.stdin, selectors.EVENT_READ)
        return bool(ready.select(0)) and sys.stdin.readline() is not None


def _say(**words: Any) -> None:
    sys.stdout.write(json.dumps(words) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
