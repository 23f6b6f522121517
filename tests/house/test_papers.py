"""What the documents name exists: files, links, words, versions."""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

import topoopt
from tests.house.reachability import reached, resolve
from tests.house.source_tree import ROOT, SOURCES, named, text_of

DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md")])


def without_blocks(text: str) -> str:
    return re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)


def code_spans(text: str) -> set[str]:
    return set(re.findall(r"`([^`\n]+)`", without_blocks(text)))


def anchors(text: str) -> set[str]:
    """What follows the # in links to the headings of a page, as code hosts name them."""
    headings = re.findall(r"^#+ (.+)$", without_blocks(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_lead_somewhere() -> None:
    for path in DOCUMENTS:
        for target, anchor in re.findall(r"\]\(([^)#\s]*)#?([^)\s]*)\)", without_blocks(path.read_text())):
            if "://" not in target:
                there = path.parent / target if target else path
                assert there.exists(), f"{named(path)} links to {target}"
                assert not anchor or anchor in anchors(there.read_text()), f"{named(path)}: {target}#{anchor}"


def test_a_heading_has_the_anchor_of_a_code_host() -> None:
    assert anchors("# Words\n\n## 5. Your `own` job, again\n") == {"words", "5-your-own-job-again"}


def test_files_that_a_document_names_exist() -> None:
    """A code span with a slash and an ending is a path from the root, or a room and its file; so is a folder."""
    for path in DOCUMENTS:
        for span in code_spans(path.read_text()):
            folder = span.endswith("/") and span.startswith(("src/", "tests/", "docs/"))
            if folder or re.fullmatch(r"[\w./-]+/[\w.-]+\.(py|md|toml|yaml|yml|json|csv|svg)", span):
                assert (ROOT / span).exists() or (ROOT / "src" / "topoopt" / span).exists(), (
                    f"{named(path)}: {span}"
                )


@dataclass(frozen=True)
class MapRow:
    """A row of the paper map: a file or room, what it names there, and the tests."""

    module: str
    names: tuple[str, ...]
    is_oracle: bool
    tests: Path


def map_rows() -> list[MapRow]:
    lines = [line for line in (ROOT / "docs" / "paper-map.md").read_text().splitlines() if line[:2] == "| "]
    found = []
    for line in lines[1:]:
        _, _, code, test = (cell.strip() for cell in line.strip("|").split("|"))
        file, *names = re.findall(r"`([^`]+)`", code)
        module = file.removeprefix("src/").removesuffix(".py").rstrip("/").replace("/", ".")
        found.append(
            MapRow(module, tuple(names), code.endswith("(oracle)"), ROOT / test.strip("`").partition("`")[0])
        )
    return found


def test_a_row_of_the_paper_map_names_what_a_verb_reaches() -> None:
    for row in map_rows():
        where = f"{row.module}: {', '.join(row.names)}"
        assert row.names, where
        assert row.tests.exists(), where
        assert row.tests.is_relative_to(ROOT / "tests"), where
        for name in row.names:
            place = resolve(row.module, name)
            assert place is not None, f"{row.module} has no {name}"
            assert (place in reached()) is not row.is_oracle, f"{row.module}: {name}"
            if row.is_oracle:
                assert name in row.tests.read_text(), f"{row.tests} does not compare with {name}"


def test_what_no_verb_reaches_is_told_apart() -> None:
    """The check above could not fail if everything counted as reached."""
    assert resolve("topoopt.simulate", "pipelined_time") not in reached()
    assert resolve("topoopt.finder", "totient_perms") in reached()
    assert resolve("topoopt.finder", "no_such_name") is None


def test_names_in_the_glossary_are_names_in_the_code() -> None:
    """A word of the glossary in code type is an identifier, a flag or a fabric that the source holds."""
    source = "\n".join(map(text_of, SOURCES))
    words = set(re.findall(r"\w+", source))
    for span in code_spans((ROOT / "docs" / "glossary.md").read_text()):
        assert span in words or span.startswith("_") or _stands_in(span, source), span


def _stands_in(span: str, text: str) -> bool:
    """Return whether a span of several words stands in a text, not inside of longer words."""
    places = (found.span() for found in re.finditer(re.escape(span), text))
    return any(
        not re.match(r"\w", text[begin - 1 : begin]) and not re.match(r"\w", text[end : end + 1])
        for begin, end in places
    )


def test_the_version_is_one() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    first = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), flags=re.MULTILINE)
    assert first is not None
    assert project["version"] == topoopt.__version__ == first[1]


def test_the_license_is_apache_2() -> None:
    text = (ROOT / "LICENSE").read_text()
    assert "Apache License" in text.splitlines()[1]
    assert "Version 2.0, January 2004" in text
    assert "9. Accepting Warranty or Additional Liability" in text
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["license"] == "Apache-2.0"
