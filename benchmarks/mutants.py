"""Mutation score: how many small faults in kernels, closed forms and readers the tests find.

``python -m benchmarks.mutants [--mutants 200] [--seed 0]`` draws files by their length, changes one operator,
comparison, number or condition at a time in a copy of the tree, and runs up to six test files of the same package that
name the module or something public in it. A mutant that no test finds is printed.
"""

import argparse
import ast
import copy
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
KINDS = {
    "kernels": ("*_kernel.py", "kernel/*.py"),
    "closed forms": (
        "collectives/*.py",
        "inference/step/*.py",
        "pricing/*.py",
        "routing/*.py",
        "transformers/communication/*.py",
        "transformers/memory/*.py",
        "transformers/step_time/*.py",
    ),
    "readers": (
        "schema/files/*.py",
        "simulation/chakra/*.py",
        "topologies/wirings/*.py",
        "workloads/programs/*.py",
        "workloads/recorded/*.py",
    ),
}
MOST_TEST_FILES = 6
MOST_SECONDS = 240
"""A mutant whose tests take longer, in an endless loop for instance, is found."""

OPERATORS: dict[type, type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Add,
}
COMPARISONS: dict[type, type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


@dataclass(frozen=True)
class Mutant:
    """A file with one change."""

    kind: str
    path: Path
    line: int
    change: str
    text: str


def mutated(node: ast.AST) -> ast.AST | None:
    """Return a changed copy of a node, or nothing where there is no change to make."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.BinOp) and type(new.op) in OPERATORS:
        new.op = OPERATORS[type(new.op)]()
    elif isinstance(new, ast.Compare) and type(new.ops[0]) in COMPARISONS:
        new.ops[0] = COMPARISONS[type(new.ops[0])]()
    elif (
        isinstance(new, ast.Constant)
        and isinstance(new.value, int | float)
        and not isinstance(new.value, bool)
    ):
        new.value = new.value + 1
    elif isinstance(new, ast.BoolOp):
        new.op = ast.Or() if isinstance(new.op, ast.And) else ast.And()
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, ast.Not):
        return new.operand
    else:
        return None
    return new


def places(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the expressions inside functions that can be changed; a text that is formatted is none."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            formatted = {
                id(part)
                for text in ast.walk(function)
                if isinstance(text, ast.JoinedStr)
                for part in ast.walk(text)
            }
            for statement in function.body:
                for node in ast.walk(statement):
                    if isinstance(node, ast.expr) and id(node) not in formatted and mutated(node) is not None:
                        yield node


def mutant_of(kind: str, path: Path, draw: random.Random) -> Mutant | None:
    text = path.read_text()
    found = list(places(ast.parse(text)))
    if not found:
        return None
    node = draw.choice(found)
    segment = ast.get_source_segment(text, node)
    changed = mutated(node)
    assert segment is not None
    assert changed is not None
    assert node.end_lineno is not None
    lines = text.encode().splitlines(keepends=True)
    before = b"".join(lines[: node.lineno - 1]) + lines[node.lineno - 1][: node.col_offset]
    after = lines[node.end_lineno - 1][node.end_col_offset :] + b"".join(lines[node.end_lineno :])
    new = f"({ast.unparse(changed)})"
    return Mutant(kind, path, node.lineno, f"{segment} -> {new}", (before + new.encode() + after).decode())


def drawn_mutants(count: int, seed: int) -> list[Mutant]:
    """Return mutants, as many of each kind, of files drawn by their length."""
    draw = random.Random(seed)
    package = ROOT / "src/topoopt"
    mutants: list[Mutant] = []
    for kind, patterns in KINDS.items():
        files = sorted({file for pattern in patterns for file in package.rglob(pattern)})
        weights = [file.stat().st_size for file in files]
        wanted = len(mutants) + -(-(count - len(mutants)) // (len(KINDS) - list(KINDS).index(kind)))
        while len(mutants) < wanted:
            mutant = mutant_of(kind, draw.choices(files, weights)[0], draw)
            if mutant is not None:
                mutants.append(mutant)
    return mutants


def tests_of(path: Path) -> list[Path]:
    """Return the test files that look at a module, nearest first."""
    module = path.relative_to(ROOT / "src").with_suffix("")
    public = [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
    ]
    names = [".".join(module.parts), *(name for name in public if not name.startswith("_"))]
    folder = ROOT / "tests" / Path(*module.parts[1:-1])
    near = folder if folder.is_dir() else ROOT / "tests" / module.parts[1]
    scores = {}
    for file in sorted((ROOT / "tests" / module.parts[1]).rglob("test_*.py")):
        text = file.read_text()
        score = sum(text.count(name) for name in names) + 5 * (
            module.name.removesuffix("_kernel") in file.stem
        )
        scores[file] = score + (1 if file.is_relative_to(near) else 0)
    best = sorted((file for file in scores if scores[file]), key=lambda file: -scores[file])
    return best[:MOST_TEST_FILES]


def is_found(mutant: Mutant, tree: Path) -> bool:
    """Return whether a test fails on a mutant, which is put into the tree for as long."""
    file = tree / mutant.path.relative_to(ROOT)
    own = file.read_text()
    file.write_text(mutant.text)
    tests = [str(test.relative_to(ROOT)) for test in tests_of(mutant.path)]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src"), "NUMBA_CACHE_DIR": str(tree / "numba")}
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    try:
        done = subprocess.run(
            command, cwd=tree, env=environment, capture_output=True, timeout=MOST_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return True
    finally:
        file.write_text(own)
    return done.returncode != 0


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mutants", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    words = parser.parse_args(arguments)
    found: dict[str, list[bool]] = {kind: [] for kind in KINDS}
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        shutil.copytree(ROOT, tree, ignore=shutil.ignore_patterns(".git", ".venv", "__pycache__", "build"))
        sound: dict[Path, bool] = {}
        for mutant in drawn_mutants(words.mutants, words.seed):
            if (
                mutant.path not in sound
            ):  # tests that fail anyway say nothing; this compiles what they need, too
                sound[mutant.path] = not is_found(replace(mutant, text=mutant.path.read_text()), tree)
            if not sound[mutant.path]:
                print(
                    f"{mutant.path.relative_to(ROOT)}: its tests fail, or are slow, without a change",
                    flush=True,
                )
                continue
            found[mutant.kind].append(is_found(mutant, tree))
            if not found[mutant.kind][-1]:
                print(f"{mutant.path.relative_to(ROOT)}:{mutant.line}: {mutant.change}", flush=True)
    for kind, results in found.items():
        print(f"{kind}: {sum(results)} of {len(results)} mutants found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
