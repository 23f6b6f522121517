"""The processes of jobs that share a link: a sender and a receiver each, started, commanded and ended."""

import json
import os
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from topoopt.base.answers import fields_of
from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.clusters.interleave import CommunicationProfile
from topoopt.plugins.testbeds.network import Testbed, identity

PACED_BELOW = 0.98
"""Fraction of the link: phases of a lower rate are paced by the kernel, others send as fast as they can."""


@dataclass(frozen=True, slots=True)
class TestbedLink:
    """The link that jobs share, and its scale on this host.

    Attributes
    ----------
    capacity_bps : float
        Capacity of the link, not scaled.
    scale : float
        Factor by which it is slower here.
    stretch : float
        Factor by which an iteration is longer here.
    """

    __test__ = False

    capacity_bps: float
    scale: float
    stretch: float

    @property
    def bandwidth_bps(self) -> float:
        """Bandwidth on this host."""
        return self.capacity_bps / self.scale


@dataclass(frozen=True, slots=True)
class Transfer:
    """Bytes to send after a time of computing; a rate of 0 is unlimited."""

    gap_s: float
    size_bytes: int
    rate_bps: float


@dataclass(frozen=True, slots=True)
class SharingJob:
    """A job as a process runs it, in seconds and bytes of the testbed.

    Attributes
    ----------
    begins_s : float
        Position in the profile at which the process begins: after a phase that wraps, else at its start.
    transfers : tuple of Transfer
        One for each phase.
    last_gap_s : float
        Computing after the last.
    """

    profile: CommunicationProfile
    begins_s: float
    transfers: tuple[Transfer, ...]
    last_gap_s: float

    @property
    def name(self) -> str:
        """Name of the job."""
        return self.profile.job

    @property
    def total_bytes(self) -> int:
        """Bytes sent in an iteration."""
        return sum(one.size_bytes for one in self.transfers)

    @property
    def compute_time_s(self) -> float:
        """The longest time without sends, after which a new iteration begins."""
        gaps_s = [one.gap_s for one in self.transfers]
        gaps_s[0] += self.last_gap_s  # around the end of an iteration
        return max(gaps_s)


START_LIMIT_S = 30.0
_WORKER = Path(__file__).with_name("worker.py")
_FIRST_PORT = 5001


@dataclass(frozen=True, slots=True)
class Sending:
    """Sending parameters of a job's process in a run.

    Attributes
    ----------
    congestion : str
        The congestion control, by its name in the kernel.
    mark : int
        Socket mark by which the kernel identifies the job; 0 sets the congestion control of its namespace, which
        then identifies the job.
    connections : int
        Connections that carry its bytes in equal parts.
    begin_s : float
        Time from the start of the run to the job's first iteration.
    """

    congestion: str
    mark: int
    connections: int
    begin_s: float


@dataclass(frozen=True, slots=True)
class Iteration:
    """One iteration as a process has timed it, from the beginning of the run.

    Attributes
    ----------
    start_s, end_s : float
    sending_s : float
        Time during which it sent, or waited for the last byte to arrive.
    """

    start_s: float
    end_s: float
    sending_s: float

    @property
    def time_s(self) -> float:
        """Duration of the iteration."""
        return self.end_s - self.start_s


class Processes:
    """A sender and a receiver for each job, in the namespaces of a testbed; to be used in a ``with`` statement."""

    def __init__(self, testbed: Testbed, jobs: Sequence[SharingJob]) -> None:
        self._jobs = jobs
        receiver = testbed.layout.servers - 1
        self._ended = ExitStack()
        with ExitStack() as unless_all_start:
            unless_all_start.callback(self._ended.close)
            ends = (("receive", receiver), ("send", None))
            started = {
                (role, job): self._started(testbed, role, job, job if server is None else server, receiver)
                for role, server in ends
                for job in range(len(jobs))
            }
            self._senders = [started["send", job] for job in range(len(jobs))]
            unless_all_start.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.close()

    def run(
        self,
        sending: Mapping[int, Sending],
        iterations: Mapping[int, int],
        at_end: Callable[[], None] = lambda: None,
    ) -> list[list[Iteration]]:
        """Run some of the jobs at once until each has done its iterations; none ends before.

        Parameters
        ----------
        sending : mapping from the number of a job to how it sends
        iterations : mapping from the number of a job to how many are counted
        at_end : function
            Called when the last is counted, while all connections are open.

        Returns
        -------
        list of lists
            Measured iterations of each job that runs.

        Raises
        ------
        Infeasible
            If a process fails or does not answer.
        """
        for job, how in sending.items():
            self._tell(job, _words(self._jobs[job], how))
        for job in sending:
            self._heard(job, "connected", START_LIMIT_S)
        begin_s = time.monotonic() + 0.05
        for job, how in sending.items():
            self._tell(job, {"begin_s": begin_s + how.begin_s})
        done: dict[int, list[Iteration]] = {job: [] for job in sending}
        while any(len(done[job]) < iterations[job] for job in sending):
            for job, words in self._some(sending):
                start_s, end_s, sent_s = words["iteration"]
                done[job].append(Iteration(start_s - begin_s, end_s - begin_s, sent_s))
        at_end()
        for job in sending:
            self._tell(job, {"stop": True})
        for job in sending:
            while "done" not in self._heard(job, "", self._patience_s(sending)):
                pass  # iterations that went on until all were done
        return [done[job][: iterations[job]] for job in sending]

    def _started(
        self, testbed: Testbed, role: str, job: int, server: int, receiver: int
    ) -> "subprocess.Popen[bytes]":
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(_WORKER)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,  # else a line may be here already, and nothing to wait for
            start_new_session=True,
        )
        self._ended.callback(_end, process)
        order = {
            "role": role,
            "parent": os.getpid(),
            "namespace": str(testbed.namespace_file(server)),
            "address": identity(receiver),
            "port": _FIRST_PORT + job,
        }
        _write(process, order)
        _read(process, f"job {self._jobs[job].name}", "ready", START_LIMIT_S)
        return process

    def _tell(self, job: int, words: Mapping[str, Any]) -> None:
        _write(self._senders[job], words)

    def _heard(self, job: int, expected: str, limit_s: float) -> Mapping[str, Any]:
        return _read(self._senders[job], f"job {self._jobs[job].name}", expected, limit_s)

    def _some(self, jobs: Mapping[int, Sending]) -> list[tuple[int, Mapping[str, Any]]]:
        """Wait for messages of senders and return them."""
        with selectors.DefaultSelector() as ready:
            for job in jobs:
                ready.register(self._senders[job].stdout or 0, selectors.EVENT_READ, job)
            some = ready.select(self._patience_s(jobs))
            if not some:
                raise Infeasible("testbed: no job has ended an iteration in time; is the link far too slow?")
            return [(key.data, self._heard(key.data, "iteration", START_LIMIT_S)) for key, _ in some]

    def _patience_s(self, jobs: Mapping[int, Sending]) -> float:
        longest_s = max(self._jobs[job].profile.iteration_time_s for job in jobs)
        slowest_s = max(sum(one.gap_s for one in self._jobs[job].transfers) for job in jobs)
        return START_LIMIT_S + 20.0 * max(longest_s, slowest_s)


def _words(job: SharingJob, how: Sending) -> Mapping[str, Any]:
    return {
        **fields_of(how, "congestion", "mark", "connections"),
        "steps": [
            [one.gap_s, max(one.size_bytes, how.connections), one.rate_bps / 8] for one in job.transfers
        ],
        "last_gap_s": job.last_gap_s,
    }


def _write(process: "subprocess.Popen[bytes]", words: Mapping[str, Any]) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError):  # why it has ended is read next
        process.stdin.write(json.dumps(words).encode() + b"\n")


def _read(process: "subprocess.Popen[bytes]", who: str, expected: str, limit_s: float) -> Mapping[str, Any]:
    assert process.stdout is not None
    with selectors.DefaultSelector() as ready:
        ready.register(process.stdout, selectors.EVENT_READ)
        if not ready.select(limit_s):
            raise Infeasible(f"testbed: {who}: its process has not answered in {limit_s:g} s")
    line = process.stdout.readline()
    if not line:
        raise Infeasible(f"testbed: {who}: its process has ended")
    words: Mapping[str, Any] = json.loads(line)
    if "error" in words:
        raise Infeasible(f"testbed: {who}: {words['error']}")
    assert not expected or expected in words, (expected, words)
    return words


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with suppress(BrokenPipeError):
                pipe.close()


def sharing_job(profile: CommunicationProfile, link: TestbedLink) -> SharingJob:
    """Return the work of a job's process in an iteration.

    The gaps of the profile are timed; a phase lasts as long as its bytes take, at most at its rate.

    Raises
    ------
    InvalidInput
        If the job sends nothing, or never stops.
    """
    if not profile.phases or not profile.size_bytes:
        raise InvalidInput(f"job {profile.job}: sends nothing; give a job with a phase")
    period_s = profile.iteration_time_s
    begins_s = max(0.0, profile.phases[-1].end_s - period_s)
    at_s, transfers = begins_s, []
    for phase in profile.phases:
        gap_s = max(0.0, phase.start_s - at_s)
        rate_bps = (
            phase.bandwidth_bps / link.scale if phase.bandwidth_bps < PACED_BELOW * link.capacity_bps else 0.0
        )
        size_bytes = max(1, round(phase.size_bytes * link.stretch / link.scale))
        transfer = Transfer(gap_s * link.stretch, size_bytes, rate_bps)
        transfers.append(transfer)
        at_s = phase.end_s
    last_gap_s = max(0.0, period_s + begins_s - at_s)
    job = SharingJob(profile, begins_s * link.stretch, tuple(transfers), last_gap_s * link.stretch)
    if not job.compute_time_s:
        raise InvalidInput(f"job {profile.job}: sends all the time; jobs that share a link pause somewhere")
    return job
