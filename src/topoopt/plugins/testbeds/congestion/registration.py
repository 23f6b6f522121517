"""A congestion control is registered with the kernel under a name of its own, and unregistered whatever happens."""

import re
import secrets
import tempfile
from pathlib import Path

from topoopt.plugins.testbeds.congestion.toolchain import compile_algorithm, run_tool

PREFIX = "mltcp_"
"""What the names of ours begin with."""

_AVAILABLE = Path("/proc/sys/net/ipv4/tcp_available_congestion_control")
_ALLOWED = Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
_OURS = re.compile(rf"{PREFIX}[0-9a-f]{{6}}")


def new_algorithm() -> str:
    """Return a name that no congestion control has."""
    return f"{PREFIX}{secrets.token_hex(3)}"


def registered() -> tuple[str, ...]:
    """Return the names of all congestion controls that this kernel has, ours among them."""
    return tuple(_AVAILABLE.read_text().split())


def unrestricted() -> tuple[str, ...]:
    """Return the names of those that a network namespace may have as its default; ours are."""
    return tuple(_ALLOWED.read_text().split())


def register(name: str) -> None:
    """Compile MLTCP and let the kernel have it under a name; who calls has noted the name before.

    No socket takes it unless it asks for it by that name.

    Raises
    ------
    InvalidInput
        If the machine lacks a tool.
    Infeasible
        If the compiler or the kernel refuses.
    """
    assert _OURS.fullmatch(name), name
    with tempfile.TemporaryDirectory(prefix="topoopt-mltcp-") as folder:
        made = compile_algorithm(name, Path(folder))
        run_tool("bpftool", "struct_ops", "register", str(made))


def unregister(name: str) -> bool:
    """Take a congestion control of ours back, and return whether the kernel had it.

    Sockets that still use it keep it until they are closed; no other can get it.
    """
    if not _OURS.fullmatch(name) or name not in registered():
        return False
    run_tool("bpftool", "struct_ops", "unregister", "name", name)
    return True
