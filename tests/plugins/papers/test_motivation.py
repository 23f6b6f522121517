"""The pictures that the paper begins with: communication grows, switches cost, three rings serve all flows."""

import numpy as np
import pytest

from tests.plugins.papers.studies_run import run
from topoopt.jobs import job_traffic
from topoopt.plugins.papers.figure import Figure
from topoopt.plugins.papers.motivation import (
    BANDWIDTH_BPS,
    COST_SERVERS,
    FEWEST_TIERS,
    ONE_RING,
    PRICED,
    SHORT_PATHS,
    STRIDES,
    TOPOOPT,
    duplex_ring_diameter,
    heat_charts,
    ring_matrix,
    share_rows,
    wiring_rows,
)
from topoopt.plugins.papers.published_jobs import published_job
from topoopt.search import starting_strategy
from topoopt.workloads.traffic import AllReduceGroup

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def figure() -> Figure:
    return run("motivation")


def test_communication_takes_a_larger_share_on_more_accelerators() -> None:
    for model in ("vgg16", "bert"):
        shares = [row["communication_share"] for row in share_rows([model], (2, 4, 16, 64))]
        assert shares == sorted(shares)
        assert 0 < shares[0] < shares[-1] < 1


def test_resnet50_hides_what_it_sends() -> None:
    (row,) = share_rows(["resnet50"], (32,))
    assert 0 <= row["communication_share"] < 0.01


def test_three_rings_are_as_wide_as_one_and_nearly_as_short_as_the_shortest() -> None:
    rows = {row["name"]: row for row in wiring_rows()}
    ring, short, own = rows[ONE_RING], rows[SHORT_PATHS], rows[TOPOOPT]
    assert (ring["diameter"], ring["average_hops"]) == (15, 8.0)
    assert duplex_ring_diameter() == 8
    assert own["diameter"] == 4
    assert own["average_hops"] == pytest.approx(34 / 15)
    assert short["diameter"] == 3
    assert ring["allreduce_bandwidth_bps"] == pytest.approx(3 * BANDWIDTH_BPS, rel=1e-3)
    assert own["allreduce_bandwidth_bps"] == pytest.approx(3 * BANDWIDTH_BPS, rel=1e-3)
    assert short["allreduce_bandwidth_bps"] <= BANDWIDTH_BPS
    assert own["iteration_time_s"] < min(ring["iteration_time_s"], short["iteration_time_s"])
    assert own["exchange_time_s"] < ring["exchange_time_s"]


@pytest.mark.parametrize("strides", [(1,), STRIDES])
def test_any_rings_carry_the_same_bytes(strides: tuple[int, ...]) -> None:
    """AllReduce is mutable: other strides move bytes to other links, as many in all."""
    group = AllReduceGroup(tuple(range(16)), 1600)
    matrix = ring_matrix(16, [group], strides)
    assert matrix.sum() == pytest.approx(group.wire_bytes)
    assert (matrix > 0).sum() == 16 * len(strides)
    assert np.diag(matrix).sum() == 0


def test_the_heat_of_dlrm_is_every_pair_of_table_hosts() -> None:
    job = published_job("dlrm", 16, 4, 100e9)
    placed = job_traffic(job, starting_strategy(job))
    charts = {chart.name: np.array(chart.values) for chart in heat_charts([], placed)}
    exchange = charts["motivation-dlrm-mp"]
    assert (np.diag(exchange) == 0).all()
    # Each of two tables' hosts sends its activations to the other, and gradients back: 4·b·dim·4 bytes.
    assert set(exchange[~np.eye(16, dtype=bool)]) == {4 * 1024 * 256 * 4 / 1e6}
    assert charts["motivation-dlrm-allreduce"].sum() == pytest.approx(charts["motivation-dlrm-rings"].sum())


def test_rows_are_alike_and_of_all_four_kinds(figure: Figure) -> None:
    assert len({tuple(row) for row in figure.rows}) == 1
    assert {row["what"] for row in figure.rows} == {"communication share", "cost", "traffic", "wiring"}


def test_the_ideal_switch_costs_several_times_topoopt_at_every_size(figure: Figure) -> None:
    cost = {(row["name"], row["servers"]): row["cost_usd"] for row in figure.rows if row["what"] == "cost"}
    for servers in COST_SERVERS:
        ideal, own = (cost[PRICED[fabric], servers] for fabric in ("ideal-switch", "topoopt"))
        assert ideal > 3 * own
        assert own < cost[FEWEST_TIERS, servers] <= ideal


@pytest.mark.reproduction
def test_what_the_naive_wirings_are_said_to_be(figure: Figure) -> None:
    assert len(figure.comparisons) == 5
    assert all(row.met for row in figure.comparisons)
