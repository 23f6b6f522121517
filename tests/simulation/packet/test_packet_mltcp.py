"""MLTCP packet by packet: two jobs on one link part, or settle where they cannot, as the theory says; others stay.

The bottleneck has 10 Gb/s and the servers' interfaces 20, so that queues are in the network; a round trip is 50 us and
queues mark at 20 packets. An iteration takes 100 ms alone. Offsets are parts of the communication of one.
"""

import math
from typing import Any

import numpy as np
import pytest

from tests.simulation.packet.engine import GBPS, after_compute, dumbbell, played, switch, transfers
from topoopt.base.arrays import Ints
from topoopt.base.errors import InvalidInput
from topoopt.simulation import (
    COMPUTE,
    TRANSFER,
    Aggressiveness,
    JobsTogether,
    PacketOptions,
    SimulationOptions,
    TaskGraph,
    TaskRows,
    simulate_together,
    task_graph_from_edges,
)

PERIOD_S, BANDWIDTH_BPS = 0.1, 10 * GBPS
GAIN = 8.0
"""(S + I) / I: by so much the odds of an offset grow in an iteration."""


def computes_and_sends(part: float, pieces: int = 1) -> TaskGraph:
    """Server 0 computes, then sends to server 1 for a part of the period, in some pieces one after the other."""
    size = round(part * PERIOD_S * BANDWIDTH_BPS / 8 / pieces)
    rows = [
        TaskRows(COMPUTE, 1, (1 - part) * PERIOD_S, server=0),
        TaskRows(TRANSFER, pieces, src=0, dst=1, size_bytes=size),
    ]
    return task_graph_from_edges(2, rows, np.arange(pieces), 1 + np.arange(pieces))


def two_jobs(
    part: float, offset: float, iterations: int, pieces: int = 1, **options: Any
) -> tuple[JobsTogether, Ints]:
    """Run two equal jobs; return them, and the offset at the start of each iteration."""
    packet = PacketOptions(**{"acks": "reverse", "mark_packets": 20.0, "connections": "kept", **options})
    run = simulate_together(
        "packet",
        [computes_and_sends(part, pieces)] * 2,
        dumbbell(2, BANDWIDTH_BPS, 50e-6, access_factor=2.0),
        ((0, 2), (1, 3)),
        SimulationOptions(packet=packet),
        iterations=iterations,
        begin_s=(0.0, offset * part * PERIOD_S),
    )
    starts = [
        np.append(begin_s, ends_s[:-1]) for begin_s, ends_s in zip(run.begin_s, run.ends_s, strict=True)
    ]
    return run, (starts[1] - starts[0]) / (part * PERIOD_S)


def mean_time(run: JobsTogether) -> Any:
    """Return the mean of both jobs of each iteration, over that of a job alone."""
    return np.mean(run.iteration_times_s, axis=0) / PERIOD_S


def iterations_to(offset: float, wanted: float) -> int:
    """Return in how many iterations the odds of an offset have grown to those of another (MLTCP, section 4)."""
    return math.ceil(math.log((wanted / (1 - wanted)) / (offset / (1 - offset))) / math.log(GAIN))


@pytest.mark.parametrize("offset", [0.02, 0.05, 0.1, 0.25, 0.5])
def test_two_jobs_part_within_the_iterations_of_the_theory_and_three(offset: float) -> None:
    run, offsets = two_jobs(0.4, offset, 16, transport="mltcp-reno")
    there = int(np.argmax(np.abs(offsets) >= 0.95))
    assert abs(there - iterations_to(offset, 0.95)) <= 3
    assert mean_time(run)[there + 2 :] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("transport", ["mltcp-reno", "mltcp-cubic"])
def test_the_way_apart_is_that_of_the_theory(transport: str) -> None:
    run, offsets = two_jobs(0.4, 0.05, 12, transport=transport)
    # the first iteration is the dearest, and each one after it less so
    times = mean_time(run)
    assert (np.diff(times[:6]) < 2e-3).all()
    assert times[0] > 1.25
    # while they overlap the odds grow every time, by up to the theory's factor and a half: queues take their time
    overlap = np.abs(offsets[:4])
    growth = np.diff(np.log(overlap / (1 - overlap)))
    assert (growth > math.log(GAIN) / 2.5).all()
    assert (growth < math.log(GAIN) * 1.5).all()


def test_reno_keeps_them_together() -> None:
    """Fair shares keep an offset for ever (1.38); in 100 iterations it hardly moves."""
    run, offsets = two_jobs(0.4, 0.05, 100, transport="reno")
    assert np.abs(offsets).max() < 0.1
    assert mean_time(run).min() > 1.36
    parted, _ = two_jobs(0.4, 0.05, 100, transport="mltcp-reno")
    # a job alone fills the link and is cut, too; in 100 iterations of two that meet there is more to cut
    assert run.marks is not None
    assert parted.marks is not None
    assert run.result.packet is not None
    assert sum(run.marks) == run.result.packet.marks
    assert sum(run.marks) > 1.5 * sum(parted.marks)


@pytest.mark.parametrize("transport", ["mltcp-reno", "mltcp-cubic"])
def test_jobs_that_cannot_part_take_turns_without_a_pause(transport: str) -> None:
    """Each sends for 0.6 of its period: at best the link is never idle, and an iteration takes 1.2 periods."""
    run, _ = two_jobs(0.6, 0.05, 40, transport=transport)
    assert mean_time(run)[20:] == pytest.approx(1.2, abs=0.03)
    fair, _ = two_jobs(0.6, 0.05, 40, transport="reno")
    assert mean_time(fair)[20:].min() > 1.5


def test_the_last_should_not_be_the_first() -> None:
    """A decreasing F, 2 - 1.75 r, locks jobs in full overlap, where Reno would at least keep a large offset."""
    run, offsets = two_jobs(0.4, 0.5, 30, transport="mltcp-reno", aggressiveness=Aggressiveness(-1.75, 2.0))
    assert np.abs(offsets[15:]).max() < 0.15
    assert mean_time(run)[15:].min() > 1.34


@pytest.mark.parametrize("form", ["quadratic", "reciprocal"])
def test_any_increasing_form_parts_them(form: str) -> None:
    run, _ = two_jobs(0.4, 0.1, 30, transport="mltcp-reno", aggressiveness=Aggressiveness(1.75, 0.25, form))
    assert mean_time(run)[-5:] == pytest.approx(1.0, abs=0.01)


def test_totals_are_learned_in_the_first_iterations() -> None:
    """The first silence says when to begin; after two whole iterations it is Reno no longer."""
    run, offsets = two_jobs(0.4, 0.3, 20, transport="mltcp-reno", totals="learned")
    reno, kept = two_jobs(0.4, 0.3, 20, transport="reno")
    assert offsets[:4] == pytest.approx(kept[:4])
    assert mean_time(run)[-5:] == pytest.approx(1.0, abs=0.01)
    assert mean_time(reno).min() > 1.2


@pytest.mark.parametrize("progress_of", ["pair", "job"])
def test_pieces_of_one_iteration_are_parts_of_it(progress_of: str) -> None:
    """Eight transfers in a row have the weights of one, for the connection is kept between them."""
    options: dict[str, Any] = {"transport": "mltcp-reno", "progress_of": progress_of}
    whole, _ = two_jobs(0.4, 0.25, 12, **options)
    pieces, _ = two_jobs(0.4, 0.25, 12, pieces=8, **options)
    assert mean_time(pieces)[6:] == pytest.approx(mean_time(whole)[6:], abs=0.01)


def test_losses_part_them_as_marks_do() -> None:
    run, _ = two_jobs(
        0.4, 0.05, 16, transport="mltcp-reno", mark_packets=None, buffer_packets=40, timeout_min_s=1e-3
    )
    assert run.result.packet is not None
    assert run.result.packet.drops > 0
    assert mean_time(run)[8:] == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize("plain", ["reno", "cubic", "dcqcn"])
def test_a_weight_of_one_is_the_plain_transport(plain: str) -> None:
    marks = None if plain == "dcqcn" else 20.0
    fair = Aggressiveness(0.0, 1.0)
    run, offsets = two_jobs(0.4, 0.3, 4, transport=f"mltcp-{plain}", mark_packets=marks, aggressiveness=fair)
    same, kept = two_jobs(0.4, 0.3, 4, transport=plain, mark_packets=marks)
    assert offsets.tolist() == kept.tolist()
    assert run.marks == same.marks
    faster, _ = two_jobs(
        0.4, 0.3, 4, transport=f"mltcp-{plain}", mark_packets=marks, aggressiveness=Aggressiveness(0.0, 1.5)
    )
    assert faster.marks != same.marks


def test_a_large_additive_increase_brings_dcqcn_back_sooner() -> None:
    """When seven others have gone, the rate rises by R_AI x F every 55 us, and the link is full again the sooner."""
    size = 2 * 10**8
    graph = transfers(9, (0, 8, size), *((sender, 8, size // 28) for sender in range(1, 8)))
    took = [
        played(
            graph,
            switch(9, BANDWIDTH_BPS),
            transport="mltcp-dcqcn",
            aggressiveness=Aggressiveness(0.0, weight),
        ).iteration_time_s
        for weight in (0.25, 1.0, 4.0)
    ]
    full_s = 1.25 * size * 8 / BANDWIDTH_BPS
    assert took[0] > 1.05 * took[1] > 1.05 * 1.01 * took[2]
    assert took[2] == pytest.approx(full_s, rel=1e-3)


def test_a_kept_connection_needs_no_packet_that_opens() -> None:
    graph = after_compute(2, TaskRows(TRANSFER, 3, src=0, dst=1, size_bytes=10**6))
    several = task_graph_from_edges(
        2,
        [TaskRows(TRANSFER, 3, src=0, dst=1, size_bytes=10**6)],
        np.arange(2, dtype=np.int64),
        1 + np.arange(2, dtype=np.int64),
    )
    counts = {
        (name, connections): played(job, switch(2), connections=connections).packet
        for name, job in (("at once", graph), ("in a row", several))
        for connections in ("new", "kept")
    }
    opened = {key: packet.packets for key, packet in counts.items() if packet is not None}
    # three transfers that begin together are three connections; in a row the second and the third go on
    assert opened["at once", "new"] == opened["at once", "kept"]
    assert opened["in a row", "new"] - opened["in a row", "kept"] == 2


@pytest.mark.parametrize("transport", ["mltcp-reno", "mltcp-dcqcn"])
def test_an_iteration_alone_takes_as_long_as_without_weights(transport: str) -> None:
    graph = transfers(4, (0, 1, 10**7), (2, 3, 10**7))
    plain = played(graph, switch(4), transport=transport.removeprefix("mltcp-"))
    assert played(graph, switch(4), transport=transport).iteration_time_s == plain.iteration_time_s


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"transport": "mltcp-reno", "connections": "new"},
            "connections: mltcp-reno keeps them over iterations",
        ),
        ({"transport": "reno", "totals": "learned"}, "totals: reno weighs no connections; take mltcp-reno"),
        (
            {"transport": "dctcp", "aggressiveness": Aggressiveness()},
            "aggressiveness: dctcp weighs no connect",
        ),
        ({"transport": "mltcp-reno", "progress_of": "servers"}, 'progress_of: unknown name "servers"'),
    ],
)
def test_words_that_do_not_go_together_are_named(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        PacketOptions(**options)
