"""Written files are whole or not there, and nothing else loses its place to them."""

import os
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import read_yaml, whole_file, write_atomically


def write_half(path: Path) -> None:
    with whole_file(path) as stream:
        stream.write(b"half")
        raise KeyboardInterrupt


def test_a_written_file_is_read_again_and_nothing_else_is_left(tmp_path: Path) -> None:
    path = tmp_path / "out.yaml"
    path.write_text("old")
    write_atomically(path, "a: é\n")
    assert read_yaml(path) == {"a": "é"}
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_refused_and_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"the folder .* does not exist"):
        write_atomically(tmp_path / "no" / "out", "x")
    with pytest.raises(InvalidInput, match="is a folder"):
        write_atomically(tmp_path, "x")
    with pytest.raises(KeyboardInterrupt):
        write_half(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_half_a_character_is_written_as_json_would_write_it(tmp_path: Path) -> None:
    write_atomically(tmp_path / "out", "\ud800")
    assert (tmp_path / "out").read_text() == "\\ud800"


@pytest.mark.parametrize("goal", ["nothing", "link"])
def test_a_link_to_nothing_or_in_a_circle_is_left_as_it_is(tmp_path: Path, goal: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(goal)
    with pytest.raises(InvalidInput, match="is a symbolic link to nothing, or in a circle"):
        write_atomically(link, "x")
    assert os.readlink(link) == goal
    assert list(tmp_path.iterdir()) == [link]


def test_through_a_link_the_file_that_it_names_is_written(tmp_path: Path) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", "new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_text() == "new"


def test_the_longest_allowed_name_is_written(tmp_path: Path) -> None:
    write_atomically(tmp_path / ("n" * 255), "x")
    with pytest.raises(InvalidInput, match="File name too long"):
        write_atomically(tmp_path / ("n" * 256), "x")


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InvalidInput, match="is a device or a pipe"):
        write_atomically(tmp_path / "pipe", "x")
