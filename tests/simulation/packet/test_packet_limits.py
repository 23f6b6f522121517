"""What is refused, and in which words; and a run in slices is the run."""

import dataclasses
import re
from typing import Any

import numpy as np
import pytest

from tests.simulation.packet.engine import PACKET, engine, line, played, switch, transfers
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.simulation import TRANSPORTS, PacketOptions
from topoopt.simulation.packet.kernel import layout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"transport": "dctpc"}, 'transport: unknown name "dctpc"; did you mean dctcp'),
        ({"recovery": "go-back"}, 'recovery: unknown name "go-back"; did you mean go-back-n'),
        ({"pfc_packets": -1.0}, "pfc_packets: must be >= 0, got -1"),
        ({"mark_packets": -1.0}, "mark_packets: must be >= 0, got -1"),
        ({"buffer_packets": 0}, "buffer_packets: must be >= 1, got 0"),
        ({"timeout_min_s": 0.0}, "timeout_min_s: must be positive, got 0"),
    ],
)
def test_options_out_of_range_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidInput, match=re.escape(words)):
        PacketOptions(**options)


def test_a_connection_of_a_billion_packets_is_too_long() -> None:
    with pytest.raises(InvalidInput, match="packets is too long, the most is 1073741822"):
        played(transfers(2, (0, 1, PACKET << 30)), line(1))


@pytest.mark.parametrize("options", [{}, {"buffer_packets": 100}], ids=["queues", "boards"])
def test_a_run_that_needs_too_much_memory_is_refused(options: dict[str, Any]) -> None:
    graph = transfers(9, *((1 + i, 0, 20_000 * PACKET) for i in range(8)))
    with pytest.raises(Infeasible, match=r"more than the limit of .*; raise memory_limit"):
        played(graph, switch(9), transport="reno", memory_limit_bytes=1_300_000, **options)


@pytest.mark.parametrize("transport", TRANSPORTS)
@pytest.mark.parametrize("events", [1, 7])
def test_slices_of_a_few_events_give_the_same_run(transport: str, events: int) -> None:
    graph = transfers(5, *((i, (i + step) % 5, 40 * PACKET) for i in range(5) for step in (1, 2)))
    options: dict[str, Any] = {"transport": transport, "buffer_packets": 20, "acks": "reverse"}
    whole = played(graph, switch(5), **options)
    run = engine(graph, switch(5), **options)
    while run.step(events) == layout.Stop.SLICE_OVER:
        pass
    assert run.state.task[:, layout.Task.FINISH].tolist() == np.rint(whole.finish_s * 1e12).tolist()


def test_every_transport_says_where_its_rules_come_from() -> None:
    for transport in TRANSPORTS.values():
        assert re.search(r"RFC \d+|SIGCOMM \d+|No congestion control", transport.source)
        assert transport.pfc_on_packets <= transport.pfc_off_packets
        assert dataclasses.replace(transport) == transport
