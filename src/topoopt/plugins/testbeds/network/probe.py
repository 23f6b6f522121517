"""Can this machine have a testbed? Every feature of the kernel is tried, in a namespace that ends at once."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.plugins.testbeds.namespaces import inside_new
from topoopt.plugins.testbeds.network.netlink import pyroute2_here

_FORWARD = Path("/proc/sys/net/ipv4/ip_forward")


def check_machine() -> None:
    """Refuse, in one line, a machine that cannot have a testbed.

    Raises
    ------
    InvalidInput
        If this is not Linux, pyroute2 is missing, or the kernel or the right to use it.
    """
    if sys.platform != "linux":
        raise InvalidInput(f"testbed: needs Linux (network namespaces), this is {sys.platform}")
    pyroute2_here()
    try:
        inside_new(_try_all)
    except PermissionError:
        raise InvalidInput("testbed: making network namespaces needs root; run it as root (sudo)") from None
    except OSError as error:
        raise InvalidInput(
            f"testbed: this kernel has no network namespaces (CONFIG_NET_NS): {error}"
        ) from None


def _try_all() -> None:
    with pyroute2_here().IPRoute() as kernel:
        for what, option, attempt in _FEATURES:
            try:
                attempt(kernel)
            except Exception as error:
                if isinstance(error, OSError) or hasattr(error, "code"):
                    raise InvalidInput(f"testbed: this kernel has no {what} ({option}): {error}") from None
                raise


def _veth(kernel: Any) -> None:
    kernel.link("add", ifname="one", kind="veth", peer={"ifname": "other"})


def _bucket(kernel: Any) -> None:
    index = kernel.link_lookup(ifname="one")[0]
    kernel.tc("add", "tbf", index, 0x10000, rate=1_000_000, burst=20_000, limit=100_000)


def _bridge(kernel: Any) -> None:
    kernel.link("add", ifname="switch", kind="bridge")


def _settings(kernel: Any) -> None:
    _FORWARD.write_text("1")


def _rules(kernel: Any) -> None:
    kernel.rule("add", src="10.255.0.1", src_len=32, table=1000, priority=1000)


_FEATURES: tuple[tuple[str, str, Callable[[Any], None]], ...] = (
    ("veth pairs", "CONFIG_VETH", _veth),
    ("token buckets", "CONFIG_NET_SCH_TBF", _bucket),
    ("bridges", "CONFIG_BRIDGE", _bridge),
    ("policy routing", "CONFIG_IP_MULTIPLE_TABLES", _rules),
    ("settings that can be written", "/proc/sys; a container has to be privileged", _settings),
)
