"""Plug-ins are found by their entry points; a broken one is one line, and everything else goes on."""

import ast
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import topoopt
from topoopt.base import plugins
from topoopt.base.errors import InvalidInput
from topoopt.base.plugins import ACCELERATORS, COLLECTIVES, OWN, VERBS, PluginVerb, entry_points, with_added
from topoopt.catalog import accelerator, find_accelerator
from topoopt.collectives import Algorithm
from topoopt.frontends.cli import program
from topoopt.frontends.cli.program import OWN_VERBS
from topoopt.frontends.cli.verbs import completed, load

ROOT = Path(__file__).parents[2]
GOOD = """
from topoopt.base.plugins import PluginVerb
GREET = PluginVerb("Greet.", "{module}:greet", "{module}", ("greet",), after="plan")
def greet():
    '''Greet.'''
    print("hello")
"""


def install(
    folder: Path, name: str, group: str, entries: Mapping[str, str], files: Mapping[str, str]
) -> None:
    """Lay a distribution into a folder, as an installer does."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    lines = [f"{key} = {place}" for key, place in entries.items()]
    (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
    for file, text in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text(text)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of distributions that this process sees."""
    monkeypatch.syspath_prepend(tmp_path)
    for module, name in (
        (accelerator, "_by_name"),
        (accelerator, "accelerator_files"),
        (plugins, "_distributions"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name).__wrapped__)
    entry_points.cache_clear()
    yield tmp_path
    entry_points.cache_clear()


def test_the_own_plugins_are_the_entry_points_of_the_distribution() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"] == OWN


def test_type_checkers_are_told_what_the_own_plugins_add() -> None:
    tree = ast.parse((ROOT / "src/topoopt/__init__.py").read_text())
    told = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("topoopt.plugins.")
        for alias in node.names
    }
    verbs = [
        one.load_as(PluginVerb) for one in entry_points(VERBS) if one.distribution == plugins.DISTRIBUTION
    ]
    assert told == {(verb.module, name) for verb in verbs for name in verb.names}
    assert all(hasattr(topoopt, name) for _, name in told)


def test_no_file_outside_imports_a_plugin() -> None:
    for path in (ROOT / "src/topoopt").rglob("*.py"):
        if "plugins" in path.relative_to(ROOT / "src/topoopt").parts[:1] or path.parent.name == "topoopt":
            continue
        if "topoopt.plugins" in (text := path.read_text()):
            nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ImportFrom)]
            assert not [node for node in nodes if str(node.module).startswith("topoopt.plugins")], path


def test_the_list_of_verbs_imports_no_plugin() -> None:
    probe = (
        "import json, sys\nfrom topoopt.frontends.cli import main\nmain(['--version'])\n"
        "print(json.dumps([name for name in sys.modules if name.startswith('topoopt.')]))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True)
    loaded = [
        name for name in json.loads(done.stdout.splitlines()[-1]) if name.startswith("topoopt.plugins.")
    ]
    assert loaded == ["topoopt.plugins.verbs"]


def test_a_verb_of_another_distribution_stands_in_its_place(site: Path) -> None:
    files = {"hello_made.py": GOOD.format(module="hello_made")}
    install(site, "hello", VERBS, {"greet": "hello_made:GREET"}, files)
    lines, commands = completed(OWN_VERBS)
    assert list(lines)[:2] == ["plan", "greet"]
    assert lines["greet"] == "Greet."
    assert load("topoopt.frontends.cli", "greet", commands).help == "Greet."
    assert plugins.plugin_name("greet").__module__ == "hello_made"
    with pytest.raises(AttributeError, match="has no attribute 'great'"):
        plugins.plugin_name("great")


BROKEN = {
    "import": ({"greet": "no_such_module:GREET"}, {}, "ModuleNotFoundError: No module named 'no_such_module'"),
    "name": ({"greet": "hello_empty:GREET"}, {"hello_empty.py": ""}, "AttributeError: module 'hello_empty'"),
    "kind": ({"greet": "hello_text:GREET"}, {"hello_text.py": "GREET = 3"}, "expected PluginVerb, got int"),
    "raises": ({"greet": "hello_raises:GREET"}, {"hello_raises.py": "1 / 0"}, "ZeroDivisionError: division by zero"),
    "taken": ({"plan": "hello_made:GREET"}, {}, "topoopt has a verb of that name, too"),
}  # fmt: skip


@pytest.mark.parametrize("mistake", BROKEN)
def test_a_verb_that_cannot_be_used_says_why_and_the_others_go_on(site: Path, mistake: str) -> None:
    entries, files, reason = BROKEN[mistake]
    install(site, "hello", VERBS, entries, files)
    lines, commands = completed(OWN_VERBS)
    [(name, place)] = entries.items()
    start = f"plug-in hello: entry point topoopt.verbs: {name} = {place}: "
    assert lines[name].startswith(start + reason)
    assert lines[name].endswith("; update or uninstall hello")
    with pytest.raises(InvalidInput, match=r"^plug-in hello: "):
        load("topoopt.frontends.cli", name, commands)
    assert load("topoopt.frontends.cli", "export", commands).help.startswith("Export a plan")
    assert {**lines, name: ""} == {**program.VERBS, name: ""}


def test_two_distributions_with_one_verb_are_named(site: Path) -> None:
    for name in ("hello", "hullo"):
        files = {f"{name}_two.py": GOOD.format(module=f"{name}_two")}
        install(site, name, VERBS, {"greet": f"{name}_two:GREET"}, files)
    message = r"plug-in hullo: .*: hello has .*; update or uninstall hullo"
    with pytest.raises(InvalidInput, match=message):
        load("topoopt.frontends.cli", "greet", completed(OWN_VERBS)[1])
    with pytest.raises(InvalidInput, match=message):
        plugins.plugin_name("greet")


def test_the_command_line_says_it_in_one_line(tmp_path: Path) -> None:
    install(tmp_path, "hello", VERBS, {"greet": "no_such_module:GREET"}, {})
    path = os.pathsep.join((str(tmp_path), str(ROOT / "src")))

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "topoopt", *words]
        surroundings = {**os.environ, "PYTHONPATH": path}
        return subprocess.run(command, env=surroundings, capture_output=True, text=True, check=False)

    greeted = run("greet")
    assert (greeted.returncode, greeted.stdout) == (2, "")
    assert greeted.stderr.startswith("error: plug-in hello: entry point topoopt.verbs: greet = ")
    assert greeted.stderr.count("\n") == 1
    listed = run("--help")
    assert listed.returncode == 0
    assert "plug-in hello" in listed.stdout


ABACUS = """
[accelerator]
name = "Abacus"
aliases = [{alias}]
architecture = "Abacus"
memory_bytes = 1e9
memory_bandwidth_bytes_per_s = {rate}
scale_up_link = "none"
scale_up_domain = "1"
quality = "assumed"
source = "a test"
[accelerator.peaks]
fp32 = 1e12
"""


def with_accelerator(site: Path, text: str) -> None:
    install(site, "beads", ACCELERATORS, {"abacus": "beads_made"}, {"beads_made/abacus.toml": text})
    sys.modules.pop("beads_made", None)


def test_an_accelerator_of_another_distribution_is_in_the_catalogue(site: Path) -> None:
    with_accelerator(site, ABACUS.format(alias='"beads"', rate="1e9"))
    assert find_accelerator("beads").name == "Abacus"
    assert find_accelerator("beads").tdp_w is None
    assert accelerator.accelerators()[-1] == find_accelerator("abacus")


def test_each_file_of_accelerators_stands_for_itself(site: Path) -> None:
    texts = {"beads": ABACUS.format(alias="", rate="0"), "rods": ABACUS.format(alias='"rods"', rate="1e9")}
    files = {f"beads_made/{name}.toml": text for name, text in texts.items()}
    install(site, "beads", ACCELERATORS, {"abacus": "beads_made"}, files)
    sys.modules.pop("beads_made", None)
    assert find_accelerator("rods").name == "Abacus"
    with pytest.raises(InvalidInput, match=r"beads\.toml: .*rates and sizes must be positive"):
        find_accelerator("beads")


def test_a_mistake_in_a_file_of_the_catalogue_itself_is_named_with_its_folder() -> None:
    own = plugins.EntryPoint(plugins.DISTRIBUTION, ACCELERATORS, "catalogue", OWN[ACCELERATORS]["catalogue"])
    assert str(own.error("h100.toml: no")) == "topoopt.catalog.data.accelerators: h100.toml: no"


@pytest.mark.parametrize(
    ("text", "asked", "reason"),
    [
        ("tdp_w = 3", "abacus", 'abacus.toml: unknown key "tdp_w"; it belongs under accelerator'),
        ("name =", "abacus", "abacus.toml: not valid TOML"),
        (ABACUS.format(alias="", rate="0"), "abacus", "Abacus: rates and sizes must be positive, got 0"),
        (ABACUS.format(alias='"h100"', rate="1e9"), "abacus", "Abacus: h100 is another accelerator, too"),
    ],
)
def test_an_accelerator_that_cannot_be_used_says_why(site: Path, text: str, asked: str, reason: str) -> None:
    with_accelerator(site, text)
    with pytest.raises(InvalidInput) as caught:
        find_accelerator(asked)
    assert "plug-in beads: entry point topoopt.accelerators: abacus = beads_made: " in str(caught.value)
    assert reason in str(caught.value)
    assert find_accelerator("h100").name == "H100-SXM5-80GB"
    with pytest.raises(InvalidInput, match="did you mean h100"):
        find_accelerator("h10")


def test_a_collective_that_cannot_be_used_is_named_where_it_is_asked_for(site: Path) -> None:
    entries = {
        "bad": "os:sep",
        "good": "topoopt.collectives.algorithms.tree:ALGORITHM",
        "ring": "no_such:RING",
    }
    install(site, "hello", COLLECTIVES, entries, {})
    found, errors = with_added({}, COLLECTIVES, Algorithm)
    assert list(found) == ["good"]
    assert str(errors["bad"]).endswith(": expected Algorithm, got str; update or uninstall hello")
    assert "No module named 'no_such'" in str(errors["ring"])
    _, errors = with_added(found, COLLECTIVES, Algorithm)
    assert ": there is another good; " in str(errors["good"])


def test_a_page_belongs_to_the_answer_of_its_own_package(site: Path) -> None:
    text = "import topoopt\nclass Plan: ...\ndef page(answer): return topoopt.Page('a', 'b')"
    install(site, "paged", plugins.PAGES, {"Plan": "paged_made:page"}, {"paged_made.py": text})
    made = __import__("paged_made")
    assert topoopt.page_of(made.Plan()).kind == "a"
    with pytest.raises(InvalidInput, match=r"^Thing: not an answer of a verb"):
        topoopt.page_of(type("Thing", (), {"__module__": "paged_made"})())


def test_older_metadata_of_topoopt_itself_is_not_asked(site: Path) -> None:
    install(site, "topoopt", VERBS, {"export": "gone:EXPORT", "old": "gone:OLD"}, {})
    assert completed(OWN_VERBS)[0] == program.VERBS
