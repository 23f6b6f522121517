"""Docstrings name the thing or start with a verb, in the words of the field."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from tests.house.source_tree import PACKAGE, SOURCES, named, tree_of

FILES = [path for path in SOURCES if PACKAGE / "schema" / "words" not in path.parents]
"""The texts of the vocabulary are help, which tests of the command line read."""
FRAGMENTS = re.compile(r"(Of|What|How|Who|Whom|Told|Said|The (noun|verb|word|way)s?)\b")
"""First words of a fragment that only continues a name: ``seed : int / Of searches.``"""
SECTION = re.compile("Parameters|Returns|Attributes|Yields|Raises|Warns|Examples|Notes|References|See Also")
DESCRIBED = {"Parameters", "Returns", "Attributes", "Yields"}
NAMES = re.compile(r"\*{0,2}[\w.]+(, \*{0,2}\w+)*( : .+| of .+)?")
DIALECT = {
    "nobody": 0,
    "somebody": 0,
    "minded": 0,
    "lest": 0,
    "whoever": 0,
    "whom": 1,
    "usual": 5,
    "told": 1,
    "said": 1,
    "hears": 0,
    "worth": 1,
    "stands": 0,
    "so many": 0,
    "what": 17,
}
"""Docstring lines with a private word for what the field has a name for; a count only ever goes down."""


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Yield line and text of the docstrings of modules, classes, functions and attributes."""
    for node in ast.walk(tree_of(path)):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.If):
            continue
        for statement in node.body:
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                yield statement.lineno, str(statement.value.value)


def first_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the first line of a docstring, and of every description in it, with their offsets."""
    lines = text.split("\n")
    yield 0, lines[0]
    section, margin = "", 0
    for offset, (line, after) in enumerate(pairwise(lines), 1):
        words, indent = line.strip(), len(line) - len(line.lstrip())
        if SECTION.fullmatch(words) and after.strip().startswith("---"):
            section, margin = words, indent
        elif section in DESCRIBED and indent == margin and NAMES.fullmatch(words):
            yield offset, after.strip()


def test_a_docstring_begins_with_the_thing_or_a_verb() -> None:
    fragments = [
        f"{named(path)}:{line + offset}: {first}"
        for path in FILES
        for line, text in docstrings(path)
        for offset, first in first_lines(text)
        if FRAGMENTS.match(first)
    ]
    assert not fragments, "\n".join(fragments)


def test_words_of_the_dialect_only_become_fewer() -> None:
    found = Counter(
        word
        for path in FILES
        for _, text in docstrings(path)
        for line in text.split("\n")
        for word in DIALECT
        if re.search(rf"\b{word}\b", line)
    )
    more = {word: (found[word], limit) for word, limit in DIALECT.items() if found[word] > limit}
    assert not more, f"found and limit: {more}"
