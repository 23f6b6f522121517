"""Charts in headless Chromium: what pointing, keys, dragging and clicks do to those of every kind."""

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from tests.pages import charts
from tests.pages.browser import NEEDED, opened, with_script
from topoopt.pages import Chart, Page, Section, html

pytestmark = [pytest.mark.slow, NEEDED]

ACT = """
addEventListener("load", () => setTimeout(() => {
  const said = {};
  const place = (name) => document.querySelector(`[data-chart="${name}"] .plot`);
  const tip = (name) => {
    const box = place(name).querySelector(".tip.shown");
    return box ? [...box.children].map((one) => one.textContent) : null;
  };
  const at = (svg, x, y, more = {}) => {
    const box = svg.getBoundingClientRect();
    return { clientX: box.x + x, clientY: box.y + y, bubbles: true, pointerId: 1, ...more };
  };
  const point = (name, x, y) => {
    const svg = place(name).querySelector("svg.drawing");
    svg.dispatchEvent(new PointerEvent("pointermove", at(svg, x * svg.clientWidth, y * svg.clientHeight)));
    return tip(name);
  };
  const key = (name, ...keys) => {
    const svg = place(name).querySelector("svg.drawing");
    for (const one of keys) svg.dispatchEvent(new KeyboardEvent("keydown", { key: one }));
    return tip(name);
  };
  const ticks = (name) => [...place(name).querySelectorAll(".tick")].map((one) => one.textContent);
  SCRIPT
  document.body.dataset.said = JSON.stringify(said);
}, 2500));
"""


def acted(folder: Path, script: str, *shown: Chart) -> dict[str, Any]:
    """Open a page with some charts, act, and return what was said."""
    page = Page("plan", "Charts", sections=(Section("one", "One", "", shown),))
    seen = opened(with_script(html(page), ACT.replace("SCRIPT", script)), folder)
    assert seen.complaints == []
    assert seen.drawn == len(shown)
    match = re.search(r'data-said="([^"]*)"', seen.dom)
    assert match is not None
    found: dict[str, Any] = json.loads(unescape(match[1]))
    return found


def test_pointing_and_keys_say_the_value_of_each_point(tmp_path: Path) -> None:
    said = acted(
        tmp_path,
        """
  said.line = key("bandwidth", "ArrowRight");
  said.next = key("bandwidth", "ArrowRight");
  said.gone = key("bandwidth", "Escape");
  said.bars = key("models", "ArrowLeft");
  said.under = point("memory", 0.5, 0.62);
  said.bar = point("iteration", 0.3, 0.3);
  said.cell = point("traffic", 0.2, 0.1);
  said.arc = key("circles", "ArrowRight", "ArrowRight");
  said.stage = key("stages", "ArrowRight");
  said.ticks = ticks("memory");
""",
        *(chart for chart in charts.every_kind() if chart.name != "topology"),
    )
    assert said["line"] == ["topoopt", "bandwidth of a link: 10 Gb/s", "iteration time: 90 ms"]
    assert said["next"] == ["topoopt", "bandwidth of a link: 25 Gb/s", "iteration time: 40 ms"]
    assert said["gone"] is None
    assert said["bars"] == ["VGG16", "published: 100.56 ms"]
    assert said["under"] == ["tp4", "weights: 60 GiB", "activations: 41 GiB", "together: 101 GiB"]
    assert said["bar"] == ["forward", "dense"]
    assert said["cell"] == ["from 0, to 0", "0 B"]
    assert said["arc"] == ["b", "b, <wraps>"]
    assert said["stage"][:3] == ["stage 0", "layers 0–7", "server 0"]
    assert said["stage"][3].startswith("10 ms a micro-batch, 77%")
    assert said["ticks"][:2] == ["tp8", "tp4"]
    assert {"0", "20 GiB", "100 GiB"} <= set(said["ticks"])


def test_charts_of_nothing_are_drawn_without_a_complaint(tmp_path: Path) -> None:
    said = acted(tmp_path, "said.tips = document.querySelectorAll('.tip').length;", *charts.EMPTY)
    assert said["tips"] == len(charts.EMPTY) - 2
    assert len({chart.name for chart in charts.EMPTY}) == len(charts.EMPTY)


def test_dragging_enlarges_and_a_click_on_a_name_hides(tmp_path: Path) -> None:
    said = acted(
        tmp_path,
        """
  const svg = () => place("iteration").querySelector("svg.drawing");
  const drawing = svg();
  drawing.setPointerCapture = () => {};
  const mouse = { pointerType: "mouse", button: 0 };
  said.before = ticks("iteration").at(-1);
  drawing.dispatchEvent(new PointerEvent("pointerdown", at(drawing, 200, 40, mouse)));
  drawing.dispatchEvent(new PointerEvent("pointermove", at(drawing, 400, 40, mouse)));
  said.box = Boolean(drawing.querySelector(".drag"));
  drawing.dispatchEvent(new PointerEvent("pointerup", at(drawing, 400, 40, mouse)));
  said.after = ticks("iteration").at(-1);
  said.redrawn = drawing !== svg();
  place("iteration").querySelector("button.whole").click();
  said.whole = ticks("iteration").at(-1);
  const bars = () => place("models").querySelectorAll("rect.bar").length;
  said.bars = bars();
  place("models").querySelector(".legend button").focus();
  place("models").querySelector(".legend button").click();
  said.hidden = bars();
  said.focus = document.activeElement === place("models").querySelector(".legend button");
  said.pressed = place("models").querySelector(".legend button").getAttribute("aria-pressed");
  place("models").querySelector(".legend button").click();
  said.again = bars();
""",
        charts.bars_over_time(),
        charts.bars(),
    )
    assert said["before"] == said["whole"] == "1.8 s"
    assert said["after"].endswith(" ms")
    assert said["box"]
    assert said["redrawn"]
    assert said["focus"], "who goes through names by keys stays where he was"
    assert (said["bars"], said["hidden"], said["pressed"], said["again"]) == (2, 0, "false", 2)


def test_an_unrolled_network_says_links_and_routes(tmp_path: Path) -> None:
    said = acted(
        tmp_path,
        """
  const [matrix, strips] = place("topology").querySelectorAll(".net svg");
  const text = () => place("topology").querySelector(".said").textContent;
  matrix.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight" }));
  said.server = text();
  said.near = strips.querySelectorAll("rect.near").length;
  said.ends = strips.querySelectorAll("rect.end").length;
  said.lit = matrix.querySelectorAll("circle.lit").length;
  strips.closest("details").open = true;
  const box = strips.querySelectorAll("rect.cell")[5].getBoundingClientRect();
  strips.dispatchEvent(new PointerEvent("pointermove", { clientX: box.x + 3, clientY: box.y + 3, bubbles: true }));
  said.cell = text();
  const [from, to] = place("topology").querySelectorAll(".pair input");
  from.value = 0; to.value = 2;
  to.dispatchEvent(new Event("input"));
  said.route = text();
  said.dots = [...matrix.querySelectorAll("path.link")].map((one) => one.getAttribute("d").split("M").length - 1);
""",
        charts.circle(130),
    )
    assert said["server"].startswith("Server 0 is linked to 1, 129, 3, 127 and puts 4 MB on its links")
    assert (said["near"], said["ends"], said["lit"]) == (2 * 4, 2, 4)
    assert said["cell"].startswith("Server 5 is linked to 6, 4, 8, 2")
    assert said["route"] == "0 → 2: 2 links, 2 paths0 → 1 → 2 (50%)0 → 7 → 2 (50%)"
    assert said["dots"] == [260, 260]


def test_each_group_of_rings_has_a_matrix_and_the_printer_gets_filled_squares(tmp_path: Path) -> None:
    said = acted(
        tmp_path,
        """
  const svg = place("topology").querySelector(".net svg");
  said.titles = [...svg.querySelectorAll("text.title")].map((one) => one.textContent);
  said.frames = svg.querySelectorAll("rect.frame").length;
  const links = [...svg.querySelectorAll("path.link")];
  said.links = links.map((one) => [one.getAttribute("d").split("Z").length - 1, getComputedStyle(one).fill !== "none"]);
  said.folded = !place("topology").querySelector("details.strips").open;
  const frame = svg.querySelectorAll("rect.frame")[1].getBoundingClientRect();
  svg.dispatchEvent(new PointerEvent("pointermove", { clientX: frame.x + 2, clientY: frame.y + 1, bubbles: true }));
  said.lit = svg.querySelectorAll("circle.lit").length;
""",
        charts.circle(130, groups=("group A", "group B")),
    )
    assert said["titles"] == ["group A", "group B"]
    assert said["frames"] == 2
    assert said["links"] == [[260, True], [260, True]]
    assert said["folded"]
    assert said["lit"] == 2 * 4, "a server's links are lit in every matrix"


@pytest.mark.parametrize("width", [360, 1366])
def test_no_text_of_a_chart_leaves_its_card(width: int, tmp_path: Path) -> None:
    long = "a name of a configuration that is far too long for any axis of a chart on a phone"
    bars = charts.bars(horizontal=True)
    named = replace(
        bars, name="long", series=tuple(replace(one, x=(long, *one.x[1:])) for one in bars.series)
    )
    script = """
  said.out = [];
  for (const one of document.querySelectorAll("figure text")) {
    const box = one.getBoundingClientRect(), card = one.closest("figure").getBoundingClientRect();
    const visible = getComputedStyle(one).visibility !== "hidden" && one.textContent;
    if (visible && (box.left < card.left - 1 || box.right > card.right + 1)) said.out.push(one.textContent);
  }
  said.many = document.querySelectorAll("figure text").length;
"""
    shown = (*charts.every_kind(), named)
    section = Page("plan", "Charts", sections=(Section("one", "One", "", shown),))
    text = with_script(html(section), ACT.replace("SCRIPT", script))
    text = text.replace("<body>", f'<body style="width: {width}px">')
    seen = opened(text, tmp_path)
    match = re.search(r'data-said="([^"]*)"', seen.dom)
    assert match is not None
    said = json.loads(unescape(match[1]))
    assert said["many"] > 60
    assert said["out"] == []
