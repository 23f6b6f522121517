"""Proposals of the strategy search per CPU-second, on the authors' two DLRM jobs."""

from collections.abc import Iterator

from benchmarks.figure import Figure
from benchmarks.program import plan

SOURCE = "FlexNet on one core of a current server, measured with the authors' program"


def figures() -> Iterator[Figure]:
    for servers, limit, original in ((128, 1_000, 0.11), (16, 10_000, 310)):
        job = ("dlrm", "--servers", str(servers), "--degree", "4", "--bandwidth", "100Gbps")
        plan(*job, "--budget", "100")  # compile the kernels
        speed = plan(*job)["proposals_per_s"]
        yield Figure(f"search, DLRM-{servers}", speed, "proposals/CPU s", limit, True, original, SOURCE)
