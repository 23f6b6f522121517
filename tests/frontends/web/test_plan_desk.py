"""The desk: plans wait for each other, and one that nobody looks at makes room."""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.frontends.web.conftest import LONGEST_S
from topoopt.frontends.web import PlanDesk, question_of

LONG = {"model": "dlrm", "servers": 64, "degree": 4, "bandwidth": "100Gbps"}


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[PlanDesk]:
    one = PlanDesk(tmp_path)
    yield one
    one.close()


def test_a_plan_that_nobody_looks_at_makes_room_for_others(
    desk: PlanDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.modules["topoopt.frontends.web.plan_desk"], "ABANDONED_S", 1.0)
    left = desk.ask(question_of(LONG), {"budget": 100_000_000}).key
    small = question_of({**LONG, "servers": 4})
    wanted = desk.ask(small, {"budget": 10}).key
    end_s = time.monotonic() + LONGEST_S
    while not desk.state(wanted)[0].is_over:
        assert time.monotonic() < end_s
        time.sleep(0.1)
    assert desk.state(wanted)[0].status == "done"
    assert desk.state(left)[0].message == "nobody looked at it"
