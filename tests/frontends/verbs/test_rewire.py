"""``topoopt.rewire`` between wiring files, lists of links and plans of any family."""

from pathlib import Path

import pytest

import topoopt


def _written(path: Path, servers: int, degree: int, **words: object) -> Path:
    topoopt.write_wiring(path, topoopt.topology(servers, degree, **words))  # type: ignore[arg-type]
    return path


def test_ports_of_a_wiring_file_are_those_in_which_cables_are(tmp_path: Path) -> None:
    strides = _written(tmp_path / "strides.json", 16, 4, wirings="strides")
    lifted = _written(tmp_path / "lifted.json", 16, 4, family="lifted", budget=0.1)
    answer = topoopt.rewire(strides, str(lifted))
    assert answer.rewiring.moved_fibers <= 10  # a ring that stays would leave 16
    assert topoopt.rewire(lifted, lifted).rewiring.moved_fibers == 0
    kept = topoopt.rewire(strides, lifted, keep_running=True)
    assert (kept.order.cuts, kept.rewiring.gap, kept.rewiring.relabeled) == (0, 0, False)


def test_a_plan_on_a_file_needs_no_move(tmp_path: Path) -> None:
    file = _written(tmp_path / "wiring.json", 12, 4, family="lifted", budget=0.1)
    plan = topoopt.plan("dlrm", servers=12, degree=4, wiring=file, fabrics=(), budget=10)
    assert topoopt.rewire(plan, file).rewiring.moved_fibers == 0
    assert topoopt.rewire(file, plan).rewiring.moved_fibers == 0


def test_odd_ports_and_odd_servers(tmp_path: Path) -> None:
    rings = _written(tmp_path / "rings.json", 16, 4, wirings="strides")
    odd = _written(tmp_path / "odd.json", 16, 3, family="lifted", budget=0.1)
    assert topoopt.rewire(rings, odd).rewiring.moved_fibers < 24
    assert topoopt.rewire(odd, rings).to_json()["fibers_after"] == 32
    fifteen = _written(tmp_path / "fifteen.json", 15, 4, family="lifted", budget=0.1)
    answer = topoopt.rewire(rings, fifteen)
    assert "leaves 1 of 16 servers of" in answer.warnings[0]
    answer = topoopt.rewire(fifteen, _written(tmp_path / "ring.json", 15, 4, wirings="strides"))
    assert not answer.warnings
    assert answer.to_json()["interfaces_per_panel"] == 2


def test_directed_links_are_warned_of(tmp_path: Path) -> None:
    before = _written(tmp_path / "strides.json", 12, 3, links="directed", wirings="strides")
    after = _written(tmp_path / "kautz.json", 12, 3, links="directed", family="kautz")
    answer = topoopt.rewire(before, after)
    assert "patched apart" in answer.warnings[0]
    assert answer.to_json()["warnings"] == list(answer.warnings)
    assert answer.rewiring.moved_fibers < 36
    duplex = _written(tmp_path / "duplex.json", 12, 4, wirings="strides")
    with pytest.raises(topoopt.InvalidInput, match=r"links are directed, those of .*duplex.json duplex"):
        topoopt.rewire(duplex, after)


def test_a_plan_of_directed_links_says_so() -> None:
    plan = topoopt.plan("dlrm", servers=8, degree=2, links="directed", fabrics=(), budget=10)
    assert "patched apart" in str(plan)
