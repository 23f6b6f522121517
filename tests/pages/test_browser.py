"""Reports in headless Chromium: no complaint on its console, every figure drawn, and no request leaves the page.

The browser itself asks its maker for updates; a request counts only where a page has made it. That both checks can
fail is tested with a page that complains and asks.
"""

import re
from html import unescape
from pathlib import Path

import pytest

from tests.pages.browser import NEEDED, opened, with_script
from topoopt.pages import Page, html
from topoopt.pages.chart_layout import DARK

pytestmark = [pytest.mark.slow, NEEDED]


@pytest.mark.parametrize("kind", ["plan", "comparison", "cluster", "shared link", "ways of sharing"])
def test_every_figure_is_drawn_without_a_complaint_or_a_request(
    kind: str, pages: dict[str, Page], tmp_path: Path
) -> None:
    page = pages[kind]
    seen = opened(html(page), tmp_path)
    assert seen.complaints == []
    assert seen.requests == []
    assert seen.drawn == len(page.charts) > 0
    assert f'data-drawn="{len(page.charts)}"' in seen.dom
    plots = sum(chart.name != "topology" for chart in page.charts)
    assert len(re.findall(r'class="drawing \w+"', seen.dom)) == plots
    assert "could not be drawn" not in re.sub(r"<script.*?</script>", "", seen.dom, flags=re.DOTALL)


POINT_AT = """
addEventListener("load", () => setTimeout(() => {
  const svg = document.querySelector(".net svg");
  const at = (node) => {
    const box = svg.querySelectorAll("circle")[node].getBoundingClientRect();
    return { clientX: box.x + box.width / 2, clientY: box.y + box.height / 2, bubbles: true };
  };
  const keep = (name) => { document.body.dataset[name] = document.querySelector(".said").textContent; };
  svg.dispatchEvent(new PointerEvent("pointermove", at(2)));
  keep("server");
  svg.dispatchEvent(new MouseEvent("click", at(2)));
  svg.dispatchEvent(new PointerEvent("pointermove", at(7)));
  keep("pair");
  document.body.dataset.ways = svg.querySelectorAll(".way").length;
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape" }));
  svg.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  keep("key");
  const [from, to] = document.querySelectorAll(".pair input");
  from.value = 0; to.value = 5;
  to.dispatchEvent(new Event("input"));
  keep("typed");
  document.getElementById("theme").click();
  const styles = getComputedStyle(document.documentElement);
  document.body.dataset.color = styles.getPropertyValue("--c0").trim().toLowerCase();
  for (const one of document.querySelectorAll("details.numbers")) one.open = true;
}, 3000));
"""


def test_pointing_clicking_typing_and_the_theme(pages: dict[str, Page], tmp_path: Path) -> None:
    page = pages["plan"]
    seen = opened(with_script(html(page), POINT_AT), tmp_path)
    assert seen.complaints == []
    body = re.search(r"<body([^>]*)>", seen.dom)
    assert body is not None
    said = {name: unescape(text) for name, text in re.findall(r'data-(\w+)="([^"]*)"', body[1])}
    circle = next(chart for chart in page.charts if chart.name == "topology")
    neighbors = sorted(dst for src, dst, _, _ in circle.links if src == 2)  # type: ignore[union-attr]
    assert said["server"].startswith(f"Server 2 is linked to {', '.join(map(str, neighbors))}")
    assert said["pair"].startswith("2 → 7: ")
    route = next(route for route in circle.routes if route.dst == 5)  # type: ignore[union-attr]
    assert int(said["ways"]) == len(route.paths)
    for _, nodes in route.paths:
        assert " → ".join(str((node + 2) % circle.servers) for node in nodes) in said["pair"]  # type: ignore[union-attr]
        assert " → ".join(map(str, nodes)) in said["typed"]
    assert said["key"].startswith("Server 0 is linked to")
    assert 'data-theme="dark"' in seen.dom
    assert said["color"] == DARK[0].lower()
    assert re.search(r'<details class="numbers" open="">.*?<td>', seen.dom, re.DOTALL)


def test_the_checks_can_fail(tmp_path: Path) -> None:
    seen = opened(
        "<!doctype html><title>x</title><img src='http://example.invalid/a.png'>"
        "<script>console.error('broken')</script>",
        tmp_path,
    )
    assert any("broken" in line for line in seen.complaints)
    assert seen.requests == ["http://example.invalid/a.png"] * len(seen.requests) != []
