"""Jobs on workers, from the models of the zoo."""

import numpy as np
import pytest

from topoopt.clusters import Machine, TraceJob, model_workers
from topoopt.clusters.scheduling.model_workers import pair_bytes
from topoopt.jobs import JobSettings
from topoopt.simulation import COLLECTIVE, COLLECTIVES, TRANSFER, TaskRows, task_graph_from_edges

MAKE = model_workers(Machine(50e9, 1e-6, "a100", JobSettings(), "analytic"))


def job(model: str, batch: int = 0) -> TraceJob:
    return TraceJob("a", model, 4, 0.0, iterations=1, batch_per_accelerator=batch)


def test_data_parallel_workers_send_their_gradients_around_a_ring() -> None:
    """2 (k - 1)/k of 553 MB of VGG16 in fp32, by the worker's link of 50 Gb/s."""
    made = MAKE(job("vgg16-cassini", 512), 4)
    assert list(zip(made.src.tolist(), made.dst.tolist(), strict=True)) == [(0, 1), (1, 2), (2, 3), (3, 0)]
    assert made.share == pytest.approx(1.0)
    assert made.profile.size_bytes == pytest.approx(1.5 * 553e6, rel=2e-3)
    assert made.profile.peak_bps <= 50e9
    assert len(made.profile.phases) <= 2


def test_a_worker_alone_computes_and_is_silent() -> None:
    one, two = MAKE(job("vgg16-cassini", 512), 1), MAKE(job("vgg16-cassini", 512), 2)
    assert one.profile.phases == ()
    assert len(one.src) == 0
    assert one.profile.iteration_time_s < two.profile.iteration_time_s


def test_embedding_tables_make_every_worker_send_to_every_other_one() -> None:
    made = MAKE(job("dlrm-cassini", 256), 4)
    assert len(made.src) == 12
    busiest = max(made.share[made.src == worker].sum() for worker in range(4))
    assert busiest == pytest.approx(1.0)


def test_the_bytes_of_pairs_are_those_of_rings_exchanges_and_transfers() -> None:
    """A ring of three with 2·2/3 of 300 bytes an edge, an exchange of two with 50 bytes each, a transfer."""
    nothing = np.zeros(0, np.int64)
    ring = TaskRows(
        COLLECTIVE, 1, size_bytes=300, collective=COLLECTIVES.index("allreduce"), members=((0, 1, 2),)
    )
    exchange = TaskRows(
        COLLECTIVE, 1, size_bytes=100, collective=COLLECTIVES.index("all-to-all"), members=((1, 3),)
    )
    transfer = TaskRows(TRANSFER, 1, src=0, dst=1, size_bytes=7)
    src, dst, size = pair_bytes(task_graph_from_edges(4, [ring, exchange, transfer], nothing, nothing))
    pairs = dict(zip(zip(src.tolist(), dst.tolist(), strict=True), size.tolist(), strict=True))
    assert pairs == pytest.approx({(0, 1): 407.0, (1, 2): 400.0, (2, 0): 400.0, (1, 3): 50.0, (3, 1): 50.0})
