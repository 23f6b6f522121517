"""``docs/reproduction.md`` says what the studies find today, and shows every one of them."""

import re
from pathlib import Path

import pytest

from tests.plugins.papers.studies_run import QUICK_ONES, marked, run
from topoopt.plugins.papers import STUDIES, Comparison, Figure, page, section

DOCS = Path(__file__).parents[3] / "docs"
WRITTEN = DOCS / "reproduction.md"
LARGEST_PICTURE_BYTES = 100_000
pytestmark = pytest.mark.reproduction


@pytest.mark.parametrize("name", marked(QUICK_ONES))
def test_the_page_holds_what_the_study_finds(name: str) -> None:
    assert section(run(name)) in WRITTEN.read_text(), "run make reproduction"


def test_every_study_has_its_part_of_the_page() -> None:
    found = re.findall(r"^## (\w+)$", WRITTEN.read_text(), flags=re.MULTILINE)
    assert found == [name for name, entry in STUDIES.items() if not entry.measured]


def test_nothing_on_the_page_is_missed() -> None:
    assert "| **no** |" not in WRITTEN.read_text()


def test_every_picture_is_there_and_small() -> None:
    shown = re.findall(r'<img src="([^"]+)" alt="[^"]+"', WRITTEN.read_text())
    assert shown
    assert len(set(shown)) == len(shown)
    for picture in shown:
        assert (DOCS / picture).stat().st_size < LARGEST_PICTURE_BYTES, picture
    drawn = {path.name for path in (DOCS / "pictures" / "reproduction").iterdir()}
    assert drawn == {Path(picture).name for picture in shown}, "a picture that no figure has any more"


def test_a_missed_value_stands_out_and_reasons_are_given_once() -> None:
    rows = tuple(
        Comparison(what, "s", ours, 1.0, 1.5, 0.1, "a | talk", "It was late.")
        for what, ours in (("early", 1.2), ("late", 2.0))
    )
    text = page([Figure("fig13", "Tax", (), rows, (), ("A note.",))])
    assert "| 1 | early, s | 1.2 | 1–1.5 | 1.000 | 10% | yes | a / talk |" in text
    assert "| 2 | late, s | 2 | 1–1.5 | 1.333 | 10% | **no** | a / talk |" in text
    assert "- Rows 1, 2: It was late." in text
    assert "- A note." in text
    assert "| [fig13](#fig13) | Tax | 1 of 2 met |" in text
