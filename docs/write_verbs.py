"""The reference of the command line: a page per verb with all of its flags, made of its help."""

import re
from collections.abc import Iterator
from typing import Any

import typer

from topoopt.frontends.cli.help_page import rows_by_heading
from topoopt.frontends.cli.help_topics import EXAMPLES, GROUPS
from topoopt.frontends.cli.program import app


def verb_pages() -> dict[str, str]:
    """Return the pages by file name, the index among them."""
    found = dict(_pages(typer.main.get_command(app), "topoopt", None))
    pages = {f"verb-{_file_name(words)}.rst": text for words, text in found.items()}
    pages["verbs.rst"] = "\n".join(_index(list(found))) + "\n"
    return pages


def _file_name(words: str) -> str:
    return words.replace(" ", "-")


def _index(verbs: list[str]) -> Iterator[str]:
    yield from ("Command line", "============", "")
    yield from ("Every verb with all of its flags, as ``topoopt VERB --help-all`` prints them.", "")
    listed = set[str]()
    for heading, names in GROUPS.items():
        here = [verb for verb in verbs if verb.split()[0] in names.split()]
        listed |= set(here)
        yield from _tree(heading, here)
    yield from _tree("More", [verb for verb in verbs if verb not in listed])


def _tree(heading: str, verbs: list[str]) -> Iterator[str]:
    if verbs:
        yield from (".. toctree::", "   :maxdepth: 1", f"   :caption: {heading}", "")
        yield from (f"   {verb} <verb-{_file_name(verb)}>" for verb in verbs)
        yield ""


def _pages(command: Any, name: str, parent: Any) -> Iterator[tuple[str, str]]:
    """Yield the words after ``topoopt`` and the page of each verb of a group."""
    with command.context_class(command, info_name=name, parent=parent) as context:
        for word in command.list_commands(context) if hasattr(command, "list_commands") else ():
            _, verb, _ = command.resolve_command(context, [word])
            yield from _pages(verb, word, context)
        if not hasattr(command, "list_commands"):
            words = context.command_path.partition(" ")[2]
            yield words, "\n".join(_page(command, context, words)) + "\n"


def _page(command: Any, context: Any, words: str) -> Iterator[str]:
    title = f"topoopt {words}"
    yield from (title, "=" * len(title), "", *(_plain(part) + "\n" for part in command.help.split("\n\n")))
    if words in EXAMPLES:
        yield from (".. code-block:: console", "")
        yield from (f"   $ topoopt {line}" for line in EXAMPLES[words])
        yield ""
    for heading, rows in rows_by_heading(context, command).items():
        yield from (
            heading,
            "-" * len(heading),
            "",
            ".. list-table::",
            "   :widths: 30 70",
            "   :class: summary",
            "",
        )
        for names, values, text in rows:
            flag = ", ".join(f"``{one}``" for one in names.splitlines())
            value = f" ``{values.replace(chr(10), '')}``" if values else ""
            yield from (f"   * - {flag}{value}", f"     - {_plain(text.plain)}")
        yield ""


def _plain(text: str) -> str:
    """Return a text in which nothing is marked up."""
    return re.sub(r"[*|`\\]|_(?!\w)", r"\\\g<0>", text)
