"""Files that people write become values, or one line that says what is wrong with them."""

from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from pydantic import BeforeValidator, Field

from topoopt.base.errors import InvalidInput
from topoopt.base.units import parse_bytes
from topoopt.schema.files import (
    Amount,
    BandwidthText,
    EveryKey,
    OneOf,
    Strict,
    TimeText,
    noun_from,
    quantity,
    validated,
)


class Nic(Strict):
    speed: BandwidthText
    ports: int = Field(default=1, gt=0, le=8)


class Machine(Strict):
    servers: int = Field(ge=2)
    links: Literal["duplex", "directed"] = "duplex"
    delay: TimeText = 0.0
    memory: Annotated[float, BeforeValidator(quantity(parse_bytes))] | None = None
    nics: list[Nic] = Field(default=[])


def refusal(mapping: object) -> str:
    with pytest.raises(InvalidInput) as caught:
        validated(Machine, mapping, "job.yaml")
    assert "\n" not in str(caught.value)
    return str(caught.value)


class Shares(Strict):
    shares: float | list[float] = 0.0
    pairs: list[tuple[int, float]] = Field(default=[])
    nics: list[Nic] = Field(default=[])
    fast: bool | int = False


@pytest.mark.parametrize(
    ("mapping", "message"),
    [
        ({"shares": True}, "job.yaml: shares: expected a number, got true"),
        ({"shares": [0, True, 50]}, "job.yaml: shares[1]: expected a number, got true"),
        ({"pairs": [[1, 2.5], [True, 2]]}, "job.yaml: pairs[1][0]: expected an integer, got true"),
        (
            {"nics": [{"ports": False}]},
            "job.yaml: nics[0].ports: expected an integer > 0 and <= 8, got false",
        ),
    ],
)
def test_true_is_no_number(mapping: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        validated(Shares, mapping, "job.yaml")
    assert str(caught.value) == message
    assert validated(Shares, {"fast": True}, "job.yaml").fast is True


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
        ({"servers": True}, "job.yaml: servers: expected an integer >= 2, got true"),
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
            'job.yaml: nics[0]: speed: missing unit in "100"; write for example 100Gbps or 25 GB/s',
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


class Whole(Strict):
    """A file with a part."""

    speed: float = 1.0
    nics: Nic | None = None


def test_a_key_that_another_part_of_the_file_has_is_sent_there() -> None:
    with pytest.raises(InvalidInput, match=r'^f: unknown key "ports"; it belongs under nics$'):
        validated(Whole, {"ports": 2}, "f")


@dataclass(frozen=True)
class Cable:
    """A noun that is part of a file."""

    kind: Annotated[str, OneOf(("copper", "fiber"))]
    length_m: Amount = 1.0
    price_usd: float = 0.0


class Rack(Strict):
    cable: Annotated[Cable, EveryKey("price_usd")]


@pytest.mark.parametrize(
    ("cable", "message"),
    [
        ({"kind": "fiber"}, 'rack.yaml: cable: missing key "length_m": expected a number >= 0'),
        ({"kind": "rope", "length_m": 2}, 'rack.yaml: cable.kind: expected copper or fiber, got "rope"'),
        ({"kind": "fiber", "length_m": -1}, "rack.yaml: cable.length_m: expected a number >= 0, got -1"),
        (
            {"kind": "fiber", "length_m": 2, "color": "red"},
            'rack.yaml: cable: unknown key "color"; Known: kind, length_m, price_usd',
        ),
    ],
)
def test_a_noun_is_part_of_a_file_as_strict_as_a_model(cable: dict[str, object], message: str) -> None:
    assert validated(Rack, {"cable": {"kind": "fiber", "length_m": 2}}, "r").cable == Cable("fiber", 2.0)
    with pytest.raises(InvalidInput) as caught:
        validated(Rack, {"cable": cable}, "rack.yaml")
    assert str(caught.value) == message


def test_a_noun_is_made_of_the_fields_that_another_has() -> None:
    class Part:
        kind, color = "fiber", "red"

    assert noun_from(Cable, Part(), price_usd=3.0) == Cable("fiber", 1.0, 3.0)


@pytest.mark.parametrize("written", ["640,50", "1.090,25"])
def test_a_decimal_comma_is_named(written: str) -> None:
    class Row(Strict):
        usd: Amount
        repair: TimeText = 0.0

    with pytest.raises(InvalidInput, match=rf'got "{written}"; write a decimal point, not a comma$'):
        validated(Row, {"usd": written}, "t.csv")
    with pytest.raises(InvalidInput, match=r'got "4,5 h"; write a decimal point, not a comma$'):
        validated(Row, {"usd": "1", "repair": "4,5 h"}, "t.csv")
