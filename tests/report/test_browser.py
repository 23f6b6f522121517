"""Reports in headless Chromium: no complaint on its console, every figure drawn, and no request leaves the page.

The browser itself asks its maker for updates; a request counts only where a page has made it. That both checks can
fail is tested with a page that complains and asks.
"""

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import pytest

from topoopt.report import Page, html
from topoopt.report.style import DARK

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here"),
]
LONGEST_S = 120


@dataclass(frozen=True)
class Seen:
    """What a browser made of a page."""

    dom: str
    complaints: list[str]
    requests: list[str]

    @property
    def drawn(self) -> int:
        return len(re.findall(r'<div class="plot[^"]*"[^>]* data-drawn="yes"', self.dom))


def opened(text: str, folder: Path) -> Seen:
    """Open a page from a file, without any network, until its scripts have nothing left to do."""
    page, log = folder / "page.html", folder / "net.json"
    page.write_text(text)
    command = [
        str(CHROMIUM),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--window-size=1366,768",
        "--virtual-time-budget=20000",
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--enable-logging=stderr",
        f"--log-net-log={log}",
        f"--user-data-dir={folder / 'profile'}",
        "--dump-dom",
        page.as_uri(),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LONGEST_S)
    assert done.returncode == 0, done.stderr[-2000:]
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Seen(done.stdout, complaints, _requests_of_pages(log))


def _requests_of_pages(log: Path) -> list[str]:
    """Return what pages have asked of a network; files and data are none, and the browser's own do not count."""
    found = []
    for event in json.loads(log.read_text())["events"]:
        said = event.get("params", {})
        by_a_page = said.get("initiator", "not an origin") != "not an origin"
        if by_a_page and str(said.get("url", "")).startswith(("http", "ws", "ftp")):
            found.append(said["url"])
    return found


def with_script(text: str, script: str) -> str:
    """Return a page with a script of the test, which its policy would not let in."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>\n', "", text)
    return text.replace("</body>", f"<script>{script}</script></body>")


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
