"""``topoopt.fail`` on wirings of any family: what is repaired, also where the wiring is a file's."""

from pathlib import Path

import pytest

import topoopt


def _plan(path: Path, servers: int, degree: int, links: str, family: str) -> topoopt.Plan:
    topoopt.write_wiring(path, topoopt.topology(servers, degree, links=links, family=family, budget=0.1))
    words = {"servers": servers, "degree": degree, "links": links, "wiring": path}
    return topoopt.plan("dlrm", fabrics=(), budget=10, **words)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("servers", "degree", "links", "family"),
    [(16, 4, "duplex", "lifted"), (16, 3, "duplex", "lifted"), (12, 3, "directed", "kautz")],
)
def test_links_servers_and_panels_of_any_wiring_are_repaired(
    tmp_path: Path, servers: int, degree: int, links: str, family: str
) -> None:
    plan = _plan(tmp_path / "wiring.json", servers, degree, links, family)
    (tmp_path / "wiring.json").unlink()  # a plan needs no file but its own
    topology = plan.fabric.topology
    ends = int(topology.src[3]), int(topology.dst[3])
    for failure in ({"link": ends}, {"server": 3}, {"panel": 1}):
        answer = topoopt.fail(plan, **failure)
        assert isinstance(answer, topoopt.FailureAnswer)
        repaired_s = answer.prediction.chosen.iteration_time_s
        assert repaired_s is not None
        assert repaired_s >= plan.outcome.iteration_time_s * 0.99  # fewer links can be taken more evenly
    answer = topoopt.fail(plan, server=3, without=("spare",))
    assert isinstance(answer, topoopt.FailureAnswer)
    chosen = answer.prediction.chosen
    assert chosen.way.name == "fewer-servers"  # by the plan's family, by lifted cycles or along strides
    assert chosen.moved_fibers < servers * degree
