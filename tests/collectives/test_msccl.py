"""MSCCL's XML: the interpreter sees every shard arrive, within the limits of MSCCL's own reader."""

import re
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from tests.collectives.wirings import BPS, complete, diamond, kautz, lifted_128_4
from topoopt.base.errors import InvalidInput
from topoopt.collectives import (
    ALGORITHMS,
    Transfers,
    broadcast_schedule,
    msccl_xml,
    one_after_the_other,
    run_msccl,
    transfers_of,
)
from topoopt.collectives.algorithms.ring import all_gather, reduce_scatter
from topoopt.collectives.msccl import MOST_STEPS
from topoopt.topologies import Topology, broadcast_steps, circulant, reversed_links

SIZES = (0, 1 << 30)


def both(wiring: Topology) -> Transfers:
    chunks = broadcast_steps(wiring, 4).chunks
    back = broadcast_schedule(reversed_links(wiring), chunks).backwards()
    return one_after_the_other(back, broadcast_schedule(wiring, chunks))


def of_table(name: str) -> Transfers:
    return transfers_of(ALGORITHMS[name].schedules[0](12))


SCHEDULES: dict[str, Callable[[], Transfers]] = {
    "bfb on a circulant": lambda: both(circulant(16, (3, 4), BPS)),
    "bfb on a digraph": lambda: both(kautz(4, 30)),
    "bfb, gather": lambda: broadcast_schedule(diamond(), 2),
    "bfb, scatter": lambda: broadcast_schedule(reversed_links(diamond()), 2).backwards(),
    "ring, gather": lambda: transfers_of(all_gather(9)),
    "ring, scatter": lambda: transfers_of(reduce_scatter(9)),
    **{name: partial(of_table, name) for name in ALGORITHMS},
}


@pytest.mark.parametrize("name", SCHEDULES)
def test_every_shard_arrives(name: str) -> None:
    transfers = SCHEDULES[name]()
    ran = run_msccl(msccl_xml(transfers, name, SIZES))
    assert ran.missing == 0
    assert ran.messages >= len(transfers)


def test_a_file_is_as_mscclls_reader_wants_it() -> None:
    """Steps are numbered without a gap, stay below 256, and what is waited for says so."""
    root = ElementTree.fromstring(msccl_xml(both(lifted_128_4()), "lifted", SIZES))
    assert (root.attrib["coll"], root.attrib["ngpus"], root.attrib["inplace"]) == ("allreduce", "128", "1")
    for gpu in root:
        assert gpu.attrib["i_chunks"] == gpu.attrib["o_chunks"] == root.attrib["nchunksperloop"]
        blocks = {tb.attrib["id"]: list(tb) for tb in gpu}
        for steps in blocks.values():
            assert [int(step.attrib["s"]) for step in steps] == list(range(len(steps)))
            assert len(steps) <= MOST_STEPS
            for step in steps:
                assert 0 <= int(step.attrib["cnt"]) < 72
                if step.attrib["depid"] != "-1":
                    awaited = blocks[step.attrib["depid"]][int(step.attrib["deps"])]
                    assert (awaited.attrib["hasdep"], awaited.attrib["type"] in ("r", "rrc")) == ("1", True)


def test_long_thread_blocks_go_on_on_the_next_channel() -> None:
    ran = run_msccl(msccl_xml(transfers_of(ALGORITHMS["ring"].schedules[0](132)), "ring", SIZES))
    assert (ran.missing, ran.channels) == (0, 2)
    assert ran.steps <= MOST_STEPS


def test_many_peers_are_spread_over_channels() -> None:
    """MSCCL has room for 32 peers, each way, on a channel."""
    text = msccl_xml(broadcast_schedule(complete(70), 1), "mesh", SIZES)
    assert run_msccl(text).missing == 0
    for gpu in ElementTree.fromstring(text):
        for way in ("send", "recv"):
            taken = Counter(tb.attrib["chan"] for tb in gpu if tb.attrib[way] != "-1")
            assert sum(taken.values()) == 69
            assert max(taken.values()) <= 32


def test_a_gather_has_its_own_part_as_input() -> None:
    root = ElementTree.fromstring(msccl_xml(broadcast_schedule(diamond(), 2), "diamond", SIZES))
    assert (root.attrib["coll"], root.attrib["nchunksperloop"]) == ("allgather", "16")
    assert (root[0].attrib["i_chunks"], root[0].attrib["o_chunks"]) == ("2", "16")


def out_of_place(text: str) -> list[list[tuple[int, int] | None]]:
    """Return the outputs where they are no part of the inputs, as the public verifier runs a file.

    References
    ----------
    .. [1] github.com/dromniscience/MSCCL-XML-Verifier, ``src/common``: it takes ``outofplace="1"`` alone, a message
       has the places of its send and of its receive, which must be the same, and a step waits for one with ``hasdep``.
    """
    root = ElementTree.fromstring(text)
    assert root.attrib["outofplace"] == "1"
    buffers: dict[tuple[int, str], list[tuple[int, int] | None]] = {}
    mail, done, todo = dict[tuple[int, int, str], list[Any]](), set[tuple[int, str, str]](), list[Any]()
    for rank, gpu in enumerate(root):
        buffers[rank, "i"] = [(rank, chunk) for chunk in range(int(gpu.attrib["i_chunks"]))]
        buffers[rank, "o"] = [None] * int(gpu.attrib["o_chunks"])
        todo += [(rank, tb.attrib, [step.attrib for step in tb]) for tb in gpu]
    while any(steps for _, _, steps in todo):
        left = sum(len(steps) for _, _, steps in todo)
        for rank, tb, steps in todo:
            step = steps[0] if steps else {"depid": "-1", "type": ""}
            if step["depid"] != "-1" and (rank, step["depid"], step["deps"]) not in done:
                continue
            sent = mail.setdefault((rank, int(tb["send"]), tb["chan"]), [])
            heard = mail.setdefault((int(tb["recv"]), rank, tb["chan"]), [])
            places = tuple(step.get(key) for key in ("srcbuf", "srcoff", "dstbuf", "dstoff", "cnt"))
            if not steps or (step["type"] == "r" and not heard):
                continue
            count, here, there = (int(step[key]) for key in ("cnt", "srcoff", "dstoff"))
            moved = buffers[rank, step["srcbuf"]][here : here + count] if step["type"] in ("s", "cpy") else []
            if step["type"] == "s":
                assert None not in moved
                sent.append((places, moved))
            elif step["type"] == "r":
                said, moved = heard.pop(0)
                assert said == places
            if step["type"] in ("r", "cpy"):
                buffers[rank, step["dstbuf"]][there : there + count] = moved
            if step["hasdep"] == "1":
                done.add((rank, tb["id"], step["s"]))
            steps.pop(0)
        assert sum(len(steps) for _, _, steps in todo) < left, "thread blocks wait for ever"
    assert not any(mail.values())
    return [buffers[rank, "o"] for rank in range(len(root))]


@pytest.mark.parametrize("transfers", [transfers_of(all_gather(5)), broadcast_schedule(diamond(), 2)])
def test_a_gather_runs_out_of_place_too(transfers: Transfers) -> None:
    text, own = msccl_xml(transfers, "gather", SIZES), transfers.chunks // transfers.ranks
    whole = [(rank, chunk) for rank in range(transfers.ranks) for chunk in range(own)]
    assert out_of_place(text) == [whole] * transfers.ranks
    assert 'inplace="1" outofplace="1"' in text  # what is copied is then where it belongs


def test_an_all_to_all_runs_out_of_place() -> None:
    text = msccl_xml(transfers_of(ALGORITHMS["pairwise"].schedules[0](6)), "all", SIZES)
    assert out_of_place(text) == [[(src, dst) for src in range(6)] for dst in range(6)]
    assert 'inplace="0" outofplace="1"' in text


def test_what_is_spoiled_is_noticed() -> None:
    whole = msccl_xml(transfers_of(all_gather(5)), "ring", SIZES)
    without_waits = re.sub(r'depid="\d+" deps="\d+"', 'depid="-1" deps="-1"', whole)
    late = without_waits.replace(
        's="0" type="s" srcbuf="o" srcoff="0"', 's="0" type="s" srcbuf="o" srcoff="3"'
    )
    with pytest.raises(InvalidInput, match=r"before it has it|from one place to another"):
        run_msccl(late)
    circle = re.sub(r'(type="r"[^>]*?)depid="-1" deps="-1"', r'\1depid="0" deps="1"', whole, count=1)
    with pytest.raises(InvalidInput, match=r"is missing|waits forever"):
        run_msccl(circle)
    for said, other, message in (
        (
            'hasdep="0"',
            'hasdepp="0"',
            r'gpu 0: tb \d: step 0: unknown attribute "hasdepp"; did you mean hasdep',
        ),
        ('inplace="1"', 'inplace="true"', 'inplace: expected 0 or 1, got "true"'),
        ('cnt="1"', 'cnt="1.5"', r'gpu 0: tb \d: step 0: cnt: expected an integer, got "1\.5"'),
    ):
        with pytest.raises(InvalidInput, match=message):
            run_msccl(whole.replace(said, other, 1))
    with pytest.raises(InvalidInput, match="not a file of MSCCL"):
        run_msccl("<algo/>")


@pytest.mark.parametrize("name", ["pairwise", "ring"])
def test_a_spoiled_file_is_one_line_or_chunks_that_do_not_arrive(name: str) -> None:
    whole = msccl_xml(transfers_of(ALGORITHMS[name].schedules[0](4)), name, SIZES)
    chance = np.random.default_rng(3)
    numbers = [found.span(1) for found in re.finditer(r'="(-?\d+|[a-z_]+)"', whole)]
    noticed = 0
    for _ in range(150):
        first, last = numbers[chance.integers(len(numbers))]
        spoiled = whole[:first] + str(chance.choice(["-2", "7", "999999999999", "x", ""])) + whole[last:]
        reason = "chunks are missing"
        try:
            noticed += run_msccl(spoiled).missing > 0
        except InvalidInput as error:
            noticed, reason = noticed + 1, str(error)
        assert "\n" not in reason
    assert noticed > 80  # the rest are names of the other side of a message, sizes of buffers and the like


def test_too_many_messages_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("topoopt.collectives.msccl.MOST_MESSAGES", 3)
    with pytest.raises(InvalidInput, match="export: 20 messages, MSCCL files are written of at most 3"):
        msccl_xml(transfers_of(all_gather(5)), "ring", SIZES)
