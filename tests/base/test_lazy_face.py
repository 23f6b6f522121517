"""A lazy face imports a name when it is first used, and its names win over modules of the same name."""

import subprocess
import sys
from pathlib import Path

import pytest

FACE = """
from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt_made_up import group as group
    from topoopt_made_up.plan import plan as plan
    from topoopt_made_up.plan import spare as spare

__all__ = hand_on_lazily(__name__)
"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "topoopt_made_up"
    folder.mkdir()
    (folder / "__init__.py").write_text(FACE)
    (folder / "plan.py").write_text("def plan():\n    return 42\n\n\nspare = 7\n")
    (folder / "group.py").write_text("member = 1\n")
    return tmp_path


def answer(package: Path, program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=package, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_nothing_is_imported_before_it_is_used(package: Path) -> None:
    program = "import sys, topoopt_made_up as one; print('topoopt_made_up.plan' in sys.modules, one.__all__)"
    assert answer(package, program) == "False ('group', 'plan', 'spare')"


def test_a_name_wins_over_the_module_of_that_name(package: Path) -> None:
    program = "import topoopt_made_up as one, topoopt_made_up.plan; print(one.plan(), one.spare)"
    assert answer(package, program) == "42 7"


def test_a_name_may_be_a_module_of_the_folder(package: Path) -> None:
    assert answer(package, "import topoopt_made_up as one; print(one.group.member)") == "1"


def test_an_unknown_name_is_an_attribute_error(package: Path) -> None:
    program = "import topoopt_made_up as one; print(hasattr(one, 'plna'), dir(one)[-2:])"
    assert answer(package, program) == "False ['plan', 'spare']"
