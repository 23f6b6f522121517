"""``topoopt.report`` writes the page of any answer."""

from pathlib import Path

import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed
from topoopt.base.errors import InvalidInput


@pytest.fixture(scope="module")
def plan() -> topoopt.Plan:
    return topoopt.plan("dlrm", servers=8, degree=2, fabrics=(), budget=0)


def test_a_plan_and_its_file_become_the_same_page(
    printed: Printed, plan: topoopt.Plan, tmp_path: Path
) -> None:
    file, first, second = (str(tmp_path / name) for name in ("plan.json", "first.html", "second.html"))
    topoopt.write_plan(file, plan)
    document = printed("report", file, "--out", first)
    written = topoopt.report(topoopt.read_plan(file), second)
    assert document == {**written.to_json(), "file": file, "out": first}
    assert Path(first).read_bytes() == Path(second).read_bytes()


def test_any_other_answer_becomes_a_page(tmp_path: Path) -> None:
    written = topoopt.report(topoopt.cost(fabrics=["topoopt"]), tmp_path / "cost.html")
    assert [chart.name for chart in written.page.charts] == ["price_by_fabric"]
    assert "Price by part" in (tmp_path / "cost.html").read_text()
    assert "report of a cost" in topoopt.page_text(topoopt.page_of(written))


@pytest.mark.parametrize("ask", [topoopt.models, topoopt.hardware], ids=["models", "hardware"])
def test_a_page_without_a_title_is_called_by_its_kind(ask: object, tmp_path: Path) -> None:
    written = topoopt.report(ask(), tmp_path / "list.html")  # type: ignore[operator]
    assert f"<h1>{written.page.kind}</h1>" in (tmp_path / "list.html").read_text()


def test_what_is_no_answer_is_told_so() -> None:
    with pytest.raises(InvalidInput, match="int: not an answer of a verb"):
        topoopt.report(3)
