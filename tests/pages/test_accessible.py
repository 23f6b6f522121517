"""What axe, which knows the rules of WCAG, finds on reports: nothing that shuts out who hears them or goes by keys."""

import json
import re
from dataclasses import replace
from html import unescape
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.pages import charts
from tests.pages.browser import NEEDED, opened, with_script
from topoopt.pages import Page, Section, html

AXE = "axe_playwright_python"
pytestmark = [
    pytest.mark.slow,
    NEEDED,
    pytest.mark.skipif(find_spec(AXE) is None, reason=f"{AXE} is not installed here"),
]
RUN = """
addEventListener("load", () => setTimeout(() => {
  axe.run({ runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] }).then((found) => {
    const said = found.violations.map((one) => `${one.id}: ${one.nodes.length}, ${one.nodes[0].html.slice(0, 200)}`);
    document.body.dataset.said = JSON.stringify(said);
  });
}, 3000));
"""


def violations(text: str, folder: Path) -> list[str]:
    axe = files(AXE).joinpath("axe.min.js").read_text()
    seen = opened(with_script(with_script(text, axe), RUN), folder)
    match = re.search(r'data-said="([^"]*)"', seen.dom)
    assert match is not None, seen.complaints
    found: list[str] = json.loads(unescape(match[1]))
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_kind_of_chart(theme: str, tmp_path: Path) -> None:
    shown = (*charts.every_kind(), replace(charts.circle(130), name="many"))
    page = Page("plan", "Charts", "Of every kind.", sections=(Section("one", "One", "", shown),))
    text = html(page).replace('<html lang="en">', f'<html lang="en" data-theme="{theme}">')
    assert violations(text, tmp_path) == []


@pytest.mark.parametrize("kind", ["plan", "cluster"])
def test_reports(kind: str, pages: dict[str, Page], tmp_path: Path) -> None:
    assert violations(html(pages[kind]), tmp_path) == []


def test_axe_can_find_something(tmp_path: Path) -> None:
    found = violations(
        "<html lang='en'><title>x</title><body><main><button></button></main></body></html>", tmp_path
    )
    assert [one.split(":")[0] for one in found if "button" in one] == ["button-name"]
