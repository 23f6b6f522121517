"""The noun Machines: the servers that are bought, alike for all jobs."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput
from topoopt.catalog import find_accelerator
from topoopt.jobs import JobRequest
from topoopt.search import job_of
from topoopt.studies.choice.mix import JobShare
from topoopt.studies.choice.network import Network
from topoopt.studies.sweep import request_of

MATRICES = (".csv", ".npy")


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
        """Return the servers that a job runs on: those that are said, of known traffic its own, or all.

        Raises
        ------
        InvalidInput
            If it wants more than there are, or its file is wrong.
        """
        servers = job.servers or self._servers_of_traffic(job) or self.servers
        if servers > self.servers:
            raise InvalidInput(
                f"{job.name}: runs on {servers} servers, and {self.servers} are bought; give fewer, or buy more"
            )
        return servers

    def _servers_of_traffic(self, job: JobShare) -> int:
        """Return the servers of a matrix or a recording; 0 of all other jobs."""
        request = request_of(job.job, job.folder)
        if not request.traffic:
            return 0
        # rows of a matrix are servers; who means accelerators says how many servers these are
        matrix = request.traffic.endswith(MATRICES)
        cluster = {} if matrix else {"accelerators_per_server": self.accelerators_per_server}
        return job_of(request.overlaid(JobRequest(cluster=cluster))).cluster.servers

    def request(self, job: JobShare, network: Network | None = None) -> JobRequest:
        """Return the request for a job on these machines, with the ports of a network."""
        request = request_of(job.job, job.folder)
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
