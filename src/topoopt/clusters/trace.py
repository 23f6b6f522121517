"""The nouns of a trace: which jobs come to a cluster, when, and how much they have to do."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput

LEAST_WHOLE = 2
"""Servers of a job that has whole servers; a scheduler of single workers may give a job one."""


@dataclass(frozen=True, slots=True)
class TraceJob:
    """One job that comes to the cluster: training, or a model that is served.

    Attributes
    ----------
    job : str
        Its id.
    model : str
        A model of the zoo or one of its variants, of which a plain name means the variant for its number of servers;
        or a transformer.
    servers : int
        Servers that it asks for, at least 2.
    arrival_s : float
        When it comes.
    iterations : float
        Training steps to do on ``servers`` servers; 0 where ``duration_s`` says it.
    duration_s : float
        How long these steps would take with an ideal switch to itself, data parallel; 0 where ``iterations`` says
        it. The number of steps that follows is the same on every fabric.
    min_servers, max_servers : int
        An elastic job may run on fewer or more servers, see :attr:`sizes`; 0 for no other than ``servers``.
    batch_per_accelerator : int
        0 for the model's own. It stays as it is when an elastic job changes its size. Of a transformer sequences.
    training : str
        How a transformer is trained, as :func:`topoopt.jobs.text_of_training` writes it: what of batch, sequence,
        degrees, adapters ... is not to be as usual.
    serving : str
        Of a model that is served: its load and its split, as the guide of clusters says them. It runs
        for ``duration_s`` whatever the fabric, and has no iterations. Empty for training.

    Raises
    ------
    InvalidInput
        If a value is outside what is allowed.
    """

    job: str
    model: str
    servers: int
    arrival_s: float
    iterations: float = 0.0
    duration_s: float = 0.0
    min_servers: int = 0
    max_servers: int = 0
    batch_per_accelerator: int = 0
    training: str = ""
    serving: str = ""

    def __post_init__(self) -> None:
        here = f"job {self.job}"
        if self.servers < 1:
            raise InvalidInput(f"{here}: servers: expected an integer >= 1, got {self.servers}")
        if not 0 <= self.arrival_s < float("inf"):
            raise InvalidInput(f"{here}: arrival_s: expected seconds >= 0, got {self.arrival_s:g}")
        for name in ("iterations", "duration_s"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise InvalidInput(f"{here}: {name}: expected a number > 0, got {getattr(self, name):g}")
        if (self.iterations > 0) == (self.duration_s > 0):
            raise InvalidInput(f"{here}: give either iterations or duration_s, a number > 0")
        if self.min_servers and not 1 <= self.min_servers <= self.servers:
            raise InvalidInput(
                f"{here}: min_servers: expected 1 .. {self.servers} (its servers), got {self.min_servers}"
            )
        if self.max_servers and self.max_servers < self.servers:
            raise InvalidInput(
                f"{here}: max_servers: expected at least {self.servers} (its servers), got {self.max_servers}"
            )
        if self.batch_per_accelerator < 0:
            got = self.batch_per_accelerator
            raise InvalidInput(f"{here}: batch_per_accelerator: expected an integer >= 1, got {got}")
        if self.serving:
            self._check_served(here)

    def _check_served(self, here: str) -> None:
        """Refuse what a served model does not have."""
        if not self.duration_s:
            raise InvalidInput(
                f"{here}: duration_s: say how long the model is served, in seconds; serving has no iterations"
            )
        for name in ("min_servers", "max_servers", "batch_per_accelerator", "training"):
            if getattr(self, name):
                raise InvalidInput(f"{here}: {name}: is for training, and this job is served; leave it out")

    @property
    def sizes(self) -> tuple[int, ...]:
        """Numbers of servers that it can run on, ascending: ``servers`` halved and doubled within the limits.

        With a scheduler of single workers it is every number within them.

        Examples
        --------
        >>> TraceJob("a", "dlrm", 16, 0.0, iterations=10, min_servers=6, max_servers=32).sizes
        (8, 16, 32)
        """
        sizes = [self.servers]
        while sizes[0] % 2 == 0 and sizes[0] // 2 >= max(self.min_servers or self.servers, LEAST_WHOLE):
            sizes.insert(0, sizes[0] // 2)
        while 2 * sizes[-1] <= self.max_servers:
            sizes.append(2 * sizes[-1])
        return tuple(sizes)


@dataclass(frozen=True, slots=True)
class Trace:
    """Jobs in order of arrival, equal times in the order given.

    Raises
    ------
    InvalidInput
        If there is no job, or two have one id.
    """

    name: str
    jobs: tuple[TraceJob, ...]

    def __post_init__(self) -> None:
        if not self.jobs:
            raise InvalidInput(f"{self.name}: expected at least one job, got none")
        met: set[str] = set()
        for job in self.jobs:
            if job.job in met:
                raise InvalidInput(
                    f'{self.name}: id: "{job.job}" stands twice; give each job an id of its own'
                )
            met.add(job.job)
        ordered = tuple(sorted(self.jobs, key=lambda job: job.arrival_s))
        object.__setattr__(self, "jobs", ordered)


def check_several(trace: Trace) -> None:
    """Refuse a job of one server where jobs have whole servers and links between them.

    Raises
    ------
    InvalidInput
        With the job and the remedy.
    """
    for job in trace.jobs:
        if job.servers < LEAST_WHOLE:
            raise InvalidInput(
                f"{trace.name}: job {job.job}: one server has nobody to send to; give it {LEAST_WHOLE} or more, "
                "or a scheduler, whose workers may be alone"
            )


def check_fits(trace: Trace, servers: int) -> None:
    """Refuse a job that is larger than the cluster.

    Raises
    ------
    InvalidInput
        With the job, its size and the remedy.
    """
    for job in trace.jobs:
        if job.sizes[0] > servers:
            raise InvalidInput(
                f"{trace.name}: job {job.job}: needs {job.sizes[0]} servers, the cluster has {servers}; "
                f"use servers={job.sizes[0]} or more, or a smaller job"
            )
