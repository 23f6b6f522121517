"""Serving's study: queues are those of theory, sizes of caches those that were measured, orderings as published."""

import pytest

from tests.plugins.papers.studies_run import compared, run

pytestmark = pytest.mark.reproduction


def test_queues_and_closed_loops_are_those_of_theory() -> None:
    rows = [row for row in run("serving").comparisons if row.origin.startswith("closed form")]
    assert len(rows) == 9
    for row in rows:  # of a tenth of the prompts of the study, which has them within 1 %
        assert row.ratio == pytest.approx(1, rel=0.03), row.what


def test_sizes_and_times_of_transfers_are_those_that_mooncake_measured() -> None:
    rows = [row for row in run("serving").comparisons if row.origin.startswith("Mooncake")]
    assert len(rows) == 16
    assert all(row.met for row in rows)


def test_a_full_mesh_loses_least_of_fabrics_without_switches() -> None:
    lost = {
        name: compared(run("serving"), f"scale-up, {name} over a switch: more requests")
        for name in ("full-mesh", "torus", "expander")
    }
    assert max(lost, key=lost.__getitem__) == "full-mesh"
    assert lost["full-mesh"] == pytest.approx(0, abs=0.5)


def test_routers_that_know_the_network_gain_where_ways_differ_and_hardly_on_two_nodes_of_each_kind() -> None:
    figure = run("serving")
    what = "router that knows the network over least load, simulated, {}: mean first token"
    slow, fast, few = (
        compared(figure, what.format(f"{where} between racks"))
        for where in ("64 accelerators, 4 to 1", "64 accelerators, 1 to 1", "16 accelerators, 1 to 1")
    )
    assert slow < fast < 0
    assert few == pytest.approx(0, abs=2)
