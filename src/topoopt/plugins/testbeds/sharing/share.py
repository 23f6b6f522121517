"""Jobs share a link of this machine under one congestion control after the other, and are timed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from topoopt.base.answers import Progress
from topoopt.base.errors import InvalidInput
from topoopt.base.machine import later
from topoopt.base.units import format_bandwidth, format_bytes
from topoopt.plugins.testbeds.congestion_control import (
    MltcpIteration,
    MltcpJob,
    check_toolchain,
    forget,
    iterations,
    key_of_mark,
    key_of_namespace,
    new_algorithm,
    register,
    registered,
    tell,
    unrestricted,
)
from topoopt.plugins.testbeds.network import Layout, Testbed, build, switch_layout
from topoopt.plugins.testbeds.network.capacity import SHARE, carried, held_scale
from topoopt.plugins.testbeds.network.layout import SETTINGS, Shaping
from topoopt.plugins.testbeds.sharing.processes import Processes, Sending, SharingJob, TestbedLink
from topoopt.plugins.testbeds.sharing.shared_run import JobRun, SharedRun, Sharing, TestbedShare

FASTER = 4.0
"""Factor of all other links, so that packets queue and are dropped only before the shared one."""
MTU_BYTES = 1500
SETTINGS_OF_SHARING = {**SETTINGS, "net.ipv4.tcp_slow_start_after_idle": "1"}
"""Kernel default: after computing, the window starts anew under every congestion control."""
SLOWEST_BPS = 1e6
"""A full packet takes 12 ms on it."""
_LEAST_PACKETS = 4  # three acknowledgments tell a loss
_LINKS = 2  # that a packet crosses
_MEASURED_MTU_BYTES = (
    9000  # of what the machine is measured with; a small packet costs as much as a large one
)
MLTCP = "mltcp"
"""The congestion control that is compiled and registered; all others the kernel has."""
CONGESTION = ("reno", "cubic", MLTCP)
ALONE_ITERATIONS = 4
"""Iterations of each job alone; the first, with a new connection, does not count."""


def check_congestion(names: Sequence[str], by_namespace: bool) -> None:
    """Refuse a congestion control that this kernel does not have, or cannot be given.

    Raises
    ------
    InvalidInput
        In one line with the reason.
    """
    for name in names:
        if name == MLTCP:
            check_toolchain()
        elif name not in registered():
            raise InvalidInput(
                f"congestion {name}: this kernel has {', '.join(registered())}; load tcp_{name}"
            )
        elif by_namespace and name not in unrestricted():
            raise InvalidInput(
                f"congestion {name}: this machine lets namespaces have {', '.join(unrestricted())} only "
                "(net.ipv4.tcp_allowed_congestion_control); attach it by socket"
            )


@dataclass(frozen=True, slots=True)
class ShareSettings:
    """Settings of jobs that share a link.

    Attributes
    ----------
    congestion : tuple of str
        Names of congestion controls, run one after the other.
    time_shifts_s : tuple of float
        CASSINI's time shift of each job, not stretched: every congestion control is run with them, too; empty for
        none.
    runs, iterations : int
        Runs per policy, and iterations of the longest job in each run.
    connections : int
        Connections per job.
    queue_bytes : int
        Queue before the shared link.
    mltcp : MltcpJob
        Kernel parameters of all jobs; total and computing are filled in.
    learns : bool
        Whether the kernel has to learn these.
    by_namespace : bool
        Whether a job's congestion control is set by its namespace, not by its sockets.
    """

    congestion: tuple[str, ...]
    time_shifts_s: tuple[float, ...]
    runs: int
    iterations: int
    connections: int
    queue_bytes: int
    mltcp: MltcpJob
    learns: bool
    by_namespace: bool

    @property
    def ways(self) -> tuple[tuple[str, bool], ...]:
        """Each congestion control, and whether it is with time shifts."""
        shifted = (False, True) if self.time_shifts_s else (False,)
        return tuple((name, with_shifts) for with_shifts in shifted for name in self.congestion)


@dataclass(frozen=True, slots=True)
class _Bench:
    testbed: Testbed
    processes: Processes
    jobs: tuple[SharingJob, ...]
    link: TestbedLink
    settings: ShareSettings
    algorithm: str


def share_link(
    jobs: Sequence[SharingJob], link: TestbedLink, settings: ShareSettings, name: str, on_progress: Progress
) -> TestbedShare:
    """Run jobs that share a link under one policy after the other, repeatedly in every run.

    Whatever ends it, the network is removed and the congestion control is unregistered.

    Raises
    ------
    InvalidInput
        If this machine cannot have the testbed, or the name is taken.
    Infeasible
        If a process fails, or the kernel refuses the congestion control.
    """
    layout = bottleneck_layout(len(jobs), link.capacity_bps, settings.queue_bytes)
    algorithm = new_algorithm() if MLTCP in settings.congestion else ""
    on_progress("building the link", 0, 0)
    names = (algorithm,) if algorithm else ()
    with build(layout, name, link.scale, congestion=names) as testbed:
        if algorithm:
            on_progress("compiling MLTCP for this kernel", 0, 0)
            with later():
                register(algorithm)
        with Processes(testbed, jobs) as processes:
            bench = _Bench(testbed, processes, tuple(jobs), link, settings, algorithm)
            return _measured(bench, on_progress)


def _measured(bench: _Bench, on_progress: Progress) -> TestbedShare:
    settings, jobs = bench.settings, range(len(bench.jobs))
    dedicated_s = []
    for job in jobs:
        on_progress("each job alone", job, len(jobs))
        sending = Sending("reno", key_of_mark(job + 1), bench.settings.connections, 0.0)
        (done,) = bench.processes.run({job: sending}, {job: ALONE_ITERATIONS})
        alone = fmean(one.time_s for one in done[1:])
        dedicated_s.append(alone)
    runs: dict[tuple[str, bool], list[SharedRun]] = {way: [] for way in settings.ways}
    for number in range(settings.runs):
        for index, way in enumerate(settings.ways):
            on_progress("sharing", number * len(runs) + index, settings.runs * len(runs))
            runs[way].append(_one_run(bench, *way, dedicated_s))
    return TestbedShare(
        bench.jobs,
        bench.link,
        settings.queue_bytes,
        tuple(dedicated_s),
        tuple(Sharing(*way, tuple(done)) for way, done in runs.items()),
        tuple(shift_s * bench.link.stretch for shift_s in settings.time_shifts_s),
    )


def _one_run(bench: _Bench, congestion: str, shifted: bool, dedicated_s: Sequence[float]) -> SharedRun:
    jobs = range(len(bench.jobs))
    longest_s = max(job.profile.iteration_time_s for job in bench.jobs)
    counts = {
        number: round(bench.settings.iterations * longest_s / job.profile.iteration_time_s)
        for number, job in enumerate(bench.jobs)
    }
    if congestion == MLTCP:
        for job in jobs:
            _tell(bench, job)
    dropped = _dropped(bench.testbed)
    kernel: list[MltcpIteration] = []
    done = bench.processes.run(
        {job: _sending(bench, congestion, shifted, job) for job in jobs},
        counts,
        at_end=lambda: kernel.extend(iterations(bench.algorithm).values() if congestion == MLTCP else ()),
    )
    runs = tuple(
        JobRun(job.name, alone_s, tuple(its))
        for job, alone_s, its in zip(bench.jobs, dedicated_s, done, strict=True)
    )
    return SharedRun(runs, _dropped(bench.testbed) - dropped, tuple(kernel))


def _sending(bench: _Bench, congestion: str, shifted: bool, job: int) -> Sending:
    settings = bench.settings
    shift_s = settings.time_shifts_s[job] * bench.link.stretch if shifted else 0.0
    return Sending(
        bench.algorithm if congestion == MLTCP else congestion,
        0 if settings.by_namespace else key_of_mark(job + 1),
        settings.connections,
        bench.jobs[job].begins_s + shift_s,
    )


def _tell(bench: _Bench, number: int) -> None:
    """Set a job's parameters in the kernel, and clear its estimates."""
    settings, job = bench.settings, bench.jobs[number]
    key = key_of_mark(number + 1)
    if settings.by_namespace:
        key = key_of_namespace(Path(bench.testbed.namespace_file(number)))
    told = settings.mltcp
    if not settings.learns:
        parts = 1 if told.by_job else settings.connections
        told = replace(told, total_bytes=-(-job.total_bytes // parts), compute_time_s=job.compute_time_s)
    forget(bench.algorithm, key)
    tell(bench.algorithm, key, told)


def _dropped(testbed: Testbed) -> int:
    """Return the packets dropped so far by the shared link's queue."""
    receiver = testbed.layout.servers - 1
    return sum(port.dropped_packets for port in testbed.counters() if port.dst == receiver)


def check_link(capacity_bps: float, scale: float, queue_bytes: float) -> None:
    """Refuse a link that is too slow, and a queue that is too short, on any host.

    Raises
    ------
    InvalidInput
        With the scale or the size that works.
    """
    bandwidth_bps = capacity_bps / scale
    if bandwidth_bps < SLOWEST_BPS:
        raise InvalidInput(
            f"scale {scale:g}: a link of {format_bandwidth(bandwidth_bps)} is too slow; "
            f"use {capacity_bps / SLOWEST_BPS:g} or less"
        )
    if queue_bytes < _LEAST_PACKETS * MTU_BYTES:
        raise InvalidInput(
            f"queue {format_bytes(queue_bytes)}: must hold {_LEAST_PACKETS} packets of {MTU_BYTES} bytes; "
            f"use {format_bytes(_LEAST_PACKETS * MTU_BYTES)} or more"
        )


def bottleneck_scale(capacity_bps: float, scale: float, queue_bytes: float, given: bool) -> float:
    """Return a scale at which this host carries the link; errors as :func:`check_link` and :func:`held_scale`."""
    check_link(capacity_bps, scale, queue_bytes)
    most_bps = carried() * SHARE * MTU_BYTES / _MEASURED_MTU_BYTES / _LINKS
    held = held_scale("the link is", capacity_bps, most_bps, scale, given)
    check_link(capacity_bps, held, queue_bytes)
    return held


def bottleneck_layout(jobs: int, bandwidth_bps: float, queue_bytes: int) -> Layout:
    """Return the layout of the senders and, as the last server, the receiver.

    Parameters
    ----------
    bandwidth_bps : float
        Bandwidth of the link from the switch to the receiver, which all jobs share.
    queue_bytes : int
        Longest queue before it; further packets are dropped.
    """
    layout = switch_layout(jobs + 1, FASTER * bandwidth_bps)
    *others, last = layout.cables
    shared = replace(last, b=replace(last.b, bandwidth_bps=bandwidth_bps))
    shaping = Shaping(MTU_BYTES, queue_bytes, SETTINGS_OF_SHARING)
    return replace(layout, cables=(*others, shared), shaping=shaping, why="one link is shared by all jobs")
