"""Settings of all tests: interrupts, examples of properties, reruns of tests of a real kernel."""

import os
import secrets
import signal
from collections.abc import Generator
from functools import update_wrapper
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from topoopt.base import workers

# A run that a shell starts in its background ignores Ctrl-C, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ["TOPOOPT_SETTINGS"] = "none"  # of no user, whoever runs the tests
TESTS = Path(__file__).parent
COMPILING = (
    ("clusters/interleave/mltcp/test_packet_ways.py",),
    ("search/test_caveats.py", "clusters/served/test_answers.py", "inference/fabrics/test_compare.py"),
)
"""Tests that compile most kernels where none is compiled yet: those of packets take as long as those of search and
inference together, a minute, so two workers begin with one group each and compile nothing twice."""
OWN_SETTINGS = "_hypothesis_internal_use_settings"
EXAMPLES = 50
SHARE, FEW = 3, 8
"""``make test`` tries each property on a third of its examples, but on 8 if it has so many."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--examples",
        type=int,
        metavar="N",
        help="try each property on N or more random examples (default: on the same ones in every run)",
    )
    parser.addoption(
        "--all-examples", action="store_true", help="try each property on all its examples, not on a third"
    )


@pytest.hookimpl(tryfirst=True)  # before Hypothesis takes its seed
def pytest_configure(config: pytest.Config) -> None:
    """Make every run the same; with ``--examples``, every run with the same seed."""
    examples = config.getoption("--examples")
    settings.register_profile(
        "topoopt",
        max_examples=examples or _share_of(EXAMPLES, config),
        derandomize=not examples,
        database=None,
        deadline=None,
        print_blob=True,
        suppress_health_check=[
            HealthCheck.too_slow,  # depends on the machine
            HealthCheck.filter_too_much,  # depends on the seed
            HealthCheck.function_scoped_fixture,  # no property changes its fixtures
        ],
    )
    settings.load_profile("topoopt")
    # No test compiles ahead what another worker compiles, too; those of compiling ahead unwrap this.
    setattr(workers, "_is_compiled", update_wrapper(lambda: True, workers._is_compiled))  # noqa: B010
    # Else constants of all modules imported so far are drawn, too, which depend on the tests that ran before.
    providers._get_local_constants = lambda: providers._local_constants
    if examples and not config.option.hypothesis_seed:
        config.option.hypothesis_seed = str(secrets.randbelow(10**9))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Look for doctests in the source only: to look for them in tests takes every worker half a minute."""
    found = yield
    return [one for one in found if not isinstance(one, DoctestModule) or not file_path.is_relative_to(TESTS)]


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Mark tests that measure a real kernel, and try them again; give each property the examples of a campaign."""
    examples = config.getoption("--examples")
    counted = set()
    for item in items:
        # Other work on the machine can stretch the times of a real kernel.
        if "testbeds" in item.path.parts or item.path.name.startswith("test_testbed"):
            item.add_marker(pytest.mark.testbed)
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=5))
        test = getattr(item, "obj", None)
        own: settings | None = getattr(test, OWN_SETTINGS, None)
        if own and test not in counted:
            counted.add(test)
            count = max(examples, own.max_examples) if examples else _share_of(own.max_examples, config)
            setattr(test, OWN_SETTINGS, settings(own, max_examples=count))
    yield
    places = [[TESTS / file for file in files] for files in COMPILING]
    first, second = ([item for item in items if item.path in files] for files in places)
    others = [item for item in items if item.path not in (*places[0], *places[1])]
    half = max(0, (len(items) + 1) // 2 - len(first))  # a worker begins at the first, another in the middle
    items[:] = first + others[:half] + second + others[half:]


def pytest_report_header(config: pytest.Config) -> str | None:
    return _campaign(config) and f"properties: {_campaign(config)}"


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say how to repeat each violation."""
    for report in terminalreporter.getreports("failed") if config.getoption("--examples") else ():
        terminalreporter.write_line(
            f"again: .venv/bin/python -m pytest {_campaign(config)} '{report.nodeid}'"
        )


def _share_of(examples: int, config: pytest.Config) -> int:
    """Return on how many of its examples a property is tried."""
    if config.getoption("--all-examples"):
        return examples
    return max(examples // SHARE, min(examples, FEW))


def _campaign(config: pytest.Config) -> str | None:
    """Return the flags that draw the same examples again, if any are drawn."""
    examples = config.getoption("--examples")
    return f"--examples {examples} --hypothesis-seed {config.option.hypothesis_seed}" if examples else None
