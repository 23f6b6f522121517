"""YAML and JSON become plain values, or one line that says what is wrong with them."""

from collections.abc import Callable
from typing import Any

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import parse_json, parse_yaml

DEEP = "[" * 200 + "]" * 200
BOMB = "a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
)
MERGE_BOMB = "m0: &m0 {x: 1}\n" + "".join(
    f"m{n}: &m{n} {{<<: [*m{n - 1}, *m{n - 1}]}}\n" for n in range(1, 64)
)


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("servers: [1, 2", "f.yaml: line 1: not valid YAML"),
        ("a: 1\n b: 2\n", "f.yaml: line 2: not valid YAML"),
        ("a: !!python/object:os.system {}", "f.yaml: line 1: not valid YAML"),
        ("a: 1\nb: {c: 1, c: 2}\n", 'f.yaml: line 2: key "c" stands twice'),
        ("a: 2024-13-45", "f.yaml: not valid YAML"),
        ("a: \x01", "f.yaml: not valid YAML"),
        ("a: 1\n---\nb: 2", "f.yaml: line 2: not valid YAML"),
    ],
)
def test_bad_yaml_is_refused_with_its_line(text: str, part: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_yaml(text, "f.yaml")
    assert str(caught.value).startswith(part)
    assert "\n" not in str(caught.value)


def test_numbers_with_colons_are_text() -> None:
    assert parse_yaml("a: 1:30\nb: 1:30.5\nc: 90", "f.yaml") == {"a": "1:30", "b": "1:30.5", "c": 90}


@pytest.mark.parametrize("parse", [parse_json, parse_yaml])
def test_a_key_that_stands_twice_in_json_is_refused_with_its_line(parse: Callable[[str, str], Any]) -> None:
    with pytest.raises(InvalidInput, match=r'^f\.json: line 3: key "b" stands twice$'):
        parse('{"a": 1,\n\t"c": {"b": 2,\n\t"b": 3}}', "f.json")


def test_a_file_of_another_program_repeats_a_key_only_with_the_same_value() -> None:
    assert parse_json('{"a": [1], "b": 0, "a": [1]}', "f.json", foreign=True) == {"a": [1], "b": 0}
    with pytest.raises(InvalidInput, match=r'^f\.json: key "a" stands twice, with different values$'):
        parse_json('[{"b": 0, "a": 1, "a": 2}]', "f.json", foreign=True)


def test_a_number_of_thousands_of_digits_is_refused_in_one_line() -> None:
    with pytest.raises(InvalidInput, match=r"^f: a number too long"):
        parse_yaml('{"a": ' + "9" * 6000 + "}", "f")


def test_json_with_tabs_is_read_where_yaml_is_expected() -> None:
    assert parse_yaml('{\t"a":\t[1e3]}', "f") == {"a": [1000.0]}


def test_aliases_are_read() -> None:
    assert parse_yaml("a: &x [1]\nb: *x\n", "f") == {"a": [1], "b": [1]}


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (DEEP, "nested too deeply"),
        ("a: " + "[" * 5000, "nested too deeply"),
        (BOMB, "more than 1000000 values, those of its aliases counted"),
        (MERGE_BOMB, "<< of what has a << itself"),
        ("a: &a [*a]", "nested too deeply"),
        ("a: &a {b: *a}", "nested too deeply"),
        ("a: &a {<<: *a}", "<< of what has a << itself"),
        ("a: {? [1, 2] : 3}", "line 1: not valid YAML: found unhashable key"),
        ("a: {1: 2}", "a: expected keys of text, got 1"),
        ("? {a: 1}\n: 2", "not valid YAML"),
        (
            "servers: 99999999999999999999",
            "servers: expected an integer <= 1000000, got 99999999999999999999",
        ),
        ("servers: " + "9" * 6000, "not valid YAML"),
        ("a: [1, .nan]", "a[1]: expected a finite number up to 1e+30, got nan"),
        ("a: 1.0e+300", "a: expected a finite number up to 1e+30, got 1e+300"),
        ('a: "\\uD800"', "a: half a character"),
    ],
)
def test_what_no_reader_could_use_is_refused_with_its_key(text: str, part: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_yaml(text, "f.yaml")
    assert str(caught.value).startswith("f.yaml: ")
    assert part in str(caught.value)
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    ("text", "part"),
    [
        (DEEP, "nested too deeply"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a": ' + "9" * 6000 + "}", "a number too long"),
        ('{"a": {"budget": 1000000000000}}', "a.budget: expected an integer <= 100000000, got 1000000000000"),
        ('{"a": [0, NaN]}', "a[1]: expected a finite number up to 1e+30, got nan"),
        ('{"a": 1e999}', "a: expected a finite number up to 1e+30, got inf"),
        ('{"a": "\\ud800"}', "a: half a character, which no text has"),
        ('{"\\ud800": 1}', "half a character"),
        ('{"a": 1', "line 1: truncated; expected a plan"),
        ("{]", "line 1: not JSON"),
    ],
)
def test_json_is_refused_with_line_or_key(text: str, part: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_json(text, "f.json", "expected a plan")
    assert str(caught.value).startswith("f.json: ")
    assert part in str(caught.value)


def test_a_merge_key_brings_its_values() -> None:
    assert parse_yaml("a: &a {x: 1}\nb: {<<: *a, y: 2}\n", "f")["b"] == {"x": 1, "y": 2}


def test_a_file_of_another_program_may_hold_numbers_that_nobody_here_reads() -> None:
    assert (
        parse_json('{"limit": [0.0, Infinity], "id": 1000000000000000000000}', "config.json", foreign=True)[
            "id"
        ]
        == 10**21
    )
