"""What a pipelined step refuses, and what its servers send each other."""

from typing import Any

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.workloads.pipelined_step import Chunk, Exchange, PipelinedStep, Synchronization
from topoopt.workloads.traffic import AllReduceGroup, AllToAllGroup, Transfer

SERVERS = np.array([[[0], [1]], [[2], [3]]])
"""Two stages of two replicas, a server each."""


def two_stages(**others: Any) -> PipelinedStep:
    settings: dict[str, Any] = {
        "servers": 4,
        "micro_batches": 3,
        "chunks": (Chunk(1.0, 2.0, 100), Chunk(1.0, 2.0)),
        "part_servers": SERVERS,
    }
    return PipelinedStep(**{**settings, **others})


def test_activations_go_on_and_gradients_come_back_for_every_micro_batch() -> None:
    assert list(two_stages().traffic.transfers) == [
        Transfer(0, 2, 300),
        Transfer(1, 3, 300),
        Transfer(2, 0, 300),
        Transfer(3, 1, 300),
    ]


def test_parts_of_a_worker_send_to_the_like_parts_and_nothing_inside_a_server() -> None:
    step = two_stages(part_servers=np.array([[[0, 1]], [[1, 3]]]))
    assert list(step.traffic.transfers) == [
        Transfer(0, 1, 300),
        Transfer(1, 0, 300),
        Transfer(1, 3, 300),
        Transfer(3, 1, 300),
    ]


def test_a_reduce_scatter_and_a_gather_put_as_much_on_the_wire_as_an_allreduce_of_half_their_bytes() -> None:
    sharded = Synchronization((0,), (0, 1), (0, 1), "reduce-scatter", 1000, gather_bytes=500)
    whole = Synchronization((1,), (0, 1), (2, 3), "allreduce", 1000)
    assert two_stages(synchronizations=(sharded, whole)).traffic.allreduce == (
        AllReduceGroup((2, 3), 1000),
        AllReduceGroup((0, 1), 750),
    )


def test_exchanges_count_for_every_micro_batch() -> None:
    even = Exchange(0, "forward", "inside", (0, 1), (1, 0), "all-to-all", 200, 2)
    uneven = Exchange(1, "backward", "inside", (0, 1), (2, 3), "all-to-all", 0, pair_bytes=((9, 5), (7, 9)))
    summed = Exchange(1, "forward", "inside", (0, 1), (2, 3), "allreduce", 10)
    traffic = two_stages(exchanges=(even, uneven, summed)).traffic
    assert traffic.alltoall == (AllToAllGroup((0, 1), 300),)
    assert traffic.allreduce == (AllReduceGroup((2, 3), 30),)
    assert {Transfer(2, 3, 15), Transfer(3, 2, 21)} <= set(traffic.transfers)


def test_workers_of_one_server_are_devices_of_their_own() -> None:
    step = two_stages(servers=2, part_servers=np.array([[[0], [1]], [[0], [1]]]))
    assert step.worker_accelerator.tolist() == [[0, 0], [1, 1]]


def test_a_worker_of_dualpipe_has_a_chunk_and_its_mirror_image() -> None:
    chunks = (Chunk(1.0, 2.0, 100), Chunk(1.0, 2.0), Chunk(1.0, 3.0, 200), Chunk(1.0, 3.0))
    step = two_stages(chunks=chunks, schedule="dualpipe")
    assert (step.ends, step.chunks_per_stage, step.last_chunks) == (2, 2, (1, 3))
    assert step.chunk_stage.tolist() == [0, 1, 1, 0]
    assert step.chunks_on(0) == (chunks[0], chunks[3])
    assert [step.neighbor(chunk, 1) for chunk in range(4)] == [1, None, 3, None]
    assert [step.neighbor(chunk, -1) for chunk in range(4)] == [None, 0, None, 2]
    # Three micro-batches from either end: activations one way, gradients the other, in both directions.
    assert next(iter(step.traffic.transfers)) == Transfer(0, 2, 3 * (100 + 200))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"chunks": (Chunk(1.0, 2.0),) * 3}, "3 chunks cannot be shared by 2 stages evenly"),
        ({"chunks": (Chunk(1.0, 2.0),) * 4}, "multiple of the 2 stages, got 3"),
        ({"chunks": (Chunk(1.0, -2.0),) * 2}, "chunk 0: backward_s: expected seconds >= 0"),
        ({"micro_batches": 0}, "micro_batches: expected an integer >= 1, got 0"),
        ({"servers": 3}, r"a part is on server 3, allowed are 0\.\.2"),
        ({"part_servers": np.zeros((2, 2), np.int64)}, "expected stages × replicas × parts"),
        (
            {"synchronizations": (Synchronization((0,), (0, 2), (0, 1), "allreduce", 1),)},
            "a group's replicas must be different ones of 0..1",
        ),
        (
            {"exchanges": (Exchange(0, "forward", "inside", (0,), (0, 4), "allreduce", 1),)},
            "a group's servers must be different ones of 0..3",
        ),
        ({"schedule": "zero-buble"}, 'schedule: .*"zero-buble".*zero-bubble'),
        ({"schedule": "dualpipe"}, "a chunk for each of 2 stages and its mirror image, got 2"),
        ({"chunks": (Chunk(1.0, 2.0, weights_s=2.5),) * 2}, "chunk 0: weights_s 2.5 is part of backward_s 2"),
        ({"chunks": (Chunk(1.0, 2.0, weights_s=-1.0),) * 2}, "chunk 0: weights_s: expected seconds >= 0"),
        (
            {"exchanges": (Exchange(0, "weights", "after", (0,), (0, 1), "allreduce", 1),)},
            "schedule 1f1b has no passes for gradients of weights; give the exchange of chunk 0 direction=backward",
        ),
    ],
)
def test_what_does_not_fit_is_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        two_stages(**settings)


def test_unknown_words_of_an_exchange_are_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="inside"):
        Exchange(0, "forward", "insid", (0,), (0, 1), "allreduce", 1)
    with pytest.raises(InvalidInput, match="pair_bytes must have 2 rows and columns"):
        Exchange(0, "forward", "inside", (0,), (0, 1), "all-to-all", 0, pair_bytes=((1,), (1,)))


def test_buckets_add_up_to_one_however_little_overlaps() -> None:
    for overlap in (1e-12, 1e-10, 0.3, 1.0):
        buckets = Synchronization((0,), (0, 1), (0, 1), "allreduce", 8, overlap=overlap).buckets
        assert sum(buckets) == pytest.approx(1)
        assert sum(buckets[:-1]) == pytest.approx(overlap)
