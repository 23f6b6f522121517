"""The caching allocator that is played, and what a stage needs of it beyond its tensors."""

from dataclasses import replace

import pytest

from benchmarks.caching_allocator import MEBIBYTE, CachingAllocator, NoRoom
from benchmarks.holes import Job, play, shares


def test_a_split_block_is_not_had_again_as_a_whole_while_a_part_is_taken() -> None:
    device = CachingAllocator(150 * MEBIBYTE)
    large = device.take(100 * MEBIBYTE)
    assert large is not None
    device.give_back(large)
    small = device.take(12 * MEBIBYTE)
    assert small is not None
    assert (device.reserved, device.allocated) == (100 * MEBIBYTE, 12 * MEBIBYTE)
    with pytest.raises(NoRoom):
        device.take(100 * MEBIBYTE)
    device.give_back(small)
    assert device.take(100 * MEBIBYTE) is not None
    assert device.most_reserved == 100 * MEBIBYTE


def test_segments_that_are_free_as_a_whole_go_back_when_there_is_no_room() -> None:
    device = CachingAllocator(100 * MEBIBYTE)
    blocks = [device.take(size * MEBIBYTE) for size in (40, 50)]
    for block in blocks:
        assert block is not None
        device.give_back(block)
    assert device.take(60 * MEBIBYTE) is not None
    assert device.reserved == 60 * MEBIBYTE


def test_small_tensors_share_a_segment_of_20_mebibytes() -> None:
    device = CachingAllocator(float("inf"))
    for _ in range(4):
        device.take(5 * MEBIBYTE)
    assert device.reserved == 20 * MEBIBYTE


def test_a_stage_holds_more_where_there_is_room_than_it_needs_where_there_is_none() -> None:
    job = Job(
        hidden=8192, inner=28672, layers=10, tp=8, pp=8, sequences=4, tokens=2048, norm_kernel=True, dp=1
    )
    needed, held = shares(job)
    assert 0 <= needed < 0.02 < held
    eager = play(replace(job, norm_kernel=False), float("inf"))
    kept = (
        8 * 10 * 2 * 2 * 2 * 8192 * 4 * 2048
    )  # two norms of fp32 and 16 bits instead of 16, of eight micro-batches
    assert eager.most_allocated - play(job, float("inf")).most_allocated == pytest.approx(kept, rel=0.05)
