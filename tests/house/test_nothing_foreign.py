"""No file that is handed out names one machine, one registry or one person's folder."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.house.source_tree import ROOT, named

# Put together from parts, so that this file does not contain what it looks for.
WORDS = (
    r"(?<![\w.])/" + "work/",
    "/" + r"root/(?!\w+\.py)",
    "/" + "tmp/",
    "/" + "home/",
    r"\." + "library",
    "shared/" + "(spec|data|design|hooks)",
    r"spec/" + r"\w+\.md",
    "py" + r"pi\.org",
    "python" + r"hosted\.org",
    "arti" + "factory",
    "find-" + "links",
    "extra-" + "index-url",
    r"\[" + r"(exact|quoted|recall)\]",
)


def tracked_files() -> list[Path]:
    try:
        done = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout: which files are handed out is not known")
    return [ROOT / name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def test_no_file_names_a_foreign_place() -> None:
    pattern = re.compile("|".join(WORDS))
    found = []
    for path in tracked_files():
        text = path.read_bytes().decode("utf-8", errors="replace")
        if pattern.search(text):
            lines = enumerate(text.splitlines(), 1)
            found += [f"{named(path)}:{n}: {line.strip()[:80]}" for n, line in lines if pattern.search(line)]
    assert not found, "\n".join(found)


def test_the_search_can_find() -> None:
    assert re.search(WORDS[0], "see /wo" + "rk/somewhere")
    assert not re.search(WORDS[0], "src/topoopt/wo" + "rk/load")
    assert not re.search(WORDS[0], "docs/wo" + "rk/")
