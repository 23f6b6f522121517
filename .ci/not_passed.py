"""A plugin of pytest that runs only what another run has not passed, as its JUnit XML says.

A test that was skipped there for want of a program or of a package is run here, and so is one that was not collected
there or is long. None that passed there is run twice.
"""

from collections import defaultdict
from pathlib import Path
from xml.etree import ElementTree

import pytest
from _pytest.junitxml import bin_xml_escape, mangle_test_address

PASSED = pytest.StashKey[dict[str, set[str]]]()
"""Names of the tests that passed, by the dotted name of their file."""

DONE = pytest.StashKey[set[str]]()
"""Dotted names of the files whose tests have all passed."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the report of the other run."""
    parser.addoption("--not-passed-in", required=True, help="JUnit XML of the other run")


def pytest_configure(config: pytest.Config) -> None:
    """Read the report."""
    passed, others = defaultdict(set), set()
    for case in ElementTree.parse(config.getoption("--not-passed-in")).iter("testcase"):
        file, name = case.get("classname") or case.get("name", ""), case.get("name", "")
        if any(child.tag in {"skipped", "failure", "error"} for child in case):
            others.add(file)
        else:
            passed[file].add(name)
    config.stash[PASSED] = passed
    config.stash[DONE] = set(passed) - others


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not even import a file whose tests have all passed; long ones are not in the report."""
    if not collection_path.is_relative_to(config.rootpath):
        return None
    (file,) = mangle_test_address(collection_path.relative_to(config.rootpath).as_posix())
    if file not in config.stash[DONE] or "pytest.mark.long" in collection_path.read_text(encoding="utf-8"):
        return None
    return True


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out each test that passed."""
    passed = config.stash[PASSED]
    kept, left_out = [], []
    for item in items:
        file, *rest, name = mangle_test_address(item.nodeid)
        is_passed = bin_xml_escape(name) in passed.get(".".join([file, *rest]), ())
        (left_out if is_passed else kept).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept
