"""A mistake in a file is named with its line, whatever the file is written in."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import parse_toml, with_line

YAML = """\
servers:
- {name: a}
- name: b
  interfaces:
  - eth1
  - {name: eth2}
panels: []
"""
TOML = """\
title = "room"
[[servers]]
name = "a"

[[servers]]
name = "b"
rack = "r"
"""
JSON = '{\n "servers": [\n  {"name": "a"},\n  {"name":\n   "b"}\n ]\n}'


@pytest.mark.parametrize(
    ("text", "place", "message", "line"),
    [
        (YAML, "f.yaml", "servers[1].interfaces[1].name: twice", 6),
        (YAML, "f.yaml", "servers[1].interfaces: none", 4),
        (YAML, "f.yaml", "panels: none", 7),
        (YAML, "f.yaml", 'servers[1]: unknown key "name"; try another', 3),
        (YAML, "f.yaml", "servers[1].rack: is not there", 3),
        (YAML, "f.yaml", "servers[7].rack: is not there", 1),
        (TOML, "f.toml", "servers[1].rack: twice", 7),
        (TOML, "f.toml", "servers[1].position: is not there", 5),
        (TOML, "f.toml", "title: too long", 1),
        (JSON, "f.json", "servers[1].name: twice", 4),
    ],
)
def test_the_line_is_that_of_the_key_or_of_the_part_that_lacks_it(
    text: str, place: str, message: str, line: int
) -> None:
    assert with_line(f"{place}: {message}", text, place) == f"{place}: line {line}: {message}"
    assert with_line(message, text, place) == f"{place}: line {line}: {message}"


@pytest.mark.parametrize(
    "message", ["cables: none", "nothing that begins with a key", 'unknown key "rooms"; x']
)
def test_what_is_nowhere_in_the_file_has_no_line(message: str) -> None:
    assert with_line(message, YAML, "f.yaml") == f"f.yaml: {message}"


def test_text_that_is_no_yaml_has_no_lines() -> None:
    assert with_line("a: x", "{", "f.yaml") == "f.yaml: a: x"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a = ", "f.toml: not valid TOML: Invalid value (at end of document)"),
        ("a = inf", "f.toml: a: expected a finite number up to 1e+30, got inf"),
        ("a = " + "[" * 2000, "f.toml: not valid TOML: nested too deeply"),
    ],
)
def test_toml_that_no_reader_can_use_is_one_line(text: str, message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        parse_toml(text, "f.toml")
    assert str(caught.value) == message
