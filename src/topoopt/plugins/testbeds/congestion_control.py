"""A congestion control is registered with the kernel under a name of its own, and always unregistered."""

import ctypes
import json
import os
import re
import secrets
import shutil
import signal
import struct
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.simulation import Aggressiveness

SOURCE = Path(__file__).with_name("mltcp.bpf.c")
KERNEL_TYPES = Path("/sys/kernel/btf/vmlinux")
"""Type information (BTF) of the running kernel."""
LONGEST_NAME = 13
"""Characters of an algorithm's name: the kernel has 15, and its maps' names have two more."""
_PLACES = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin", "/sbin", "/usr/local/sbin"))
_LIMIT_S = 120.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
ONE = 1024
"""One, in the kernel's fixed-point numbers."""
_LARGEST = float(1 << 20)
_OF_NAMESPACE = 1 << 32
_JOB, _KEY = struct.Struct("<iiQQQ"), struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class MltcpJob:
    """Parameters of a job for the kernel.

    Attributes
    ----------
    aggressiveness : Aggressiveness
        F, by which the growth of windows is multiplied: a linear one.
    total_bytes : int
        Bytes per iteration, of one connection or of all together; 0: the kernel learns them.
    compute_time_s : float
        The gap between two iterations; 0: the kernel learns it.
    by_job : bool
        Whether the bytes of all connections of the job count together.

    Raises
    ------
    InvalidInput
        For another form of F, or one that is too large.
    """

    aggressiveness: Aggressiveness = field(default_factory=Aggressiveness)
    total_bytes: int = 0
    compute_time_s: float = 0.0
    by_job: bool = False

    def __post_init__(self) -> None:
        asked = self.aggressiveness
        if asked.form != "linear":
            raise InvalidInput(f"aggressiveness: the kernel has linear only, got {asked.form}")
        for name, value in (("slope", asked.slope), ("intercept", asked.intercept)):
            if abs(value) > _LARGEST:
                raise InvalidInput(
                    f"{name}: must be in -{_LARGEST:g}..{_LARGEST:g} in the kernel, got {value:g}"
                )

    def packed(self) -> bytes:
        """Return the kernel's representation: ``struct mltcp_job`` of the C file."""
        factors = round(self.aggressiveness.slope * ONE), round(self.aggressiveness.intercept * ONE)
        return _JOB.pack(*factors, self.total_bytes, round(self.compute_time_s * 1e9), self.by_job)


@dataclass(frozen=True, slots=True)
class MltcpIteration:
    """Kernel's estimates for a job or for one connection.

    Attributes
    ----------
    number : int
        Number of the current iteration; the first is 1.
    sent_bytes : int
        Acknowledged in it.
    total_bytes : int
        Learned: median of the first three whole iterations; 0 until then.
    compute_time_s : float
        Learned: the shortest gap between two.
    learned_iterations : int
        Number of iterations that they were learned from.
    """

    number: int
    sent_bytes: int
    total_bytes: int
    compute_time_s: float
    learned_iterations: int


PREFIX = "mltcp_"
"""Prefix of our algorithms' names."""
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
    """Return the names that a network namespace may have as its default; ours are among them."""
    return tuple(_ALLOWED.read_text().split())


def register(name: str) -> None:
    """Compile MLTCP and load it into the kernel under a name, which the caller has recorded before.

    Only sockets that request it by name use it.

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
    """Unregister a congestion control of ours, and return whether the kernel had it.

    Sockets that still use it keep it until they are closed; no other can get it.
    """
    if not _OURS.fullmatch(name) or name not in registered():
        return False
    run_tool("bpftool", "struct_ops", "unregister", "name", name)
    return True


def key_of_mark(mark: int) -> int:
    """Return the key of the job whose sockets bear a mark (``SO_MARK``)."""
    assert 0 < mark < _OF_NAMESPACE, mark
    return mark


def key_of_namespace(place: Path) -> int:
    """Return the key of the job that a network namespace is of, for sockets without a mark."""
    return _OF_NAMESPACE | place.stat().st_ino


def tell(algorithm: str, key: int, job: MltcpJob) -> None:
    """Set a job's parameters in the kernel; connections opened from now on use them from the start.

    Raises
    ------
    Infeasible
        If no such algorithm is registered.
    """
    words = ("key", *_bytes(_KEY.pack(key)), "value", *_bytes(job.packed()))
    run_tool("bpftool", "map", "update", "name", f"{algorithm}_p", *words)


def iterations(algorithm: str) -> Mapping[int, MltcpIteration]:
    """Return the kernel's estimates, by the key of the job, or by a number of the connection."""
    rows: list[Any] = json.loads(run_tool("bpftool", "-j", "map", "dump", "name", f"{algorithm}_i"))
    found = {}
    for row in rows:
        value = row["formatted"]["value"]
        known = value["learned"] > 0
        found[int(row["formatted"]["key"])] = MltcpIteration(
            value["number"],
            value["bytes"],
            value["total_bytes"] if known else 0,
            value["compute_time_ns"] / 1e9 if known else 0.0,
            value["learned"],
        )
    return MappingProxyType(found)


def forget(algorithm: str, key: int) -> None:
    """Clear the kernel's estimates for a job, if there are any."""
    if key in iterations(algorithm):
        run_tool("bpftool", "map", "delete", "name", f"{algorithm}_i", "key", *_bytes(_KEY.pack(key)))


def _bytes(packed: bytes) -> tuple[str, ...]:
    return ("hex", *(f"{one:02x}" for one in packed))


def check_toolchain() -> None:
    """Refuse a host on which no congestion control can be compiled and loaded.

    Raises
    ------
    InvalidInput
        In one line: the missing tool, and the features that work without it.
    """
    if not KERNEL_TYPES.exists():
        raise InvalidInput(
            f"congestion mltcp: this kernel does not describe its types (no {KERNEL_TYPES}: CONFIG_DEBUG_INFO_BTF, "
            "CONFIG_BPF_JIT); use another kernel, or reno or cubic"
        )
    for tool in ("clang", "bpftool"):
        tool_path(tool)


def tool_path(tool: str) -> str:
    """Return the path of a program.

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
        Name by which sockets will choose it.
    folder : Path
        Folder for the object file, and the kernel's types.

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
    """Run a program and return its output.

    It ignores Ctrl-C, so that it never ends between two steps, and ends with this process: a killed one registers
    nothing afterwards.

    Raises
    ------
    InvalidInput
        If it is not installed.
    Infeasible
        If it fails, with the most informative line of its error, or does not end.
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
    """Return the most informative line: a compiler error, else the first."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    errors = [line for line in lines if "rror:" in line]
    return (errors or lines or ["no reason given"])[0][:300]
