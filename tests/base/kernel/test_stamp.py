"""Numba looks at a kernel's own file only: whatever is compiled of several files carries a stamp of the others."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from inspect import getfile, signature
from pathlib import Path
from types import FunctionType
from typing import Any

import pytest

from topoopt.base.kernel import stamp

PROBE = """
from pathlib import Path
from topoopt.base.kernel import entry, stamped

@entry
@stamped(int(Path(__file__).with_name("number.txt").read_text()))
def probe(value: float) -> float:
    return 3.0 * value
"""
ENTRIES = {"entry", "concurrent_entry"}
SOURCE = Path(__file__).parents[3] / "src"


@cache
def entries() -> tuple[Any, ...]:
    """Return every function that Python calls and Numba keeps on disk."""
    return tuple(getattr(import_module(module), name).py_func for module, name in named())


def named() -> Iterator[tuple[str, str]]:
    for path in sorted(SOURCE.rglob("*.py")):
        text = path.read_text()
        if not any(f"@{word}" in text for word in ENTRIES):
            continue
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and ENTRIES & set(map(ast.unparse, node.decorator_list)):
                yield ".".join(path.relative_to(SOURCE).with_suffix("").parts), node.name


def files(kernel: Any, met: set[FunctionType]) -> set[str]:
    """Return the files of a kernel and of all that it calls."""
    function = getattr(kernel, "py_func", kernel)
    if not isinstance(function, FunctionType) or function in met or "topoopt" not in function.__module__:
        return set()
    met.add(function)
    called = [function.__globals__.get(name) for name in function.__code__.co_names]
    return {getfile(function)}.union(*(files(other, met) for other in called))


def test_a_kernel_of_several_files_has_a_stamp() -> None:
    several = [kernel for kernel in entries() if len(files(kernel, set())) > 1]
    assert several
    assert not [kernel for kernel in several if "stamp" not in kernel.__code__.co_freevars]


def test_a_kernel_has_no_argument_that_may_be_omitted() -> None:
    for kernel in entries():
        arguments = signature(kernel).parameters.values()
        assert all(argument.default is argument.empty for argument in arguments), kernel


def test_numba_keeps_each_stamp_apart_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def kept(number: int) -> bool:
        monkeypatch.syspath_prepend(tmp_path)
        sys.modules.pop("stamped_probe", None)
        (tmp_path / "number.txt").write_text(str(number))
        probe = import_module("stamped_probe").probe
        assert probe(2.0) == 6.0
        return bool(probe.stats.cache_hits)

    (tmp_path / "stamped_probe.py").write_text(PROBE)
    assert [kept(1), kept(1), kept(2), kept(1)] == [False, True, False, True]


def test_a_stamp_changes_with_each_file(tmp_path: Path) -> None:
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("a")
    other.write_text("b")
    before = stamp([one, other])
    assert before == stamp([other, one]) != stamp([one])
    other.write_text("c")
    assert stamp([one, other]) not in (before, 0)
