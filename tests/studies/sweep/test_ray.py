"""Points on a real Ray cluster of this machine give the same rows."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any, cast

import pytest

from tests.studies.sweep.conftest import TINY, MakeSweep, here
from tests.studies.sweep.test_killed import figures
from topoopt.base.errors import InvalidInput
from topoopt.studies.sweep import Answer, Task, open_results, query, ray_cluster, run_sweep


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_local_ray_gives_the_rows_that_one_process_gives(sweep: MakeSweep, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is an extra: pip install topoopt[ray]")
    made = sweep(TINY)
    run_sweep(made, tmp_path / "here.duckdb", here)
    assert run_sweep(made, tmp_path / "ray.duckdb", ray_cluster("local", 1)).by_status == {"ok": 4}
    assert figures(tmp_path / "here.duckdb") == figures(tmp_path / "ray.duckdb")


class LosingRay:
    """Ray as far as a sweep uses it, on this very process; the workers of the first ``losses`` tasks die at once."""

    exceptions = SimpleNamespace(RayError=type("RayError", (Exception,), {}))

    def __init__(self, losses: int) -> None:
        self.losses = losses

    def init(self, **words: object) -> None:
        pass

    def shutdown(self) -> None:
        pass

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 2.0}

    def wait(self, streams: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        return streams[:num_returns], streams[num_returns:]

    def get(self, answer: Any) -> Any:
        if answer is None:
            raise self.exceptions.RayError("The worker died unexpectedly.\nwith a dump")
        return answer

    def remote(self, **words: object) -> Callable[[Callable[[Task], Iterator[Answer]]], Any]:
        def submitted(task: Task) -> Iterator[Answer | None]:
            self.losses -= 1
            return (
                iter([None])
                if self.losses >= 0
                else iter([Answer(one, "ok", "", {}, 0.0) for one in task.points])
            )

        return lambda solve: SimpleNamespace(remote=submitted)


@pytest.mark.parametrize(("losses", "outcome"), [(2, {"ok": 4}), (3, {"ok": 3, "failed": 1})])
def test_the_points_of_a_lost_worker_are_computed_by_another(
    sweep: MakeSweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, losses: int, outcome: dict[str, int]
) -> None:
    monkeypatch.setitem(sys.modules, "ray", cast(ModuleType, LosingRay(losses)))
    done = run_sweep(sweep(TINY), tmp_path / "r.duckdb", ray_cluster("local", 1))
    assert done.by_status == outcome
    with open_results(tmp_path / "r.duckdb") as results:
        errors = {row[0] for row in query(results, "SELECT error FROM points WHERE status = 'failed'").rows}
    assert errors <= {"Ray: The worker died unexpectedly."}


def test_without_ray_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidInput, match=r'ray: ray is not installed; pip install "topoopt\[ray\]"'):
        ray_cluster("auto")


def test_an_address_that_is_none_is_one_line_without_ray_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    expected = '^ray: expected auto, local, ray://host:port or host:port, got "ray://somewhere"'
    with pytest.raises(InvalidInput, match=expected):
        ray_cluster("ray://somewhere")


def test_an_address_without_a_cluster_is_one_line() -> None:
    pytest.importorskip("ray", reason="Ray is an extra: pip install topoopt[ray]")
    expected = "ray 127.0.0.1:1: no cluster there: .*; start one with ray start --head"
    with pytest.raises(InvalidInput, match=expected):
        ray_cluster("127.0.0.1:1")
