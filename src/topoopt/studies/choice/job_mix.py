"""Mix of jobs, and Machines: the servers to buy, the same for all jobs."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.jobs import JobRequest, file_kind
from topoopt.schema.files import Strict, parse_yaml, read_text, validated
from topoopt.search import job_of
from topoopt.studies.choice.network import Network
from topoopt.studies.sweep import request_of
from topoopt.workloads.transformer import read_config

_WORD = re.compile(r"(?P<job>.*?)(?:@(?P<servers>\d{1,9}))?(?::(?P<share>[0-9.eE+-]+|[^:/.]*))?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class JobShare:
    """A job of the mix.

    Attributes
    ----------
    job : str
        A model's name, or the path of a job file.
    share : float
        Share of the server-hours of a year; the shares of a mix sum to 1.
    servers : int
        Servers that the job runs on; 0 for all servers.
    """

    job: str
    share: float
    servers: int = 0
    folder: str = "."

    @property
    def name(self) -> str:
        """The job, with its servers where these are not all.

        Examples
        --------
        >>> JobShare("dlrm", 0.4).name, JobShare("jobs/bert.yaml", 0.6, 16).name
        ('dlrm', 'bert@16')
        """
        short = _short_name(self.folder, self.job)
        return f"{short}@{self.servers}" if self.servers else short


@cache
def _short_name(folder: str, job: str) -> str:
    """Return the name of a job: that of the model in a ``config.json``, which lists the parts that are left out."""
    path = Path(folder, job)
    if path.suffix.lower() == ".json" and file_kind(str(path)) == "config":
        return read_config(path).name
    return Path(job).stem if "/" in job or job.endswith((".yaml", ".yml")) else job


Mix = tuple[JobShare, ...]


class _JobPart(Strict):
    job: str = Field(description="a model, or a job file beside this one")
    share: Annotated[float, Field(gt=0)] | None = Field(
        default=None, description="of the year; alike if none"
    )
    servers: Annotated[int, Field(ge=2)] | None = Field(default=None, description="all if not given")


class _MixFile(Strict):
    """A mix file; see ``examples/mix.yaml``."""

    jobs: Annotated[list[_JobPart], Field(min_length=1)]


Row = tuple[JobShare, float | None]
MATRICES = (".csv", ".npy")


@dataclass(frozen=True, slots=True)
class Machines:
    """Servers that the jobs run on.

    Attributes
    ----------
    accelerator : str
    accelerators_per_server : int
    intra_server_bandwidth_bps : float
        Bandwidth per accelerator.
    """

    servers: int
    accelerator: str
    accelerators_per_server: int
    intra_server_bandwidth_bps: float

    @property
    def words(self) -> str:
        """Description of the servers.

        Examples
        --------
        >>> Machines(64, "h100", 8, 3.6e12).words
        '64 servers of 8 × H100-SXM5-80GB'
        """
        return f"{self.servers} servers of {self.accelerators_per_server} × {find_accelerator(self.accelerator).name}"

    def of(self, job: JobShare) -> int:
        """Return the servers of a job: those given, those of its traffic, or all.

        Raises
        ------
        InvalidInput
            If it needs more than there are, or its file is wrong.
        """
        servers = job.servers or self._servers_of_traffic(job) or self.servers
        if servers > self.servers:
            raise InvalidInput(
                f"{job.name}: runs on {servers} servers, and {self.servers} are bought; give fewer, or buy more"
            )
        return servers

    def _servers_of_traffic(self, job: JobShare) -> int:
        request = request_of(job.job, job.folder)
        if not request.traffic:
            return 0
        # rows of a matrix are servers; who means accelerators says how many servers these are
        matrix = request.traffic.endswith(MATRICES)
        cluster = {} if matrix else {"accelerators_per_server": self.accelerators_per_server}
        return job_of(request.overlaid(JobRequest(cluster=cluster))).cluster.servers

    def request(self, job: JobShare, network: Network | None = None) -> JobRequest:
        """Return the request for a job on these servers, with the ports of a network."""
        request = request_of(job.job, job.folder)
        ports = (
            {} if network is None else {"degree": network.degree, "link_bandwidth_bps": network.bandwidth_bps}
        )
        cluster = {
            "servers": self.of(job),
            **fields_of(self, "accelerator", "accelerators_per_server", "intra_server_bandwidth_bps"),
            **ports,
        }
        return request.overlaid(JobRequest(cluster=cluster))


def read_mix(words: Sequence[str], weights: Sequence[str] = ()) -> Mix:
    """Return the mix of the given jobs, with shares normalized to 1.

    Parameters
    ----------
    words
        ``MODEL``, ``MODEL:SHARE``, ``MODEL@SERVERS:SHARE``, where a model is a name or a job file; or one mix file.
    weights
        Shares that replace those of ``words``, one for each job.

    Raises
    ------
    InvalidInput
        For no job, a repeated job, shares of some jobs only, or a share that is no positive number.

    Examples
    --------
    >>> [(one.name, one.share) for one in read_mix(["llama3-70b:3", "dlrm@16:1"])]
    [('llama3-70b', 0.75), ('dlrm@16', 0.25)]
    """
    if not words:
        raise InvalidInput("jobs: expected one or more, such as llama3-70b:0.6 dlrm:0.4")
    rows = _of_file(words[0]) if len(words) == 1 and _is_mix(words[0]) else [_of_word(word) for word in words]
    if weights:
        if len(weights) != len(rows):
            raise InvalidInput(f"weights: expected {len(rows)}, one for each job, got {len(weights)}")
        rows = [(job, _share(weight, "weights")) for (job, _), weight in zip(rows, weights, strict=True)]
    given = [share for _, share in rows if share is not None]
    if given and len(given) < len(rows):
        without = next(job.name for job, share in rows if share is None)
        raise InvalidInput(f"{without}: has no share, and others have; give one to each job, or to none")
    total = sum(given) or float(len(rows))
    mix = tuple(replace(job, share=(1.0 if share is None else share) / total) for job, share in rows)
    for index, job in enumerate(mix):
        if any((job.job, job.servers) == (one.job, one.servers) for one in mix[:index]):
            raise InvalidInput(f"{job.name}: stands twice; give it once, with the sum of the shares")
    return mix


def _of_word(word: str) -> Row:
    match = _WORD.fullmatch(word)
    assert match is not None
    if not match["job"]:
        raise InvalidInput(f'jobs: expected MODEL, MODEL:SHARE or MODEL@SERVERS:SHARE, got "{word}"')
    servers = int(match["servers"] or 0)
    if match["servers"] and servers < 2:
        raise InvalidInput(f"{word}: expected 2 servers or more after the @, got {servers}")
    return JobShare(match["job"], 0.0, servers), None if match["share"] is None else _share(
        match["share"], word
    )


def _share(text: str, place: str) -> float:
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not (isfinite(share) and share > 0):
        raise InvalidInput(f'{place}: expected a share above 0, such as 0.6, got "{text}"')
    return share


def _is_mix(word: str) -> bool:
    """Return whether a word names a mix file, which has ``jobs``, and no job file."""
    if not word.endswith((".yaml", ".yml")):
        return False
    document: Any = parse_yaml(read_text(word), word)
    return isinstance(document, Mapping) and "jobs" in document


def _of_file(path: str) -> list[Row]:
    model = validated(_MixFile, parse_yaml(read_text(path), path), path)
    folder = str(Path(path).parent)
    return [(JobShare(part.job, 0.0, part.servers or 0, folder), part.share) for part in model.jobs]
