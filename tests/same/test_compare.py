"""What differs between two versions is named by command and key; what is meant is not, and must still be there."""

import json
from pathlib import Path
from typing import Any

import pytest

from same.compare import Difference, Meant, differences, judge, read_meant


def record(out: str = "", err: str = "", code: int | str = 0, **files: str) -> dict[str, Any]:
    return {"code": code, "out": out, "err": err, "files": files}


def keys(base: dict[str, Any], tree: dict[str, Any]) -> dict[str, str]:
    return {one.key: one.shown for one in differences("plan dlrm", base, tree)}


def test_equal_results_do_not_differ() -> None:
    assert keys(record("a\n", "b\n", 2, x="1"), record("a\n", "b\n", 2, x="1")) == {}


def test_a_value_of_json_is_named_by_its_path() -> None:
    base, tree = ({"rows": [{"a": 1}, {"a": time_s, "b": "c"}]} for time_s in (2.5, 2.75))
    assert keys(record(json.dumps(base)), record(json.dumps(tree))) == {"rows[1].a": "2.5 -> 2.75"}


def test_integers_and_floats_and_their_last_digits_differ() -> None:
    assert keys(record('{"a": 1}'), record('{"a": 1.0}')) == {"a": "1 -> 1.0"}
    assert set(keys(record('{"a": 0.1}'), record('{"a": 0.10000000000000002}'))) == {"a"}


def test_keys_and_items_that_came_or_went_are_named() -> None:
    assert keys(record('{"a": 1}'), record('{"b": [1]}')) == {"a": "1 -> (missing)", "b": "(missing) -> [1]"}
    assert keys(record('{"a": [1, 2]}'), record('{"a": [1]}')) == {"a": "2 -> 1 items"}


def test_another_order_of_the_same_keys_differs() -> None:
    assert list(keys(record('{"a": 1, "b": 2}'), record('{"b": 2, "a": 1}'))) == ["(layout)"]


def test_the_time_that_a_run_took_does_not_differ() -> None:
    base, tree = (json.dumps({"search": {"cpu_s": time_s}, "a": 1}) for time_s in (0.25, 1e-05))
    assert keys(record(base), record(tree)) == {}
    assert set(keys(record(base), record(tree.replace('"a": 1', '"a": 2')))) == {"a"}


def test_text_and_exit_codes_and_files_are_compared() -> None:
    base, tree = (
        record("one\ntwo\n", "", 0, gone="x", kept='{"a": 1}'),
        record("one\n2\n", "no\n", 2, kept='{"a": 3}'),
    )
    found = keys(base, tree)
    assert found["exit code"] == "0 -> 2"
    assert found["stdout"].splitlines()[1:] == ["-two", "+2"]
    assert "+no" in found["stderr"]
    assert found["file gone"] == "not written by tree"
    assert found["file kept: a"] == "1 -> 3"


def test_a_long_line_is_shown_where_it_differs() -> None:
    long = "x" * 5000
    shown = keys(record(f"{long}1{long}\n"), record(f"{long}2{long}\n"))["stdout"]
    assert "x1x" in shown
    assert "x2x" in shown
    assert len(shown) < 600


def test_what_is_meant_is_left_out_and_an_entry_without_a_difference_is_found() -> None:
    found = [Difference("plan dlrm --json", "rows[0].a", ""), Difference("plan bert --json", "rows[1].b", "")]
    right, stale = Meant("plan dlrm *", "rows[*].a", "why"), Meant("plan *", "rows[0].c", "why")
    assert judge(found, [right, stale]) == ([found[1]], [stale])
    assert judge([], [right]) == ([], [right])


def test_an_entry_says_why(tmp_path: Path) -> None:
    path = tmp_path / "meant.toml"
    path.write_text('[[meant]]\ncommand = "plan *"\nkey = "a"\nreason = "b"\n')
    assert read_meant(path) == [Meant("plan *", "a", "b")]
    path.write_text('[[meant]]\ncommand = "plan *"\nkey = "a"\n')
    with pytest.raises(ValueError, match="needs command, key and reason"):
        read_meant(path)
