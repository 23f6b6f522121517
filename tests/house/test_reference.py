"""The reference of the site has every public name, and says what it is."""

import re
from functools import reduce
from importlib import import_module
from pathlib import Path

import topoopt
from docs.write_reference import FRONT, entries, front_page, nouns, page, rooms, verbs, write_reference
from docs.write_verbs import verb_pages
from topoopt.frontends.cli.program import VERBS


def test_every_room_but_the_command_line_has_a_page(tmp_path: Path) -> None:
    source = Path(str(topoopt.__file__)).parent
    folders = {path.parent.name for path in source.glob("*/__init__.py") if "\nfrom " in path.read_text()}
    (tmp_path / "gone.rst").write_text("a room that is no more")
    write_reference(tmp_path)
    written = {path.stem for path in tmp_path.iterdir()}
    assert folders <= written
    assert {name for name in written if not name.startswith("verb")} == {*rooms(), "index", FRONT}


def test_every_verb_has_a_page_with_its_flags() -> None:
    pages = verb_pages()
    written = {name.removesuffix(".rst").removeprefix("verb-") for name in pages}
    assert {name.split("-")[0] for name in written - {"verbs"}} == set(VERBS)
    assert all(f"<verb-{name}>" in pages["verbs.rst"] for name in written - {"verbs"})
    assert "   * - ``--micro-batch`` ``N``" in pages["verb-llm-estimate.rst"]


def test_every_name_of_the_front_door_is_on_its_page() -> None:
    offered = {name for name in topoopt.__all__ if not name.startswith("__")}
    assert {name.split(".")[0] for name in [*verbs(), *nouns()]} == offered
    text = "\n".join(front_page())
    for name in verbs():
        assert re.search(rf"^\.\. (auto|py:)function:: topoopt\.{re.escape(name)}\b", text, re.MULTILINE)
    for name, place in nouns().items():
        assert f":py:obj:`topoopt.{name} <{place}>`" in text


def test_a_verb_is_shown_with_its_words() -> None:
    assert "   * - ``bandwidth``" in list(front_page())


def test_every_public_name_of_a_room_says_what_it_is() -> None:
    for room in rooms():
        nameless = [one.name for one in entries(room) if one.kind != "table" and not one.first_line]
        assert not nameless, room
        text = "\n".join(page(room))
        for one in entries(room):
            assert f":: {one.name}\n" in text, room


def test_a_table_is_shown_with_its_names() -> None:
    text = "\n".join(page("routing"))
    assert ".. py:data:: ROUTING" in text
    assert "``coin-change``, ``k-shortest``" in text


def within(module: object, names: list[str]) -> object:
    return reduce(lambda found, name: getattr(found, name, None), names, module)


def located(name: str) -> object:
    """What a full name stands for, None for nothing: in a room, or among the verbs of that name."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = within(import_module(".".join(parts[:end])), parts[end:])
        except ModuleNotFoundError:
            continue
        return found or within(topoopt, parts[1:])
    return None


def test_a_full_name_in_a_docstring_leads_somewhere() -> None:
    """Sphinx looks at those of public names, and this at all."""
    reference = re.compile(r":(?:func|class|data|meth|attr|mod):`~?(topoopt[\w.]*)`")
    sources = Path(str(topoopt.__file__)).parent.rglob("*.py")
    named = {
        name: path.name for path in sources for name in reference.findall(path.read_text(encoding="utf-8"))
    }
    assert not {path: name for name, path in named.items() if located(name) is None}


def test_a_full_name_of_nothing_is_noticed() -> None:
    assert located("topoopt.routing.Routes.paths") is not None
    assert located("topoopt.routing.coin_routes.nothing") is None
