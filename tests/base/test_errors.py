"""A message is one line that a terminal can show."""

import pytest

from topoopt.base.errors import InvalidInput, check_known, unknown_name


def test_a_long_value_is_cut() -> None:
    long = "x" * 6000
    for message in (
        f'set: expected KEY=VALUE, got "{long}"',
        f"servers: got {'9' * 6000}",
        f"{long}: no such file",
    ):
        assert len(str(InvalidInput(message))) < 160, message
    assert "..." in str(InvalidInput(f'got "{long}"'))


def test_a_path_is_left_whole() -> None:
    path = "/" + "folder/" * 30 + "plan.json"
    assert str(InvalidInput(f"{path}: no such file")) == f"{path}: no such file"


def test_what_would_move_the_cursor_is_escaped() -> None:
    assert str(InvalidInput("model: \x1b[2J\nnext\udcff")) == "model: \\x1b[2J next\\udcff"


def test_of_many_names_the_nearest_are_listed() -> None:
    message = str(unknown_name("model", "llama3-7b", [f"llama{n}-{b}b" for n in range(9) for b in range(9)]))
    assert "did you mean llama3-7b" in message
    assert message.endswith(", ... (81 in all)")
    assert message.count("llama") <= 16


def test_a_name_is_known_or_refused_with_the_nearest() -> None:
    check_known("model", "dlrm", ["dlrm", "bert"])
    with pytest.raises(InvalidInput, match='model: unknown name "dlmr"; did you mean dlrm'):
        check_known("model", "dlmr", ["dlrm", "bert"])
