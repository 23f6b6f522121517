"""Compiled kernels are kept where a folder can be written, else compiled in every run; damage costs a compilation."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import topoopt

KERNEL = """
from topoopt.base.kernel import entry, on_compilation

@entry
def twice(number):
    return 2 * number

if __name__ == "__main__":
    compiled = []
    with on_compilation(lambda: compiled.append(1)):
        print(twice(21), twice(0.5), bool(compiled))
"""
FRESH, KEPT = "42 1.0 True\n", "42 1.0 False\n"
SOURCE = str(Path(topoopt.__file__).parents[1])


@pytest.fixture
def kernel(tmp_path: Path) -> Path:
    file = tmp_path / "package" / "twice_kernel.py"
    file.parent.mkdir()
    file.write_text(KERNEL)
    return file


def start(file: Path, *before: str, **words: str) -> "subprocess.Popen[str]":
    own = {key: text for key, text in os.environ.items() if not key.startswith(("NUMBA", "TOPOOPT"))}
    environment = {**own, "PYTHONPATH": SOURCE, "PYTHONDONTWRITEBYTECODE": "1", **words}
    return subprocess.Popen(
        [*before, sys.executable, str(file)],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(file: Path, *before: str, **words: str) -> tuple[str, str]:
    with start(file, *before, **words) as process:
        return process.communicate()


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "other bytes": lambda content: bytes(255 - byte for byte in content),
    "a bit": lambda content: content[:-40] + bytes([content[-40] ^ 1]) + content[-39:],
    "another version": lambda content: content.replace(b"0.", b"9.", 1),
}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_damaged_files_are_made_again(kernel: Path, suffix: str) -> None:
    assert run(kernel) == (FRESH, "")
    assert run(kernel) == (KEPT, "")
    for damage in DAMAGES.values():
        found = list(kernel.parent.rglob(f"*.{suffix}"))
        assert len(found) == (1 if suffix == "nbi" else 2)
        for file in found:
            file.write_bytes(damage(file.read_bytes()))
        output, complaint = run(kernel)
        assert output in (FRESH, KEPT)
        assert complaint == ""
    assert run(kernel) == (KEPT, "")


def test_two_first_runs_at_once_keep_both_versions(kernel: Path) -> None:
    processes = [start(kernel) for _ in range(2)]
    for process in processes:
        assert process.communicate() == (FRESH, "")
    assert run(kernel) == (KEPT, "")


def test_a_changed_source_leaves_no_old_files(kernel: Path) -> None:
    assert run(kernel) == (FRESH, "")
    kernel.write_text(KERNEL.replace("2 * number", "3 * number"))
    assert run(kernel) == ("63 1.5 True\n", "")
    assert len(list(kernel.parent.rglob("*.nbc"))) == 2


@pytest.fixture
def nobody(kernel: Path, tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """What runs a program as a user who can write neither here nor at home; skip where that cannot be."""
    tool = shutil.which("setpriv")
    if tool is None or os.geteuid() != 0:
        pytest.skip("needs root, and setpriv")
    words = (tool, "--reuid=65534", "--regid=65534", "--clear-groups")
    for folder in (tmp_path, *tmp_path.parents):
        if folder == Path(tempfile.gettempdir()):
            break
        folder.chmod(0o755)
    try:
        os.mkdir(tmp_path / "temporary")
        os.chown(tmp_path / "temporary", 65534, 65534)
        done = subprocess.run(
            [
                *words,
                sys.executable,
                "-c",
                f"import sys; sys.path.insert(0, {SOURCE!r}); import topoopt, numba",
            ],
            capture_output=True,
            check=False,
            cwd="/",
        )
        if done.returncode != 0:
            pytest.skip("another user cannot run this Python")
        yield words
    finally:
        for folder in (tmp_path, *list(tmp_path.parents)[:2]):
            folder.chmod(0o700)


def test_where_nothing_can_be_written_a_private_folder_is_used_and_said(
    kernel: Path, nobody: tuple[str, ...], tmp_path: Path
) -> None:
    temporary = tmp_path / "temporary"
    words = {"HOME": "/nonexistent", "TMPDIR": str(temporary)}
    output, complaint = run(kernel, *nobody, **words)
    folder = temporary / "topoopt-kernels-65534"
    assert output == FRESH
    assert f"the package and the home folder cannot be written, so kernels are kept in {folder}" in complaint
    assert complaint.count("Note:") == 1
    assert folder.stat().st_mode & 0o777 == 0o700
    assert run(kernel, *nobody, **words)[0] == KEPT
    folder.chmod(0o777)  # anybody could have written there
    output, complaint = run(kernel, *nobody, **words)
    assert output == FRESH
    assert f"so every run compiles them: {folder}: others may write in it" in complaint
    assert "Traceback" not in complaint


def test_a_full_disk_costs_a_compilation_and_is_said_once(kernel: Path) -> None:
    file = kernel.with_name("full.py")
    file.write_text(
        "import twice_kernel, os\n"
        "def fail(*words): raise OSError(28, 'No space left on device')\n"
        "os.replace = fail\n"
        "print(twice_kernel.twice(21), twice_kernel.twice(0.5))\n"
    )
    output, complaint = run(file)
    assert output == "42 1.0\n"
    assert complaint.count("Note: kernels cannot be kept on disk, so every run compiles them: ") == 1
    assert not list(kernel.parent.rglob("*.tmp.*"))
