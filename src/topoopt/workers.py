"""Processes that compute for another one end with it, however that ends."""

import ctypes
import os
import signal
import sys
import threading
from multiprocessing import parent_process

_PR_SET_PDEATHSIG = 1


def end_with_parent() -> None:
    """End this process as soon as the one that started it is gone; to be called first of all in a process.

    On Linux the kernel sees to it, also while compiled code keeps Python's threads from running. Elsewhere, and for
    a parent that was gone already, a thread waits for the parent's end.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    threading.Thread(target=_wait_for_the_end, daemon=True).start()


def _wait_for_the_end() -> None:
    parent = parent_process()
    assert parent is not None, "only a process that multiprocessing has started has a parent"
    parent.join()
    os._exit(1)
