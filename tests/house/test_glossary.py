"""The glossary says what a word means once, where a reader who knows the alphabet finds it."""

import re
from collections import Counter
from itertools import groupby
from pathlib import Path

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"


def sections(text: str) -> list[list[str]]:
    """The words of each section's table, a row's words together, without code type and capitals."""
    rows = [re.match(r"\| (?!word \|)(.+?) \|", line) for line in text.splitlines()]
    found = groupby(rows, key=lambda row: row is not None)
    return [
        [re.sub(r"[`*]", "", row[1]).lower() for row in rows if row] for is_table, rows in found if is_table
    ]


def words(text: str) -> list[str]:
    return [word for section in sections(text) for row in section for word in row.split(", ")]


def test_no_word_is_defined_twice() -> None:
    twice = [word for word, times in Counter(words(GLOSSARY.read_text())).items() if times > 1]
    assert not twice, "one row says it all, in the section where the word is met first"


def test_the_rows_of_a_section_are_sorted() -> None:
    for section in sections(GLOSSARY.read_text()):
        assert section == sorted(section)


def test_a_word_that_stands_twice_is_noticed() -> None:
    head = "| word | means here |\n|---|---|\n"
    text = f"{head}| `Rank`, stage | one |\n\n{head}| rank | two |\n"
    assert sections(text) == [["rank, stage"], ["rank"]]
    assert Counter(words(text))["rank"] == 2
