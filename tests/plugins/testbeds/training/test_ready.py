"""What a machine lacks is said before anything takes time."""

import pytest

import topoopt
from topoopt.base import limits as memory
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.plugins.testbeds.training import ranks as ready


def test_more_processes_than_memory_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "available_bytes", lambda: 2e9)
    ready.check_processes(26)  # 0.4 GB and 26 times 60 MB: 1.96 GB
    with pytest.raises(Infeasible, match=r"27 PyTorch processes: needs .* fewer servers"):
        ready.check_processes(27)


def test_without_root_nothing_is_planned(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse() -> None:
        raise InvalidInput("testbed: making network namespaces needs root; run it as root (sudo)")

    monkeypatch.setattr(ready, "need_pytorch", lambda: None)
    monkeypatch.setattr(ready, "check_machine", refuse)
    said: list[str] = []
    with pytest.raises(InvalidInput, match="needs root"):
        topoopt.testbed.run(on_progress=lambda stage, done, total: said.append(stage))
    assert said == []
