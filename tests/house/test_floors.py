"""The house stands as docs/design.md draws it: rooms, floors, doors."""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.house.source_tree import PACKAGE, ROOT, SOURCES, named, nodes_of, text_of, tree_of

FACES = sorted(PACKAGE.rglob("*/__init__.py"))
ONLY_IN = {
    "numba": "_kernel.py /kernel/",
    "pyroute2": "/testbeds/",
    "torch": "/testbeds/ /profiling/",
    "ray": "/sweep/",
    "starlette": "/web/",
    "uvicorn": "/web/",
    "matplotlib": "/pages/",
    "typer": "/cli/ /command.py",
    "rich": "/cli/ /pages/",
}
FORBIDDEN_NAMES = {"utils", "util", "common", "helpers", "helper", "manager", "misc"}
LONGEST_FILE_LINES = 420
LONGEST_KERNEL_LINES = 800  # the hot loops of a room are in one file, with its arrays described once


def is_command_line(path: Path) -> bool:
    """Whether a file holds commands: of the program, or of a plug-in."""
    return "cli" in path.parts or path.name == "command.py"


def packages_on_disk() -> set[str]:
    """Return the packages and single files of the package, by module name."""
    return {
        path.stem
        for path in PACKAGE.iterdir()
        if (path.is_dir() and (path / "__init__.py").exists())
        or (path.suffix == ".py" and path.stem not in {"__init__", "__main__"})
    }


def imports_of(path: Path) -> Iterator[tuple[str, list[str]]]:
    """Every module that a file imports, at its top or inside a function, and the names taken from it."""
    for plain in nodes_of(path, ast.Import):
        yield from ((alias.name, []) for alias in plain.names)
    for node in nodes_of(path, ast.ImportFrom):
        assert node.level == 0, f"{named(path)}:{node.lineno}: write the import in full"
        yield node.module or "", [alias.name for alias in node.names]


def layers() -> list[set[str]]:
    """Return the layers of the import contract, from the top down."""
    contract = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    return [{room.strip() for room in layer.split("|")} for layer in contract["layers"]]


def layers_of_the_design() -> list[set[str]]:
    """Return the layers as docs/design.md draws them, from the top down."""
    text = (ROOT / "docs" / "design.md").read_text()
    standing = text.split("## Packages and layers")[1].split("\n## ")[0]
    cells = re.findall(r"^\| \d+ \| (.+?) \|", standing, flags=re.MULTILINE)
    return [{name.rstrip("/").replace("/", ".") for name in re.findall(r"`([^`]+)`", cell)} for cell in cells]


def test_a_package_imports_only_from_layers_below_its_own() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    done = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_every_package_has_its_layer_in_the_contract() -> None:
    placed = {name.split(".")[0] for layer in layers() for name in layer}
    missing = packages_on_disk() - placed
    assert not missing, f"add to [tool.importlinter] layers in pyproject.toml: {sorted(missing)}"


def test_the_design_draws_the_layers_of_the_contract_and_no_others() -> None:
    assert layers_of_the_design() == layers()


def test_packages_talk_through_faces_and_siblings_through_files() -> None:
    """From outside a folder is imported, never a file in it; ``base`` has files alone. Inside a package, the file."""
    for path in SOURCES:
        package = path.relative_to(PACKAGE).parts[0]
        for module, names in imports_of(path):
            top, *parts = module.split(".")
            if top != "topoopt" or not parts or parts[0] == "base":
                continue
            place = PACKAGE.joinpath(*parts)
            if parts[0] != package:
                assert place.is_dir(), f"{named(path)}: import the face of {place.parent.name}, not {module}"
            elif len(parts) == 1 and path.name != "__init__.py":
                files = {file.stem for file in place.iterdir()}
                assert set(names) <= files, f"{named(path)}: import the sibling file, not the face {module}"


def test_folders_of_a_package_do_not_import_each_other() -> None:
    """A folder and the files beside it count as one; two folders import each other in one direction at most."""
    arrows = {
        (path.parent, place)
        for path in SOURCES
        for module, _ in imports_of(path)
        if module.startswith("topoopt.")
        for place in [_folder(module)]
        if place not in (path.parent, *path.parent.parents) and path.parent not in place.parents
    }
    both = sorted(f"{named(a)} and {named(b)}" for a, b in arrows if a < b and (b, a) in arrows)
    assert not both, "untangle " + "; ".join(both)


def _folder(module: str) -> Path:
    place = PACKAGE.joinpath(*module.split(".")[1:])
    return place if place.is_dir() else place.parent


def test_heavy_libraries_stay_where_they_are_used() -> None:
    for path in SOURCES:
        for module, _ in imports_of(path):
            allowed = ONLY_IN.get(module.split(".")[0], "").split()
            here = "/" + named(path)
            assert not allowed or any(place in here for place in allowed), f"{here} imports {module}"


def test_only_the_command_line_prints() -> None:
    for path in SOURCES:
        calls = nodes_of(path, ast.Call)
        printed = [
            c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id in {"print", "input"}
        ]
        assert not printed or is_command_line(path), f"{named(path)}: print in line {printed}"


def test_a_face_only_hands_names_on() -> None:
    for path in FACES:
        body = tree_of(path).body
        assert body, f"{named(path)} has no first line that says what the room is for"
        assert ast.get_docstring(tree_of(path)), named(path)
        for node in body[1:]:
            dunder = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
            lazy = isinstance(node, ast.FunctionDef) and node.name in {"main", "__getattr__"}
            typed = isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"  # of a lazy face
            assert dunder or lazy or typed or isinstance(node, ast.ImportFrom), (
                f"{named(path)}:{node.lineno} does more"
            )


def test_a_file_holds_one_idea() -> None:
    for path in SOURCES:
        assert path.stem not in FORBIDDEN_NAMES, named(path)
        assert ast.get_docstring(tree_of(path)), f"{named(path)}: the first line says the idea"
        kernel = path.name.endswith("_kernel.py") or path.parent.name == "kernel"
        longest = LONGEST_KERNEL_LINES if kernel else LONGEST_FILE_LINES
        assert len(text_of(path).splitlines()) <= longest, f"{named(path)}: more than one idea?"


def test_only_the_command_line_names_flags() -> None:
    """A message of the library names words as Python spells them; the command line makes flags of them."""
    flag = re.compile(r"(?<![\w-])--[a-z][a-z-]+")
    programs = re.compile(
        r"(topoopt [a-z ]+|ray start) --[a-z]+"
    )  # whole commands that wrote a file, or are another's
    named_flags = [
        f"{named(path)}:{node.lineno}: {node.value}"
        for path in SOURCES
        if not is_command_line(path)
        for node in nodes_of(path, ast.Constant)
        if isinstance(node.value, str) and "--" in node.value and "\n" not in node.value
        if flag.search(programs.sub("", node.value))
    ]
    assert not named_flags
