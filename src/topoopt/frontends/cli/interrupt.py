"""Ctrl-C that waits until numba's own glue code is left.

Compiled code calls back into Python to make its errors and results. A ``KeyboardInterrupt`` that is raised right
there comes out as a ``SystemError``, or ends the process with a segmentation fault. So it is raised a moment later.
"""

import signal
import sys
from pathlib import PurePath
from types import FrameType

GLUE = PurePath("numba", "core", "serialize.py").parts
AGAIN_S = 0.01


def interrupt_when_safe() -> None:
    """Take over Ctrl-C where it still has Python's own meaning; a program that uses topoopt may have another."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGALRM, _interrupt)
        signal.signal(signal.SIGINT, _interrupt)
        sys.unraisablehook = _raise_again


def _interrupt(number: int, frame: FrameType | None) -> None:
    if frame is not None and PurePath(frame.f_code.co_filename).parts[-len(GLUE) :] == GLUE:
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    else:
        raise KeyboardInterrupt


def _raise_again(lost: "sys.UnraisableHookArgs") -> None:
    """Raise an interrupt again that came where nobody above hears of it, such as the deletion of an object."""
    if issubclass(lost.exc_type, KeyboardInterrupt):
        signal.setitimer(signal.ITIMER_REAL, AGAIN_S)
    else:
        sys.__unraisablehook__(lost)
