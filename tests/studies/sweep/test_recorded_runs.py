"""What a run has sent is a model of a sweep, by whatever name its file has."""

from pathlib import Path

from tests.studies.sweep.conftest import MakeSweep
from topoopt.studies.sweep import Task, solve

LOG = (Path(__file__).parents[3] / "examples" / "recorded" / "nccl.log").read_text()
SIZE = "servers: 2\naccelerators_per_server: 4\nbandwidth: [100 Gbps, 200 Gbps]\nfabrics: ideal-switch\n"


def test_a_log_of_nccl_is_a_model_whatever_its_ending(sweep: MakeSweep, tmp_path: Path) -> None:
    times_s: list[list[float]] = []
    for name in ("run.log", "run.out"):
        (tmp_path / name).write_text(LOG)
        made = sweep(f"models: {name}\n{SIZE}")
        answers = list(solve(Task(made.points, made.folder)))
        assert [answer.error for answer in answers] == ["", ""]
        assert all(point.inputs.startswith(f"{name}=sha256:") for point in made.points)
        times_s.append([answer.values["iteration_time_s"] for answer in answers])
    assert times_s[0] == times_s[1]
    assert times_s[0][0] > times_s[0][1]
