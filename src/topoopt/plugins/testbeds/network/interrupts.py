"""Signals that wait: Ctrl-C and the like between two steps, never inside one that makes or removes things."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""By what people and systems end a program, and let it tidy up."""


@contextmanager
def later() -> Iterator[None]:
    """Let signals come when the context is left; what was made in it is known by then, and can be removed."""
    if threading.current_thread() is not threading.main_thread():
        yield  # Python hears signals in its main thread only
        return
    came: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        came.append(number)

    before = {number: signal.signal(number, note) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for late in dict.fromkeys(came):
            signal.raise_signal(late)


@contextmanager
def as_errors() -> Iterator[None]:
    """Let SIGTERM and SIGHUP raise ``SystemExit``, as Ctrl-C raises ``KeyboardInterrupt``: contexts are left then."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    changed = [one for one in ENDING if signal.getsignal(one) is signal.SIG_DFL]
    for one in changed:
        signal.signal(one, leave)
    try:
        yield
    finally:
        for one in changed:
            signal.signal(one, signal.SIG_DFL)
