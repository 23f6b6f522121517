"""Can this machine train at all, and so many processes? Asked before anything takes time."""

from topoopt.base.limits import refuse_too_large
from topoopt.plugins.testbeds.network import check_machine
from topoopt.plugins.testbeds.training.ranks import need_pytorch

SHARED_BYTES = 0.4e9
"""PyTorch as it is imported once, and the one that commands; measured: 0.3 GB of code and data that all share."""
PROCESS_BYTES = 6e7
"""A process of its own has, while it trains: 45 MB measured on 12 servers."""


def check_ready() -> None:
    """Refuse a machine that cannot have a testbed, or lacks PyTorch.

    Raises
    ------
    InvalidInput
        In one line that says why.
    """
    need_pytorch()
    check_machine()


def check_processes(servers: int) -> None:
    """Refuse more servers than this machine has memory for.

    Raises
    ------
    Infeasible
        With how many it has.
    """
    refuse_too_large(
        f"testbed: {servers} PyTorch processes",
        SHARED_BYTES + servers * PROCESS_BYTES,
        "take a plan of fewer servers",
    )
