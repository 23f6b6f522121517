"""Counters of a running testbed over time: how many bytes every link had carried by when.

Each server's table of interfaces is opened once, from inside its namespace, and read again and again: a reading takes
microseconds, so that what is measured is hardly disturbed.
"""

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from threading import Event, Thread

from topoopt.plugins.testbeds.namespaces import inside
from topoopt.plugins.testbeds.network.layout import Layout
from topoopt.plugins.testbeds.network.testbed import Testbed

_TABLE = "/proc/thread-self/net/dev"
_LARGEST_TABLE_BYTES = 1 << 20
_RECEIVED, _SENT = 0, 8
"""Columns of the table, behind the name."""

Ends = tuple[int, int]


@dataclass(frozen=True, slots=True)
class CounterReading:
    """What links had carried at a moment.

    Attributes
    ----------
    time_s : float
        Since the first reading.
    sent_bytes : mapping from (sender, receiver) to int
        With all headers, parallel links together; a switch is number ``servers``.
    """

    time_s: float
    sent_bytes: Mapping[Ends, int]


@contextmanager
def counting(testbed: Testbed, step_s: float) -> Iterator[list[CounterReading]]:
    """Read the counters of all links at this distance while the context lasts; at its end the list is full.

    The links are those of the layout at the beginning.
    """
    readings: list[CounterReading] = []
    layout, stop = testbed.layout, Event()
    with ExitStack() as opened:
        tables = {}
        for server in range(layout.servers):
            tables[server] = inside(testbed.namespace(server), lambda: os.open(_TABLE, os.O_RDONLY))
            opened.callback(os.close, tables[server])
        reader = Thread(target=_read_on, args=(layout, tables, step_s, stop, readings), daemon=True)
        reader.start()
        try:
            yield readings
        finally:
            stop.set()
            reader.join()


def _read_on(
    layout: Layout, tables: Mapping[int, int], step_s: float, stop: Event, readings: list[CounterReading]
) -> None:
    """Read until told to stop, and once more then."""
    first_s = time.monotonic()
    last = False
    while not last:
        last = stop.is_set()
        at_s = time.monotonic() - first_s
        readings.append(CounterReading(at_s, _carried(layout, tables)))
        stop.wait(max(0.0, at_s + step_s - (time.monotonic() - first_s)))


def _carried(layout: Layout, tables: Mapping[int, int]) -> Mapping[Ends, int]:
    """Return the bytes of each link: those that servers sent, and those that they received from a switch."""
    carried: dict[Ends, int] = {}
    for server, table in tables.items():
        counted = _columns(os.pread(table, _LARGEST_TABLE_BYTES, 0).decode())
        for near, far in layout.ports_of[server]:
            if near.name not in counted:  # a port whose cable was pulled
                continue
            numbers = counted[near.name]
            carried[server, far.node] = carried.get((server, far.node), 0) + numbers[_SENT]
            if far.node == layout.servers:
                carried[far.node, server] = carried.get((far.node, server), 0) + numbers[_RECEIVED]
    return carried


def _columns(table: str) -> Mapping[str, list[int]]:
    """Return the numbers of each interface of ``/proc/net/dev``; its first two lines are headings."""
    rows = (line.partition(":") for line in table.splitlines()[2:])
    return {name.strip(): [int(cell) for cell in cells.split()] for name, _, cells in rows}
