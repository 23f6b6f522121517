"""The page in a real browser: by mouse, by keys, on a phone, in the dark, for a screen reader, without its server."""

import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from tests.frontends.web.conftest import LONGEST_S, Running

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
HAS_PLAYWRIGHT = find_spec("playwright") is not None and find_spec("axe_playwright_python") is not None
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed here"),
    pytest.mark.skipif(
        not HAS_PLAYWRIGHT, reason="playwright and axe-playwright-python are not installed here"
    ),
]
SMALL = "?model=llama3-8b&servers=8&degree=4&bandwidth=400Gbps"
DESKTOP, PHONE = {"width": 1366, "height": 900}, {"width": 390, "height": 844}


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everywhere

    with sync_playwright() as library:
        one = library.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield one
        one.close()


@pytest.fixture
def opened(browser: Any) -> Iterator[Callable[..., Any]]:
    """What opens a page, and at the end sees that it has not complained and asked nobody else."""
    with ExitStack() as stack:
        yield lambda address, complains=False, **words: stack.enter_context(
            _Page(browser, address, complains, words)
        )


class _Page:
    def __init__(self, browser: Any, address: str, complains: bool, words: dict[str, Any]) -> None:
        self.browser, self.address, self.complains, self.words = browser, address, complains, words
        self.said: list[str] = []

    def __enter__(self) -> Any:
        self.context = self.browser.new_context(**{"viewport": DESKTOP, **self.words})
        page = self.context.new_page()
        page.set_default_timeout(1000 * LONGEST_S)
        page.on(
            "console", lambda one: self.said.append(one.text) if one.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda one: self.said.append(str(one)))
        page.on("request", lambda one: self._heed(one.url))
        page.goto(self.address)
        page.wait_for_selector("body[data-answered]")
        return page

    def _heed(self, url: str) -> None:
        if not url.startswith((self.address.split("?")[0].rstrip("/"), "data:", "blob:")):
            self.said.append(f"asked {url}")

    def __exit__(self, *error: object) -> None:
        self.context.close()
        assert self.complains or self.said == []


def answered(page: Any, *, after: Callable[[], Any]) -> None:
    """Do something that asks another question, and wait for its answer."""
    before = page.get_attribute("body", "data-answered")
    after()
    page.wait_for_selector(f'body:not([data-answered="{before}"])')


def test_the_first_answer_says_which_network_how_long_how_much_and_why(
    studio: Running, opened: Callable[..., Any]
) -> None:
    page = opened(studio.url)
    said = page.inner_text("#sentence")
    assert re.search(r"TopoOpt|rail|network|fat-tree|expander", said)
    assert re.search(r"takes about [\d.]+ m?s an iteration", said)
    assert re.search(r"costs \$[\d.]+ [kMG]", said)
    assert "dearer" in page.inner_text("#reason")
    assert page.locator("#pareto svg.drawing .mark").count() >= 5
    assert page.locator("#parts svg.drawing rect.bar").count() >= 5
    assert "within" in page.inner_text("#accuracy")
    assert page.locator("#numbers tbody tr").count() >= 5
    assert "stride" in page.get_attribute("#topology", "aria-label") or "server" in page.get_attribute(
        "#topology", "aria-label"
    )


def test_a_slider_asks_at_once_and_the_address_holds_the_question(
    studio: Running, opened: Callable[..., Any]
) -> None:
    page = opened(studio.url + SMALL)
    before = page.inner_text("#sentence")
    answered(page, after=lambda: page.fill("#slide-degree", "1"))
    assert page.input_value("#field-degree") == "2"
    assert "degree=2" in page.url
    after = page.inner_text("#sentence")
    assert before != after
    assert opened(page.url).inner_text("#sentence") == after


def test_a_click_on_a_bar_or_a_dot_looks_into_its_fabric(studio: Running, opened: Callable[..., Any]) -> None:
    page = opened(studio.url + SMALL)
    page.locator("#parts svg.drawing rect.bar").last.click()
    chosen = page.get_attribute('#fabrics button[aria-pressed="true"]', "data-fabric")
    slowest = page.locator("#parts svg.drawing text.tick.end").last.text_content()
    assert page.inner_text('#fabrics button[aria-pressed="true"]') == slowest
    page.focus("#pareto svg.drawing")
    for _ in range(12):
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("Enter")
        if page.get_attribute('#fabrics button[aria-pressed="true"]', "data-fabric") != chosen:
            break
    assert page.get_attribute('#fabrics button[aria-pressed="true"]', "data-fabric") != chosen


def test_the_topology_morphs_to_other_rings(studio: Running, opened: Callable[..., Any]) -> None:
    page = opened(
        studio.url + "?model=llama3-8b&servers=64&degree=2&bandwidth=400Gbps", reduced_motion="no-preference"
    )
    picture = "document.getElementById('topology').toDataURL()"
    page.click('#fabrics button[data-fabric="topoopt"]')
    page.wait_for_timeout(600)
    first = page.evaluate(picture)
    answered(page, after=lambda: page.fill("#field-degree", "6"))
    pictures = {first}
    for _ in range(5):
        pictures.add(page.evaluate(picture))
        page.wait_for_timeout(60)
    page.wait_for_timeout(600)
    last = page.evaluate(picture)
    assert len(pictures | {last}) >= 3  # the first, the last, and at least one on the way
    assert page.evaluate(picture) == last


def test_a_mistake_is_beside_its_field_and_in_place_of_the_answer(
    studio: Running, opened: Callable[..., Any]
) -> None:
    page = opened(studio.url + SMALL, complains=True)  # a browser tells of each 422
    page.fill("#field-servers", "1")
    page.wait_for_selector("#field-servers-error:visible")
    assert page.inner_text("#field-servers-error") == "servers: expected an integer >= 2, got 1"
    assert page.get_attribute("#field-servers", "aria-invalid") == "true"
    assert page.inner_text("#reason") == "servers: expected an integer >= 2, got 1"
    answered(page, after=lambda: page.fill("#field-servers", "4"))
    assert page.locator("#tiles:visible").count() == 1
    assert page.locator("#field-servers-error:visible").count() == 0
    assert page.get_attribute("#field-servers", "aria-invalid") is None


WRONG = {
    "servers": "1",
    "degree": "0",
    "bandwidth": "fast",
    "accelerators_per_server": "0",
    "global_batch": "0",
    "seq": "0",
    "years": "0",
    "utilization": "2",
    "electricity_price": "-1",
    "server_price": "much",
}


def test_every_field_says_its_own_mistake_in_place_of_an_answer(
    studio: Running, opened: Callable[..., Any]
) -> None:
    page = opened(studio.url + SMALL, complains=True)
    before = page.inner_text("#sentence")
    page.evaluate("document.querySelectorAll('#question details').forEach((one) => { one.open = true; })")
    for field, value in WRONG.items():
        right = page.input_value(f"#field-{field}")
        page.fill(f"#field-{field}", value)
        page.wait_for_selector(f"#field-{field}-error:visible")
        said = page.inner_text(f"#field-{field}-error")
        assert said.startswith(field), said
        assert page.locator(".field .error:visible").count() == 1
        assert page.inner_text("#sentence") == "No answer to this question."
        assert page.locator("#tiles:visible").count() == 0
        page.fill(f"#field-{field}", right)
        page.wait_for_selector(f"#field-{field}-error", state="hidden")
    assert page.inner_text("#sentence") == before


def test_a_model_that_does_not_fit_offers_as_many_servers_as_hold_it(
    studio: Running, opened: Callable[..., Any]
) -> None:
    page = opened(studio.url + SMALL, complains=True)
    page.fill("#field-model", "llama3-405b")
    page.keyboard.press("Enter")
    page.wait_for_selector("body.refused")
    assert page.inner_text("#fix") == "Use 16 servers"
    answered(page, after=lambda: page.click("#fix"))
    assert page.input_value("#field-servers") == "16"
    assert page.locator("#tiles:visible").count() == 1


def test_models_are_found_by_typing_and_grouped_by_family(
    studio: Running, opened: Callable[..., Any]
) -> None:
    page = opened(studio.url + SMALL)
    box, shown = page.locator("#field-model"), page.locator("#field-model-list [role=option]:visible")
    box.click()
    assert box.get_attribute("aria-expanded") == "true"
    families = page.locator("#field-model-list .family").all_inner_texts()
    assert {"llama", "qwen", "gpt", "graphs of operators"} <= set(families)
    assert len(set(families)) == len(families)
    box.fill("qwen 30b")
    assert shown.all_inner_texts() == ["qwen3-30b-a3b"]
    assert box.get_attribute("aria-activedescendant") == shown.get_attribute("id")
    page.keyboard.press("Escape")
    assert box.input_value() == "llama3-8b"
    assert "model=llama3-8b" in page.url
    box.fill("no such")
    assert page.locator("#field-model-list").inner_text() == "no model of that name"
    box.fill("vgg")
    page.keyboard.press("ArrowDown")
    answered(page, after=lambda: page.keyboard.press("Enter"))
    assert "model=vgg11" in page.url or "model=vgg19" in page.url
    box.fill("llama3 8b")
    answered(page, after=shown.first.click)
    assert box.input_value() == "llama3-8b"
    page.go_back()
    page.wait_for_function("document.getElementById('field-model').value.startsWith('vgg')")


def test_back_reopens_the_plan_of_the_address_and_the_theme_is_remembered(
    studio: Running, opened: Callable[..., Any]
) -> None:
    page = opened(studio.url + "?model=llama3-8b&servers=4&degree=2&bandwidth=400Gbps")
    estimate = page.inner_text("#sentence")
    page.click("#plan")
    page.wait_for_selector("#command")
    planned = page.inner_text("#sentence")
    assert planned != estimate
    assert page.locator("#tiles .estimated, #numbers .estimated").count() >= 5
    assert page.locator("#numbers tr.chosen small:has-text('recommended')").count() == 1
    assert (
        page.evaluate("(one => one.scrollWidth - one.clientWidth)(document.getElementById('numbers'))") == 0
    )
    answered(page, after=lambda: page.fill("#field-degree", "4"))
    assert page.locator("#command:visible").count() == 0
    answered(page, after=page.go_back)
    page.wait_for_selector("#command")
    assert page.inner_text("#sentence") == planned
    before = page.get_attribute("html", "data-theme")
    page.click("#theme")
    page.reload()
    page.wait_for_selector("body[data-answered]")
    assert page.get_attribute("html", "data-theme") != before
    assert page.inner_text("#sentence") == planned
    with page.expect_download() as table:
        page.click("#csv")
    assert "torus" in Path(table.value.path()).read_text()
    with page.expect_download() as picture:
        page.click("#pareto-files >> text=PNG")
    assert Path(picture.value.path()).read_bytes()[:4] == b"\x89PNG"


def test_four_answers_are_kept_beside_each_other_and_in_the_address(
    studio: Running, opened: Callable[..., Any]
) -> None:
    page = opened(studio.url + SMALL)
    for degree in ("1", "2", "4", "8"):
        if page.input_value("#field-degree") != degree:
            answered(page, after=partial(page.fill, "#field-degree", degree))
        page.click("#keep")
    assert page.locator("#kept tbody tr").count() == 4
    assert page.is_disabled("#keep")
    again = opened(page.url)
    assert again.inner_text("#kept tbody") == page.inner_text("#kept tbody")
    page.click('[aria-label="Remove scenario B"]')
    assert page.locator("#kept tbody tr").count() == 3
    answered(page, after=lambda: page.click('[aria-label="Open scenario A"]'))
    assert page.input_value("#field-degree") == "1"


def test_a_plan_is_made_cancelled_and_downloaded(
    studio: Running, opened: Callable[..., Any], tmp_path: Path
) -> None:
    page = opened(studio.url + "?model=llama3-8b&servers=4&degree=2&bandwidth=200Gbps")
    page.click("#plan")
    page.wait_for_selector("#cancel")
    assert re.match(r"No answer yet|Best so far: [\d.]+ m?s an iteration on ", page.inner_text("#draft"))
    page.click("#cancel")
    page.wait_for_selector("#wired h2:has-text('Cancelled')")
    page.click("#plan")
    page.wait_for_selector("#command")
    assert page.inner_text("#command").startswith(
        "topoopt plan llama3-8b --servers 4 --degree 2 --bandwidth 200Gbps"
    )
    page.click('#fabrics button[data-fabric="topoopt"]')
    assert page.locator("#network svg .node").count() == 4  # the plan's own network, as the report draws it
    assert page.locator("#topology:visible").count() == 0
    with page.expect_download() as download:
        page.click("#wired a:has-text('plan.json')")
    download.value.save_as(tmp_path / "plan.json")
    assert '"topoopt-plan' in (tmp_path / "plan.json").read_text()[:200]
    page.click("#wired summary")
    page.frame_locator("#wired iframe").locator("h1").wait_for()
    with page.expect_popup() as popup:
        page.click("#wired a:has-text('Report')")
    popup.value.wait_for_selector("h1")
    assert "llama3-8b" in popup.value.inner_text("body")


def test_by_keys_alone(studio: Running, opened: Callable[..., Any]) -> None:
    """Tab goes through all that can be used, arrows move a slider, Enter presses, and the focus is seen."""
    page = opened(studio.url + SMALL)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    reached = []
    for _ in range(50):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate("document.activeElement.id || document.activeElement.dataset.fabric || ''")
        )
        if (
            reached[-1] == "slide-degree" and reached.count("slide-degree") == 1
        ):  # the way begins anew after the last
            answered(page, after=lambda: page.keyboard.press("ArrowRight"))
            assert page.input_value("#field-degree") == "5"
            assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
        if reached[-1] == "keep" and reached.count("keep") == 1:
            page.keyboard.press("Enter")
    assert page.locator("#kept tbody tr").count() == 1
    assert {
        "theme",
        "field-model",
        "slide-servers",
        "field-servers",
        "slide-degree",
        "keep",
        "plan",
        "topoopt",
    } <= set(reached)
    page.focus('#fabrics button[data-fabric="rail"]')
    page.keyboard.press("Enter")
    assert page.get_attribute('#fabrics button[data-fabric="rail"]', "aria-pressed") == "true"
    assert page.evaluate("document.activeElement.dataset.fabric") == "rail"


@pytest.mark.parametrize(
    ("viewport", "scheme"), [(DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light"), (PHONE, "dark")]
)
def test_a_screen_reader_is_told_all_names_and_colors_can_be_told_apart(
    studio: Running, opened: Callable[..., Any], viewport: dict[str, int], scheme: str
) -> None:
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415 - not everywhere

    page = opened(studio.url + SMALL, viewport=viewport, color_scheme=scheme, bypass_csp=True)
    page.click("#keep")
    assert page.get_attribute("html", "data-theme") == scheme
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []
    assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"]


def test_axe_can_find_something(studio: Running, opened: Callable[..., Any]) -> None:
    from axe_playwright_python.sync_playwright import Axe  # noqa: PLC0415 - not everywhere

    page = opened(studio.url + SMALL, bypass_csp=True)
    page.evaluate("document.querySelector('label[for=field-servers]').remove()")
    page.evaluate("document.getElementById('field-servers').removeAttribute('title')")
    assert "label" in {one["id"] for one in Axe().run(page).response["violations"]}


def test_a_phone_has_the_answer_first_and_fingers_find_what_they_press(
    studio: Running, opened: Callable[..., Any]
) -> None:
    page = opened(studio.url + SMALL, viewport=PHONE, has_touch=True, is_mobile=True)
    boxes = {
        name: page.locator(name).bounding_box() for name in ("#sentence", "#question", "#pareto", "#parts")
    }
    tops = [box["y"] for box in boxes.values() if box]
    assert tops == sorted(tops)
    for button in page.locator("button:visible").all():
        box = button.bounding_box()
        assert box["height"] >= 32


def test_the_page_of_the_api_is_made_of_the_document(studio: Running, browser: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(studio.url + "api")
    page.wait_for_selector("section h2")
    assert page.locator("h2", has_text="GET /api/estimate").count() == 1
    assert "bandwidth" in page.inner_text("main")
    context.close()


def test_a_killed_server_is_said_and_its_return_noticed(
    start: Callable[..., Any], opened: Callable[..., Any]
) -> None:
    with start() as first:
        page = opened(first.url + SMALL, complains=True)
        before = page.inner_text("#sentence")
        first.process.kill()
        first.process.wait(LONGEST_S)
        page.fill("#field-degree", "2")
        page.wait_for_selector("#gone:visible")
        assert "does not answer" in page.inner_text("#gone")
        assert page.inner_text("#sentence") == before
        with start("--port", str(first.port)):
            page.wait_for_selector("#gone", state="hidden")
            page.wait_for_selector('body[data-answered*="degree=2"]')
            assert page.inner_text("#sentence") != before


def test_a_token_opens_the_page_and_leaves_its_address(
    start: Callable[..., Any], opened: Callable[..., Any]
) -> None:
    with start("--token", "a-long-secret") as studio:
        page = opened(studio.url)
        assert "secret" not in page.url
        answered(page, after=lambda: page.fill("#field-degree", "2"))


ATTACK = """
const at = TARGET;
document.body.innerHTML = `<img src="${at}api/page?servers=16"><iframe src="${at}api/page?servers=32"></iframe>
<iframe name="into"></iframe><form target="into" method="post" enctype="text/plain" action="${at}api/plans">
<input name='{"servers": 4, "model' value='":"dlrm"}'></form><link rel="stylesheet" href="${at}api/page?servers=48">`;
document.forms[0].submit();
const script = document.createElement("script");
script.src = at + "api/estimate?servers=24";
document.body.append(script);
new EventSource(at + "api/plans/1/events");
new WebSocket(at.replace("http", "ws") + "api/plans");
navigator.sendBeacon(at + "api/plans", '{"servers": 8}');
const asked = ["api/estimate?servers=64", "api/page?servers=128"].map((path) => fetch(at + path, { mode: "no-cors" }));
asked.push(fetch(at + "api/estimate?servers=256").then((answer) => answer.text()));
asked.push(fetch(at + "api/plans", { method: "POST", mode: "no-cors", body: '{"servers": 4}' }));
return Promise.allSettled(asked).then((all) => all.map((one) => String(one.value ?? "refused").length));
"""


def test_a_page_of_another_origin_gets_nothing_and_costs_nothing(
    browser: Any, start: Callable[..., Any]
) -> None:
    """Another port of this host, and another name of it: what they ask for is refused before any work."""
    with (
        start() as studio,
        ThreadingHTTPServer(("127.0.0.1", 0), SimpleHTTPRequestHandler) as other,
        browser.new_context() as context,
    ):
        Thread(target=other.serve_forever, daemon=True).start()
        page = context.new_page()
        sent: list[str] = []
        statuses: list[tuple[str, int]] = []
        page.on("request", lambda one: sent.append(one.url))
        page.on("response", lambda one: statuses.append((one.url, one.status)))
        for name in ("127.0.0.1", "localhost"):
            page.goto(f"http://{name}:{other.server_port}/")
            got = page.evaluate(f"async () => {{{ATTACK.replace('TARGET', repr(studio.url))}}}")
            assert got[2:3] == [len("refused")]
        page.wait_for_timeout(500)
        asked = [status for url, status in statuses if url.startswith(studio.url)]
        assert set(asked) == {403}
        assert sum(url.startswith(studio.url) for url in sent) >= 2 * 9
        other.shutdown()
