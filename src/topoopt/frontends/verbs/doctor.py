"""``topoopt.doctor``: checks of this machine, with remedies."""

import os
import re
import shutil
import sys
import webbrowser
from collections.abc import Iterator, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from platform import machine, python_version
from tempfile import gettempdir

from topoopt.base import plugins
from topoopt.base.answers import __version__
from topoopt.base.errors import InvalidInput
from topoopt.base.limits import available_bytes
from topoopt.base.machine import Check, Installation
from topoopt.base.units import format_bytes, format_memory
from topoopt.base.workers import PACKAGE, kernel_places
from topoopt.schema.words import read_settings, settings_file, usual_settings_file

GIVES: Mapping[str, str] = {
    "frame": "answers as tables: to_frame()",
    "figures": "charts as PNG, SVG and PDF, plot() in notebooks",
    "sweep": "topoopt sweep and its results files",
    "parquet": "simulated flows and links as Parquet",
    "import": "models in ONNX",
    "studio": "the live page: topoopt studio",
    "torch": "measured operators: topoopt profile",
    "testbed": "training in network namespaces: topoopt testbed",
    "ray": "sweeps on many machines",
}
"""Capabilities by the extra that adds them."""
_NEEDED = re.compile(r"(?P<name>[\w.-]+)[^;]*(?:; *extra *== *['\"](?P<extra>[\w-]+)['\"])?")
_ENTRY = re.compile(r"^@(?:concurrent_)?entry\n(?:@.*\n)*def (\w+)", re.MULTILINE)
_ADMINISTRATOR = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21}
"""Capabilities that a testbed needs, and their bits in the kernel's sets."""


def doctor() -> Installation:
    """Check this machine for all that topoopt uses, with the remedy where something is missing.

    Returns
    -------
    Installation

    Examples
    --------
    >>> import topoopt
    >>> [check.name for check in topoopt.doctor().checks][:3]
    ['topoopt', 'python', 'machine']
    """
    return Installation(tuple(_checks()))


def _checks() -> Iterator[Check]:
    yield Check("topoopt", f"{__version__} in {PACKAGE}")
    yield Check("python", f"{python_version()}, {sys.executable}")
    memory = format_memory(available_bytes())
    yield Check("machine", f"{os.cpu_count()} × {machine()}, {memory} of memory free, {sys.platform}")
    needed = _needed()
    core = needed.pop("", {})
    missing = [name for name, found in core.items() if not found]
    listed = ", ".join(f"{name} {found}" for name, found in core.items() if found)
    yield Check("libraries", listed, f"pip install {' '.join(missing)}" if missing else "")
    yield _kernels()
    for extra, gives in GIVES.items():
        packages = needed.get(extra, {})
        there = ", ".join(f"{name} {found}" for name, found in packages.items() if found)
        whole = packages and all(packages.values())
        found = f"{there}: {gives}" if whole else f"{there or 'not installed'}; it gives {gives}"
        yield Check(f"extra {extra}", found, "" if whole else f'pip install "topoopt[{extra}]"')
    try:
        yield Check("browser", getattr(webbrowser.get(), "name", "") or "found")
    except webbrowser.Error:
        yield Check("browser", "none", "open the address that topoopt studio prints, or a report, elsewhere")
    yield _namespaces()
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    tools = [tool for tool in ("clang", "bpftool") if not shutil.which(tool, path=path)]
    remedy = f"apt-get install {' '.join(tools)}" if tools else ""
    yield Check("mltcp in testbeds", f"no {', '.join(tools)}" if tools else "clang and bpftool", remedy)
    here = "on this machine" if Path(gettempdir(), "ray", "ray_current_cluster").is_file() else ""
    cluster = os.environ.get("RAY_ADDRESS", here)
    yield Check(
        "ray cluster", cluster or "none", "" if cluster else "none is needed: sweeps use this machine's cores"
    )
    yield _plugins()
    own = settings_file()
    if own is None:
        yield Check("settings", f"none (looked for {usual_settings_file()})")
    else:
        given = ", ".join(f"{name} {value}" for name, value in read_settings(own).items())
        yield Check("settings", f"{own}: {given}")


def _needed() -> dict[str, dict[str, str]]:
    """Return the versions of the packages of each extra, empty where missing; of topoopt itself under no name."""
    needed: dict[str, dict[str, str]] = {}
    try:
        lines = requires(plugins.DISTRIBUTION) or []
    except PackageNotFoundError:  # a source tree that is not installed
        lines = []
    for line in lines:
        part = _NEEDED.match(line)
        assert part, line
        try:
            found = version(part["name"])
        except PackageNotFoundError:
            found = ""
        needed.setdefault(part["extra"] or "", {})[part["name"]] = found
    return needed


def _kernels() -> Check:
    """Return how many kernels are compiled, and where."""
    written_s = {
        f"{file.stem}.{name}": file.stat().st_mtime
        for file in (*PACKAGE.rglob("*_kernel.py"), *PACKAGE.rglob("kernel/*.py"))
        for name in _ENTRY.findall(file.read_text(encoding="utf-8"))
    }
    places = kernel_places()
    indices = {
        index.name.split("-")[0]: index
        for place in places
        for index in place.rglob("*.nbi")
        if index.stat().st_mtime >= written_s.get(index.name.split("-")[0], float("inf"))
    }
    current = [one for index in indices.values() for one in index.parent.glob(f"{index.stem}.*.nbc")]
    size = format_bytes(sum(file.stat().st_size for file in current))
    found = f"{len(indices)} of {len(written_s)} compiled, {size} in {places[0]}"
    return Check("kernels", found, "" if indices else "the first plan compiles them, once, in a minute or so")


def _namespaces() -> Check:
    if sys.platform != "linux":
        return Check("testbed", f"no network namespaces on {sys.platform}", "run topoopt testbed on Linux")
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    held = int(re.findall(r"CapEff:\s*(\w+)", status)[0], 16)
    lacking = [name for name, bit in _ADMINISTRATOR.items() if not held >> bit & 1]
    found = f"no {', '.join(lacking)}" if lacking else "network namespaces may be made"
    return Check("testbed", found, "run topoopt testbed as root (sudo)" if lacking else "")


def _plugins() -> Check:
    groups = (plugins.VERBS, plugins.PAGES, plugins.ACCELERATORS, plugins.NETWORKS, plugins.COLLECTIVES)
    foreign, broken = dict[str, None](), list[str]()
    for point in (one for group in groups for one in plugins.entry_points(group)):
        if point.distribution != plugins.DISTRIBUTION:
            foreign[f"{point.distribution} {version(point.distribution)}"] = None
            try:
                point.load()
            except InvalidInput as error:
                broken.append(str(error))
    return Check("plug-ins", ", ".join(foreign) or "none but topoopt's own", "; ".join(broken))
