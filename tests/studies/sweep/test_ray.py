"""Points on a real Ray cluster of this machine give the same rows."""

import sys
from pathlib import Path

import pytest

from tests.studies.sweep.conftest import TINY, MakeSweep, here
from tests.studies.sweep.test_killed import figures
from topoopt.base.errors import InvalidInput
from topoopt.studies.sweep import ray_cluster, run_sweep


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_local_ray_gives_the_rows_that_one_process_gives(sweep: MakeSweep, tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is an extra: pip install topoopt[ray]")
    made = sweep(TINY)
    run_sweep(made, tmp_path / "here.duckdb", here)
    assert run_sweep(made, tmp_path / "ray.duckdb", ray_cluster("local", 1)).by_status == {"ok": 4}
    assert figures(tmp_path / "here.duckdb") == figures(tmp_path / "ray.duckdb")


def test_without_ray_one_line_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidInput, match=r'ray: Ray is not installed; pip install "topoopt\[ray\]"'):
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
