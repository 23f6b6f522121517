"""What turns the C file into what the kernel loads: clang, bpftool and the kernel's own types; and what lacks of it."""

import ctypes
import os
import shutil
import signal
import subprocess
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from topoopt.base.errors import Infeasible, InvalidInput

SOURCE = Path(__file__).with_name("mltcp.bpf.c")
KERNEL_TYPES = Path("/sys/kernel/btf/vmlinux")
"""Where a kernel says which structures it has (BTF)."""
LONGEST_NAME = 13
"""Characters of an algorithm's name: the kernel has 15, and its maps' names have two more."""

_PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", "/usr/local/sbin"))
_LIMIT_S = 120.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)


def check_toolchain() -> None:
    """Refuse a machine on which no congestion control can be compiled and loaded.

    Raises
    ------
    InvalidInput
        In one line that says what is missing, and what works without it.
    """
    if not KERNEL_TYPES.exists():
        raise InvalidInput(
            f"congestion mltcp: this kernel does not describe its types (no {KERNEL_TYPES}: CONFIG_DEBUG_INFO_BTF, "
            "CONFIG_BPF_JIT); use another kernel, or reno or cubic"
        )
    for tool in ("clang", "bpftool"):
        tool_path(tool)


def tool_path(tool: str) -> str:
    """Return where a program is.

    Raises
    ------
    InvalidInput
        If it is not installed.
    """
    found = shutil.which(tool, path=_PLACES)
    if found is None:
        raise InvalidInput(
            f"congestion mltcp: {tool} is not installed; install it (apt-get install clang bpftool), "
            "or take reno or cubic"
        )
    return found


def compile_algorithm(name: str, folder: Path) -> Path:
    """Compile MLTCP for the kernel that runs, and return the object's file.

    Parameters
    ----------
    name : str
        By which sockets will choose it.
    folder : Path
        Where the object is written, and the kernel's types.

    Raises
    ------
    InvalidInput
        If a tool is missing.
    Infeasible
        If the compiler refuses, with its first complaint.
    """
    assert 0 < len(name) <= LONGEST_NAME, name
    types, made = folder / "vmlinux.h", folder / f"{name}.o"
    types.write_text(run_tool("bpftool", "btf", "dump", "file", str(KERNEL_TYPES), "format", "c"))
    target = ("-O2", "-g", "-target", "bpf", "-mcpu=v3", f"-DALGORITHM={name}", f"-I{folder}")
    run_tool("clang", *target, "-c", str(SOURCE), "-o", str(made))
    return made


def run_tool(tool: str, *words: str) -> str:
    """Return what a program prints.

    It does not hear Ctrl-C, so that it is never ended between two steps, and ends with this process: what is killed
    registers nothing afterwards.

    Raises
    ------
    InvalidInput
        If it is not installed.
    Infeasible
        If it fails, with the line of its complaint that says most, or does not end.
    """
    command: Sequence[str] = (tool_path(tool), *words)
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            start_new_session=True,
            timeout=_LIMIT_S,
            preexec_fn=partial(_end_with_parent, os.getpid()),
        )
    except subprocess.TimeoutExpired:
        raise Infeasible(f"congestion mltcp: {tool} {words[0]} has not ended in {_LIMIT_S:g} s") from None
    if done.returncode != 0:
        raise Infeasible(
            f"congestion mltcp: {tool} {words[0]} fails: {_complaint(done.stderr or done.stdout)}"
        )
    return done.stdout


def _end_with_parent(parent: int) -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # killed before the request was made: no signal will come any more
        os._exit(1)


def _complaint(text: str) -> str:
    """Return the line that says most: an error of a compiler, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "rror:" in line]
    return (errors or lines or ["no reason given"])[0][:300]
