"""Tables in any terminal: nothing is broken in the middle, nothing is wider than it must be."""

import pytest

from tests.frontends.cli.conftest import Topoopt
from topoopt.pages.terminal import column_blocks

HEADINGS = ("fabric", "iteration time", "what it is")
ROWS = [("ideal-switch", "18.02 ms", "one non-blocking switch of full bandwidth")]


def test_what_fits_is_one_block_at_its_own_width() -> None:
    assert column_blocks(HEADINGS, ROWS, ("iteration time",), 110) == [{0: 12, 1: 14, 2: 41}]


def test_sentences_are_wrapped_before_headings() -> None:
    (block,) = column_blocks(HEADINGS, ROWS, ("iteration time",), 60)
    assert block == {0: 12, 1: 9, 2: 31}


def test_what_does_not_fit_goes_on_below_with_its_first_column() -> None:
    assert column_blocks(HEADINGS, ROWS, ("iteration time",), 45) == [{0: 12, 1: 14}, {0: 12, 2: 28}]


@pytest.mark.parametrize("words", [("hardware",), ("models",), ("models", "dlrm")], ids=" ".join)
def test_no_word_of_a_table_is_broken_at_any_width(
    topoopt: Topoopt, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", "1000")
    whole = set(topoopt(*words).out.split())
    for width in (40, 80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        narrow = topoopt(*words).out
        assert {word for word in narrow.split() if "─" not in word} <= whole, width
        tables = [line for line in narrow.splitlines() if line.startswith(" ")]
        assert all(len(line) <= max(width, 60) for line in tables), width


def test_no_line_ends_in_spaces(topoopt: Topoopt) -> None:
    for words in (("hardware",), ("models",), ("topology", "--servers", "16", "--degree", "4")):
        assert [line for line in topoopt(*words).out.splitlines() if line != line.rstrip()] == []
