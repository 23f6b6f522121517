"""What all tests need of the process that they run in."""

import signal

import pytest

# A run that a shell starts in its background ignores Ctrl-C, and so would every program that a test interrupts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try a test again that measures a real kernel: other work on the machine can stretch its times."""
    for item in items:
        if "testbed" in item.path.parts or item.path.name.startswith("test_testbed"):
            item.add_marker(pytest.mark.flaky(reruns=2, reruns_delay=5))
