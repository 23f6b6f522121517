"""A process that dies takes one point with it, and the next run computes that one."""

from multiprocessing import active_children
from pathlib import Path

from tests.sweep.conftest import MakeSweep
from topoopt.sweep import open_results, processes, query, run_sweep


def test_a_process_that_dies_takes_one_point_with_it(sweep: MakeSweep, tmp_path: Path) -> None:
    made = sweep(
        "models: resnet50\nservers: 8\nbudget: 200\nfabrics: [topoopt, torus, expander]\nseeds: [0, 1]\n"
    )
    file = tmp_path / "r.duckdb"
    killed: list[int | None] = []

    def kill_once(stage: str, done: int, total: int) -> None:
        if not killed:
            (child,) = active_children()
            child.kill()
            killed.append(child.pid)

    first = run_sweep(made, file, processes(1), on_progress=kill_once)
    failed = first.by_status.get("failed", 0)
    assert (first.computed, first.by_status["ok"] + failed) == (6, 6)
    assert failed <= 1, "none, if it died between two points"
    with open_results(file) as results:
        errors = query(results, "SELECT error FROM points WHERE status = 'failed'").rows
    assert all("the process that computed it ended (signal 9)" in error for (error,) in errors)
    assert run_sweep(made, file, processes(1)).by_status == ({"ok": failed} if failed else {})
