"""The noun Machines: the servers that are bought, alike for all jobs."""

from dataclasses import dataclass
from pathlib import Path

from topoopt.choice.mix import JobShare
from topoopt.choice.network import Network
from topoopt.errors import InvalidInput
from topoopt.files import is_file
from topoopt.hardware import find_accelerator
from topoopt.job import JobRequest, request_of


@dataclass(frozen=True, slots=True)
class Machines:
    """What the jobs run on.

    Attributes
    ----------
    servers : int
        That are bought.
    accelerator : str
    accelerators_per_server : int
    intra_server_bandwidth_bps : float
        Of each accelerator.
    """

    servers: int
    accelerator: str
    accelerators_per_server: int
    intra_server_bandwidth_bps: float

    @property
    def words(self) -> str:
        """The servers in words.

        Examples
        --------
        >>> Machines(64, "h100", 8, 3.6e12).words
        '64 servers of 8 × H100-SXM5-80GB'
        """
        return f"{self.servers} servers of {self.accelerators_per_server} × {find_accelerator(self.accelerator).name}"

    def of(self, job: JobShare) -> int:
        """Return the servers that a job runs on.

        Raises
        ------
        InvalidInput
            If it wants more than there are.
        """
        if job.servers > self.servers:
            raise InvalidInput(
                f"{job.name}: runs on {job.servers} servers, and {self.servers} are bought; give fewer, or buy more"
            )
        return job.servers or self.servers

    def request(self, job: JobShare, network: Network | None = None) -> JobRequest:
        """Return the request for a job on these machines, with the ports of a network."""
        path = str(Path(job.folder) / job.job)
        request = request_of(path if is_file(path) else job.job)
        ports = (
            {} if network is None else {"degree": network.degree, "link_bandwidth_bps": network.bandwidth_bps}
        )
        cluster = {
            "servers": self.of(job),
            "accelerator": self.accelerator,
            "accelerators_per_server": self.accelerators_per_server,
            "intra_server_bandwidth_bps": self.intra_server_bandwidth_bps,
            **ports,
        }
        return request.overlaid(JobRequest(cluster=cluster))
