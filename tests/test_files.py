"""Files that people write become values, or one line that says what is wrong with them."""

from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from topoopt.errors import InvalidInput
from topoopt.files import (
    BandwidthText,
    BytesText,
    TimeText,
    parse_yaml,
    read_text,
    read_yaml,
    validated,
    write_atomically,
)


class Nic(BaseModel):
    model_config = ConfigDict(extra="forbid")
    speed: BandwidthText
    ports: int = Field(default=1, gt=0, le=8)


class Machine(BaseModel):
    model_config = ConfigDict(extra="forbid")
    servers: int = Field(ge=2)
    links: Literal["duplex", "directed"] = "duplex"
    delay: TimeText = 0.0
    memory: BytesText | None = None
    nics: list[Nic] = []


def refusal(mapping: object) -> str:
    with pytest.raises(InvalidInput) as caught:
        validated(Machine, mapping, "job.yaml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_quantities_are_read_with_their_units() -> None:
    machine = validated(
        Machine, {"servers": 3, "delay": "2us", "memory": "1 KiB", "nics": [{"speed": "25 GB/s"}]}, "job.yaml"
    )
    assert (machine.delay, machine.memory, machine.nics[0].speed) == (2e-6, 1024, 200e9)


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"servers": "many"}, 'job.yaml: servers: expected an integer >= 2, got "many"'),
        ({"servers": 1}, "job.yaml: servers: expected an integer >= 2, got 1"),
        ({"servers": 2.5}, "job.yaml: servers: expected an integer >= 2, got 2.5"),
        ({"servers": None}, "job.yaml: servers: expected an integer >= 2, got null"),
        ({}, 'job.yaml: missing key "servers": expected an integer >= 2'),
        ({"servers": 2, "links": "both"}, 'job.yaml: links: expected duplex or directed, got "both"'),
        (
            {"servers": 2, "nics": [{"speed": "1Gbps", "ports": 9}]},
            "job.yaml: nics[0].ports: expected an integer > 0 and <= 8, got 9",
        ),
        ({"servers": 2, "nics": 3}, "job.yaml: nics: expected a list, got 3"),
        (
            {"servers": 2, "nics": [{"speed": 100}]},
            'job.yaml: nics[0]: speed: no unit in "100"; write for example 100Gbps or 25 GB/s',
        ),
        (
            {"servers": 2, "delay": "soon"},
            'job.yaml: delay: expected a number with a unit, such as 1us, got "soon"',
        ),
        ([1, 2], "job.yaml: expected a mapping of keys to values, got [1, 2]"),
        (None, "job.yaml: expected a mapping of keys to values, got an empty file"),
    ],
)
def test_a_mistake_is_one_line_that_names_place_key_and_what_is_allowed(
    mapping: object, message: str
) -> None:
    assert refusal(mapping) == message


def test_a_misspelled_key_is_named_before_the_key_that_it_leaves_missing() -> None:
    assert refusal({"server": 4}) == (
        'job.yaml: unknown key "server"; did you mean servers? Known: delay, links, memory, nics, servers'
    )
    assert refusal({"servers": 2, "nics": [{"sped": "1Gbps"}]}) == (
        'job.yaml: nics[0]: unknown key "sped"; did you mean speed? Known: ports, speed'
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


def test_aliases_are_read() -> None:
    assert parse_yaml("a: &x [1]\nb: *x\n", "f") == {"a": [1], "b": [1]}


def test_what_is_no_text_file_is_refused(tmp_path: Path) -> None:
    binary = tmp_path / "plan.bin"
    binary.write_bytes(b"\x89PNG\xff")
    zeros = tmp_path / "zeros"
    zeros.write_bytes(bytes(4))
    for path, part in (
        (tmp_path / "none", "no such file"),
        (tmp_path, "is a directory"),
        (binary, "not a text file: byte 0"),
        (zeros, "not a text file: it holds a NUL"),
    ):
        with pytest.raises(InvalidInput, match=part):
            read_text(path)


def test_a_written_file_is_read_again_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "out.yaml"
    path.write_text("old")
    write_atomically(path, "a: é\n")
    assert read_yaml(path) == {"a": "é"}
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"the folder .* does not exist"):
        write_atomically(tmp_path / "no" / "out", "x")
    with pytest.raises(InvalidInput, match="is a directory"):
        write_atomically(tmp_path, "x")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(tmp_path / "out", "\ud800")
    assert list(tmp_path.iterdir()) == []
