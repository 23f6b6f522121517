"""A small part of ``make fuzz``: spoiled files and flags end in an answer or in one line."""

from pathlib import Path

import pytest

from fuzz.run import run
from fuzz.subjects import READERS, WORDS, verbs

LONGEST_S = 600.0


def test_every_verb_is_fuzzed_with_words_that_work() -> None:
    assert {verb for verb, _ in verbs()} == set(WORDS)


def test_every_reader_names_its_file() -> None:
    assert all(reader.file in reader.words for reader in READERS)


@pytest.mark.long
def test_spoiled_files_and_flags_end_in_an_answer_or_in_one_line(tmp_path: Path) -> None:
    assert run(60, 0, 1, tmp_path, LONGEST_S, compiled=True) == []
