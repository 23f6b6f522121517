"""A process that dies takes one point with it, and the next run computes that one."""

from multiprocessing import active_children
from pathlib import Path

from tests.studies.sweep.conftest import MakeSweep
from topoopt.studies.sweep import kept_processes, open_results, query, run_sweep


def test_kept_processes_wait_for_more_and_one_that_dies_takes_one_point_with_it(
    sweep: MakeSweep, tmp_path: Path
) -> None:
    text, file = "models: vgg16\nservers: 4\ndegree: 2\nbudget: 20\nfabrics: {}\n", tmp_path / "r.duckdb"
    with kept_processes(1) as crew:
        run_sweep(sweep(text.format("topoopt")), file, crew)
        (first,) = active_children()
        again = run_sweep(sweep(text.format("[topoopt, rail]")), file, crew)
        assert (again.found, again.by_status) == (1, {"ok": 1})
        assert active_children() == [first]
        first.kill()
        first.join()
        many = sweep(text.format("[ideal-switch, torus, expander]"))
        assert run_sweep(many, file, crew).by_status == {"failed": 1, "ok": 2}
        with open_results(file) as results:
            ((error,),) = query(results, "SELECT error FROM points WHERE status = 'failed'").rows
        assert "the process that computed it ended (signal 9)" in error
        assert run_sweep(many, file, crew).by_status == {"ok": 1}, "the next run computes it"
    assert not active_children()
