"""Traces of CASSINI's evaluation by the word ``trace_preset``."""

from importlib import import_module
from pathlib import Path

import pytest

import topoopt

MACHINE = {
    "servers": 24,
    "degree": 1,
    "bandwidth": "50Gbps",
    "accelerators_per_server": 1,
    "fabrics": ["ideal-switch"],
}


def test_a_snapshot_is_drawn_run_and_written(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv"
    words = {"trace_preset": "snapshot-3", "save_trace": str(path), **MACHINE}
    result = topoopt.cluster.run(**words)  # type: ignore[arg-type]
    (run,) = result.fabrics
    assert {job.job for job in run.jobs} == {"vgg19-1", "vgg16-2"}
    again = topoopt.cluster.run(str(path), **MACHINE)  # type: ignore[arg-type]
    assert again.fabrics[0].jobs == run.jobs


def test_a_poisson_trace_has_the_load_of_the_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("topoopt.clusters.cassini_trace"), "PILOT", 40)
    path = tmp_path / "trace.csv"
    words = {
        "trace_preset": "poisson",
        "load": 0.4,
        "seed": 1,
        "horizon": "12min",
        "save_trace": str(path),
        **MACHINE,
    }
    result = topoopt.cluster.run(generate=True, **words)  # type: ignore[arg-type]
    lines = path.read_text().splitlines()
    assert len(lines) - 1 == len(result.fabrics[0].jobs)
    # 24 servers, 7 a job for 600 iterations of 0.1 to 0.6 s: 2 to 10 jobs in 12 minutes.
    assert 2 <= len(lines) - 1 <= 10


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"trace_preset": "snapshot-9"}, "trace_preset: unknown name"),
        ({"trace_preset": "dynamic", "load": 0.8}, "load: the trace dynamic says it; leave one of them out"),
        ({"trace_preset": "poisson", "mix": "default"}, "mix: the trace poisson says it"),
        ({"trace_preset": "poisson", "load": -1.0}, "load: expected a number > 0, got -1"),
    ],
)
def test_words_that_do_not_go_with_it_are_one_line(words: dict[str, object], message: str) -> None:
    with pytest.raises(topoopt.InvalidInput, match=message):
        topoopt.cluster.run(generate=True, **words)  # type: ignore[arg-type]
