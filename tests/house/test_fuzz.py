"""A small part of ``make fuzz``: spoiled files and flags end in an answer or in one line."""

import random
from pathlib import Path

import pytest

from fuzz.run import run
from fuzz.second import check
from fuzz.subjects import READERS, TEXT_FILES, WORDS, Reader, verbs

LONGEST_S = 600.0


def test_every_verb_is_fuzzed_with_words_that_work() -> None:
    assert {verb for verb, _ in verbs()} == set(WORDS)


def test_what_is_misspelled_or_changed_in_a_file_changes_its_answer_or_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trace.csv").write_text(TEXT_FILES["trace.csv"])
    words = ("cluster", "run", "trace.csv", "--servers", "8", "--fabrics", "ideal-switch", "--json")
    assert list(check(Reader("trace.csv", words), 12, random.Random(0))) == []


def test_every_reader_names_its_file() -> None:
    assert all(reader.file in reader.words for reader in READERS)


@pytest.mark.long
def test_spoiled_files_and_flags_end_in_an_answer_or_in_one_line(tmp_path: Path) -> None:
    assert run(60, 0, 1, tmp_path, LONGEST_S, compiled=True) == []
