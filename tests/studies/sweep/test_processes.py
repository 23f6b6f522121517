"""A process that dies takes one point with it, and the next run computes that one."""

from multiprocessing import active_children
from pathlib import Path

from tests.studies.sweep.conftest import MakeSweep
from topoopt.studies.sweep import kept_processes, open_results, processes, query, run_sweep


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


def test_kept_processes_wait_for_more_and_end_with_the_context(sweep: MakeSweep, tmp_path: Path) -> None:
    text = "models: vgg16\nservers: 4\ndegree: 2\nbudget: 20\nfabrics: {}\n"
    with kept_processes(1) as crew:
        run_sweep(sweep(text.format("topoopt")), tmp_path / "r.duckdb", crew)
        (first,) = active_children()
        again = run_sweep(sweep(text.format("[topoopt, torus, rail]")), tmp_path / "r.duckdb", crew)
        assert (again.found, again.by_status) == (1, {"ok": 2})
        assert active_children() == [first]
        first.kill()
        first.join()
        after = run_sweep(sweep(text.format("[ideal-switch, expander]")), tmp_path / "r.duckdb", crew)
        assert after.by_status == {"failed": 1, "ok": 1}
    assert not active_children()
