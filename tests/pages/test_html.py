"""The file: every figure has its place, nothing is fetched, whatever a user wrote is text."""

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job, operators_of
from topoopt.pages import BarChart, Facts, Page, Section, Series, Table, Tile, html, make_page, write_report
from topoopt.pages.report_files import widths
from topoopt.plans import Plan, plan_from_mapping, plan_to_mapping
from topoopt.search import SearchOptions, make_plan
from topoopt.workloads import load_model

EMPTY_TAGS = {"meta", "br", "input", "link", "img"}
LARGEST_BYTES = 1_000_000
NASTY = "</script><script>alert('x')</script><img src=x onerror=alert(1)> & \"quoted\""


class Read(HTMLParser):
    """What is in a page: tags in pairs, attributes, scripts, text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, dict[str, str]]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes.append((tag, {key: value or "" for key, value in attrs}))
        if tag not in EMPTY_TAGS:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.text.append(data)


@pytest.mark.parametrize("kind", ["plan", "comparison", "cluster", "shared link"])
def test_a_page_is_well_formed_and_every_figure_has_one_place(kind: str, pages: dict[str, Page]) -> None:
    page = pages[kind]
    read = Read(html(page))
    assert read.open == []
    places = [attributes["data-chart"] for _, attributes in read.attributes if "data-chart" in attributes]
    figures = json.loads(read.scripts[0])
    assert places == [figure["name"] for figure in figures] == [chart.name for chart in page.charts]
    assert len(places) == len(set(places))
    ids = [attributes["id"] for _, attributes in read.attributes if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = {attributes["href"] for tag, attributes in read.attributes if tag == "a"}
    assert links == {f"#{key}" for key in ["content", *(section.key for section in page.sections)]}


@pytest.mark.parametrize("kind", ["plan", "comparison", "cluster", "shared link"])
def test_nothing_in_a_page_points_elsewhere(kind: str, pages: dict[str, Page]) -> None:
    text = html(pages[kind])
    for tag, attributes in Read(text).attributes:
        assert not {"src", "srcset", "action", "data", "poster"} & set(attributes), tag
        assert attributes.get("href", "#").startswith("#")
        assert tag not in {"link", "iframe", "img", "base", "object", "form"}
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)
    assert style is not None
    assert "url(" not in style[1]
    assert "@import" not in style[1]


def test_the_policy_lets_in_the_scripts_of_the_page_and_nothing_else(plan_page: Page) -> None:
    read = Read(html(plan_page))
    policy = next(
        a["content"] for _, a in read.attributes if a.get("http-equiv") == "Content-Security-Policy"
    )
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    digests = [
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in read.scripts[1:]
    ]
    assert rules["script-src"].split() == digests
    assert len(digests) == 1


def test_equal_pages_give_equal_bytes_without_a_clock(plan: Plan) -> None:
    read = plan_from_mapping(json.loads(json.dumps(plan_to_mapping(plan))))
    assert html(make_page(plan)) == html(make_page(read))


def test_a_page_names_every_operator_every_fabric_and_every_input(plan: Plan, plan_page: Page) -> None:
    said = "\n".join(Read(html(plan_page)).text)
    for operator in operators_of(plan.job).graph.operators:
        assert operator.name in said
    for baseline in plan.baselines:
        assert baseline.description in said
    for word in ("sha256:00ff", plan.provenance.version, "proportional", "a100"):
        assert word in said
    figures = json.loads(Read(html(plan_page)).scripts[0])
    circle = next(figure for figure in figures if figure["kind"] == "circle")
    assert circle["servers"] == len(circle["places"]) == plan.job.cluster.servers


def test_what_a_user_wrote_is_text_wherever_it_stands() -> None:
    chart = BarChart("bars", NASTY, NASTY, NASTY, (Series(NASTY, (NASTY,), (1.0,)),), note=NASTY)
    table = Table(NASTY, (NASTY, "b"), ((NASTY, NASTY),))
    facts = Facts(NASTY, ((NASTY, NASTY),))
    section = Section("one", NASTY, NASTY, (chart, table, facts))
    text = html(Page(NASTY, NASTY, NASTY, (Tile(NASTY, NASTY, NASTY),), (NASTY,), (section,)))
    read = Read(text)
    assert read.open == []
    assert len(read.scripts) == 2
    assert {"img"}.isdisjoint({tag for tag, _ in read.attributes})
    assert not any("onerror" in attributes for _, attributes in read.attributes)
    assert "".join(read.text).count(NASTY) >= 12
    json.loads(read.scripts[0])
    assert "<" not in read.scripts[0]


def test_a_model_with_a_nasty_name_is_shown(plan: Plan) -> None:
    work = operators_of(plan.job)
    operators = (replace(work.graph.operators[0], name=NASTY), *work.graph.operators[1:])
    graph = replace(work.graph, name=NASTY, operators=operators)
    job = replace(plan.job, work=replace(work, graph=graph))
    read = Read(html(make_page(replace(plan, job=job))))
    assert NASTY in "".join(read.text)
    assert len(read.scripts) == 2


def test_a_half_that_stands_alone_is_as_wide_as_the_page() -> None:
    half = BarChart("a", "A", "", "", (Series("s", ("u", "v"), (1.0, 2.0)),))
    whole = Table("t", ("a", "b", "c", "d", "e"), ())
    assert widths([half, half, half, whole, half]) == ["half", "half", "whole", "whole", "whole"]


def test_a_page_of_128_servers_is_small(tmp_path: Path) -> None:
    job = make_job(load_model("dlrm", servers=128), ClusterSpec(128, 4, 100e9), JobSettings())
    plan = make_plan(job, SearchOptions(budget=0, chains=1, wirings="strides"), fabrics=())
    size_bytes = write_report(tmp_path / "report.html", make_page(plan))
    assert size_bytes == (tmp_path / "report.html").stat().st_size < LARGEST_BYTES


def test_a_place_that_cannot_be_written_is_one_line(plan_page: Page, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="does not exist"):
        write_report(tmp_path / "missing" / "report.html", plan_page)
