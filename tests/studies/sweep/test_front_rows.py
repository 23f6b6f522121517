"""The front of each job in a results file, compared with every pair of its points."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest

from topoopt.base.errors import InvalidInput
from topoopt.studies.sweep import (
    Answer,
    Results,
    Task,
    front_rows,
    open_results,
    read_sweep,
    run_sweep,
    select,
)

SWEEP = """
models: [dlrm, bert]
servers: [8, 16]
fabrics: [topoopt, ideal-switch, fat-tree, rail, expander, torus, sip-ml]
"""
JOB = ("model", "servers")
COLUMNS = (*JOB, "fabric", "cost_usd", "iteration_time_s")


def at_random(tasks: Sequence[Task], on_start: Callable[[Task], None]) -> Iterator[Answer]:
    """Give each point a price and a time of a few values, so that some are equal; the circuits have no price."""
    rng = np.random.default_rng(3)
    for task in tasks:
        on_start(task)
        for point in task.points:
            price, time_s = (float(value) for value in rng.integers(1, 6, 2))
            cost_usd = None if point.fabric == "sip-ml" else price
            yield Answer(point, "ok", "", {"cost_usd": cost_usd, "iteration_time_s": time_s}, 0.0)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Results]:
    folder = tmp_path_factory.mktemp("fronts")
    (folder / "sweep.yaml").write_text(SWEEP)
    run_sweep(read_sweep(folder / "sweep.yaml"), folder / "r.duckdb", at_random)
    with open_results(folder / "r.duckdb") as opened:
        yield opened


@pytest.mark.parametrize("per", [JOB, ("model",), ()])
def test_a_point_is_there_if_none_of_its_job_beats_it(results: Results, per: tuple[str, ...]) -> None:
    points = [dict(zip(COLUMNS, row, strict=True)) for row in select(results, COLUMNS).rows]
    priced = [point for point in points if point["cost_usd"] is not None]
    assert len(points) > len(priced) > 0

    def beaten(point: dict[str, float]) -> bool:
        return any(
            other["cost_usd"] <= point["cost_usd"]
            and other["iteration_time_s"] <= point["iteration_time_s"]
            and (
                other["cost_usd"] < point["cost_usd"] or other["iteration_time_s"] < point["iteration_time_s"]
            )
            for other in priced
            if all(other[name] == point[name] for name in per)
        )

    unbeaten = [tuple(point.values()) for point in priced if not beaten(point)]
    found = front_rows(results, COLUMNS, per)
    assert found.columns == COLUMNS
    assert sorted(found.rows) == sorted(unbeaten)
    assert 0 < len(unbeaten) < len(priced)
    assert front_rows(results, COLUMNS, per, limit=1).rows == found.rows[:1]


def test_a_condition_comes_before_the_front(results: Results) -> None:
    everything = front_rows(results, ("fabric",), ())
    some = front_rows(results, ("fabric",), (), where="fabric = 'torus' -- so")
    assert {row[0] for row in some.rows} == {"torus"}
    assert some.rows != everything.rows
    with pytest.raises(InvalidInput, match=r"^columns: column: unknown name"):
        front_rows(results, ("fabrc",), ())
