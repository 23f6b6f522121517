"""Numba looks at a kernel's own file only: whatever is compiled of several files carries a stamp of the others."""

import ast
from collections.abc import Iterator
from importlib import import_module
from inspect import getfile, signature
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from topoopt.kernel import stamp

SOURCE = Path(__file__).parents[2] / "src"


def entries() -> Iterator[tuple[str, str]]:
    """Yield module and name of every function that Python calls and Numba keeps on disk."""
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if "@entry" not in text:
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and "entry" in map(ast.unparse, node.decorator_list):
                yield ".".join(path.relative_to(SOURCE).with_suffix("").parts), node.name


def files(kernel: Any, met: set[FunctionType]) -> set[str]:
    """Return the files of a kernel and of all that it calls."""
    function = getattr(kernel, "py_func", kernel)
    if not isinstance(function, FunctionType) or function in met or "topoopt" not in function.__module__:
        return set()
    met.add(function)
    called = [function.__globals__.get(name) for name in function.__code__.co_names]
    return {getfile(function)}.union(*(files(other, met) for other in called))


@pytest.mark.parametrize(("module", "name"), list(entries()))
def test_a_kernel_of_several_files_has_a_stamp(module: str, name: str) -> None:
    kernel = getattr(import_module(module), name).py_func
    last = list(signature(kernel).parameters.values())[-1]
    assert len(files(kernel, set())) == 1 or last.name == "stamp"


def test_a_stamp_changes_with_each_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("a")
    other.write_text("b")
    before = stamp([one, other])
    assert before == stamp([other, one]) != stamp([one])
    other.write_text("c")
    assert stamp([one, other]) not in (before, 0)
