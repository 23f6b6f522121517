"""Gradient buckets: as PyTorch fills them, no byte lost, and alike in all simulators."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from topoopt.catalog import ClusterSpec
from topoopt.finder import FabricRequest, build_fabric
from topoopt.jobs import DDP_BUCKET_BYTES, Job, JobSettings, make_job, operators_of
from topoopt.routing import Fabric
from topoopt.search import simulated, task_graph_of
from topoopt.simulation import SIMULATORS
from topoopt.simulation.tasks.build_task_graph import FIRST_BUCKET_BYTES, Sync, in_buckets
from topoopt.workloads import load_model
from topoopt.workloads.strategy import data_parallel

MEBIBYTE = 1024 * 1024


def syncs(sizes: Sequence[int], members: Sequence[tuple[int, ...]]) -> list[Sync]:
    at = np.zeros(0, np.int64)
    return [
        Sync(i, group, size, 0.0, at, at) for i, (size, group) in enumerate(zip(sizes, members, strict=True))
    ]


def resnet18_bytes() -> list[int]:
    """Tensors of ResNet-18 in the order of its definition, by He et al., table 1: 11,689,512 numbers of 4 bytes."""

    def layer(inputs: int, width: int) -> list[int]:
        norm, inner = [width, width], width * width * 9
        joined = [] if inputs == width else [inputs * width, *norm]
        return [inputs * width * 9, *norm, inner, *norm, *joined, inner, *norm, inner, *norm]

    widths = [64, 64, 128, 256, 512]
    blocks = [size for before, width in pairwise(widths) for size in layer(before, width)]
    return [4 * numbers for numbers in (3 * 64 * 49, 64, 64, *blocks, 512 * 1000, 1000)]


@pytest.mark.parametrize(
    ("size_bytes", "seen"),
    [
        (DDP_BUCKET_BYTES, [2_052_000, 28_852_224, 15_853_824]),
        (35 * MEBIBYTE, [2_052_000, 38_297_600, 6_408_448]),
    ],
)
def test_resnet18_is_cut_as_pytorch_cuts_it(size_bytes: int, seen: list[int]) -> None:
    """What NCCL was called with, by bucket_cap_mb of 25 and 35: PyTorch issue 48880."""
    sizes = resnet18_bytes()
    assert sum(sizes) == 4 * 11_689_512
    buckets = in_buckets(syncs(sizes, [(0, 1)] * len(sizes)), size_bytes)
    assert [bucket.size_bytes for bucket in buckets] == seen


@given(
    st.lists(
        st.tuples(st.integers(1, 4 * MEBIBYTE), st.sampled_from([(0, 1), (2, 3), (0, 1, 2)])), max_size=30
    ),
    st.integers(1, 8 * MEBIBYTE),
)
def test_buckets_keep_every_byte_and_are_as_full_as_they_should_be(
    tensors: list[tuple[int, tuple[int, ...]]], size_bytes: int
) -> None:
    sizes, members = [size for size, _ in tensors], [group for _, group in tensors]
    buckets = in_buckets(syncs(sizes, members), size_bytes)
    for group in {*members}:
        own = [bucket for bucket in buckets if bucket.members == group]
        assert sum(b.size_bytes for b in own) == sum(s for s, g in tensors if g == group)
        limits = [min(FIRST_BUCKET_BYTES, size_bytes), *[size_bytes] * len(own)]
        for bucket, limit in list(zip(own, limits, strict=False))[:-1]:
            assert limit <= bucket.size_bytes < limit + sizes[bucket.operator]


def data_parallel_job(model: str, **settings: Any) -> tuple[Job, Fabric]:
    job = make_job(
        load_model(model, servers=16), ClusterSpec(16, 4, 100e9), JobSettings(memory_check="off", **settings)
    )
    return job, build_fabric("topoopt", FabricRequest(16, 4, 100e9, (tuple(range(16)),)))


@pytest.mark.parametrize("size_bytes", [0, MEBIBYTE, DDP_BUCKET_BYTES])
def test_links_carry_the_same_gradients_in_any_buckets(size_bytes: int) -> None:
    """Each of the 30 rounds of a bucket leaves out less than a byte of each of 4 × 16 chunks."""
    job, fabric = data_parallel_job("vgg16", bucket_bytes=size_bytes)
    strategy = data_parallel(operators_of(job).graph, 16)
    graph = task_graph_of(job, strategy)
    total = sum(weight.size_bytes for op in operators_of(job).graph.operators for weight in op.weights)
    assert int(graph.size_bytes[graph.collectives].sum()) == total
    carried = simulated(job, strategy, fabric).link_bytes.sum()
    assert carried == pytest.approx(2 * 15 * total, abs=2 * 15 * 64 * len(graph.collectives))


@pytest.mark.parametrize("size_bytes", [0, MEBIBYTE, DDP_BUCKET_BYTES])
def test_simulators_agree_on_buckets(size_bytes: int) -> None:
    """Rings of one group follow each other on links of their own: nothing contends."""
    job, fabric = data_parallel_job("vgg16", bucket_bytes=size_bytes)
    strategy = data_parallel(operators_of(job).graph, 16)
    times_s = [simulated(job, strategy, fabric, name).iteration_time_s for name in SIMULATORS]
    assert times_s == pytest.approx([times_s[0]] * len(times_s), rel=1e-2)
