"""Trace of a cluster and its CSV file: jobs with their arrivals and work."""

from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Annotated

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from topoopt.base.errors import InvalidInput
from topoopt.clusters.served_model import serving_of_text
from topoopt.jobs import JobRequest, training_of_text
from topoopt.schema.files import Strict, headed_rows, read_text, validated, write_csv
from topoopt.search import is_transformer

LEAST_WORK = 1e-9
"""Iterations or seconds of a job, below which its share of all work is no number."""
LEAST_WHOLE = 2
"""Servers of a job that has whole servers; a scheduler of single workers may give a job one."""


@dataclass(frozen=True, slots=True)
class TraceJob:
    """A job that arrives at the cluster: training, or a served model.

    Attributes
    ----------
    model : str
        A model of the zoo or one of its variants, of which a plain name means the variant for its number of servers;
        or a transformer.
    servers : int
        Requested servers, at least 2.
    iterations : float
        Training steps to do on ``servers`` servers; 0 with ``duration_s``.
    duration_s : float
        Time of these steps with an ideal switch to itself, data parallel; 0 where ``iterations`` is given. The
        resulting number of steps is the same on every fabric.
    min_servers, max_servers : int
        An elastic job may run on fewer or more servers, see :attr:`sizes`; 0 for no other than ``servers``.
    batch_per_accelerator : int
        0 for the model's own. It stays as it is when an elastic job changes its size. Of a transformer sequences.
    training : str
        Training options of a transformer, as written by :func:`topoopt.jobs.text_of_training`: batch, sequence,
        degrees, adapters … that differ from the defaults.
    serving : str
        Load and split of a served model, as described in the guide on clusters. It runs for ``duration_s``
        whatever the fabric, and has no iterations. Empty for training.

    Raises
    ------
    InvalidInput
        If a value is out of range.
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
            if 0 < getattr(self, name) < LEAST_WORK:
                raise InvalidInput(
                    f"{here}: {name}: expected at least {LEAST_WORK:g}, got {getattr(self, name):g}"
                )
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
        """Refuse fields that a served model does not have."""
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


def check_model(job: TraceJob) -> None:
    """Refuse a job that cannot be planned whatever the cluster.

    Raises
    ------
    InvalidInput
        For an unknown model, training options that a model of operators does not have or that are misspelled, a
        batch size given twice, and a transformer that changes its size without a batch size per
        accelerator; for a served model that is no transformer, or whose options are wrong.
    """
    if job.serving:
        if not is_transformer(JobRequest(model=job.model)):
            raise InvalidInput(f"serving: is for transformers, and {job.model} is a graph of operators")
        serving_of_text(job.serving, "serving")
        return
    if not is_transformer(JobRequest(model=job.model)):
        if job.training:
            raise InvalidInput(f"training: is for transformers, and {job.model} is a graph of operators")
        return
    words = training_of_text(job.training, "training")
    if "accelerators" in words:
        raise InvalidInput("training: accelerators: a job has those of its servers; leave it out")
    if "global_batch" in words and job.batch_per_accelerator:
        raise InvalidInput(
            "training: global_batch: the batch is in batch_per_accelerator, too; leave one of them out"
        )
    if (job.min_servers or job.max_servers) and not job.batch_per_accelerator:
        raise InvalidInput(
            f"batch_per_accelerator: {job.model} may change its size, and an iteration is then worth as many sequences "
            "as it has accelerators; say how many each has"
        )
    if job.servers < LEAST_WHOLE and not job.batch_per_accelerator:
        raise InvalidInput(f"batch_per_accelerator: {job.model} on one worker; say how many sequences it has")


def check_models(trace: Trace) -> None:
    """Refuse a trace with a job that cannot be planned whatever the cluster.

    Raises
    ------
    InvalidInput
        As :func:`check_model`, with the trace and the job.
    """
    if all(job.serving for job in trace.jobs):
        raise InvalidInput(
            f"{trace.name}: all its jobs are served models; a cluster of these alone is what topoopt serving plans"
        )
    for job in trace.jobs:
        try:
            check_model(job)
        except InvalidInput as error:
            raise InvalidInput(f"{trace.name}: job {job.job}: {error}") from None


_Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]
_Servers = Annotated[int, Field(ge=1, le=10**6)]
_Positive = Annotated[float, Field(gt=0, le=10**15)]


class TraceRow(Strict):
    """One job as a row of the file; see ``examples/trace.csv``."""

    model_config = ConfigDict(title="A row of a trace of jobs")

    id: _Name = Field(description="Name of the job; each stands once.")
    model: _Name = Field(
        description="A model of topoopt models, one of its variants such as dlrm-16, or a transformer."
    )
    servers: _Servers = Field(
        description="Servers that the job asks for; one only with a scheduler of single workers."
    )
    arrival_s: Annotated[float, Field(ge=0, le=10**12)] = Field(description="When it comes, in seconds.")
    iterations: _Positive | None = Field(
        default=None, description="Training steps to do; either these or duration_s."
    )
    duration_s: _Positive | None = Field(
        default=None,
        description="How long the steps would take with an ideal switch to itself, data parallel.",
    )
    min_servers: _Servers | None = Field(default=None, description="An elastic job may shrink to so many.")
    max_servers: _Servers | None = Field(default=None, description="An elastic job may grow to so many.")
    batch_per_accelerator: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        default=None,
        description="Samples per accelerator; the model's own if empty. Of a transformer sequences.",
    )
    training: str = Field(
        default="",
        description="How a transformer is trained: words of the training with values, such as adapter_rank=16 "
        "global_batch=64.",
    )
    serving: str = Field(
        default="",
        description="Of a model that is served instead: its requests and its split, such as rate=8 isl=2000 osl=300 "
        "prefill_servers=2; it is served for duration_s.",
    )

    @model_validator(mode="after")
    def _goes_together(self) -> "TraceRow":
        if (self.iterations is None) == (self.duration_s is None):
            got = "neither" if self.iterations is None else "both"
            raise ValueError(f"give either iterations or duration_s, got {got}")
        if self.iterations is not None and self.iterations % 1:
            raise ValueError(f"iterations: expected a whole number, got {self.iterations:.15g}")
        if self.min_servers is not None and self.min_servers > self.servers:
            raise ValueError(f"min_servers must be at most servers, got {self.min_servers} > {self.servers}")
        if self.max_servers is not None and self.max_servers < self.servers:
            raise ValueError(f"max_servers must be at least servers, got {self.max_servers} < {self.servers}")
        return self


COLUMNS = tuple(TraceRow.model_fields)
"""The first is the job's name; the others are the fields of TraceJob, in their order."""
OPTIONAL = tuple(name for name, field in TraceRow.model_fields.items() if not field.is_required())


def read_trace(path: str | Path) -> Trace:
    """Return the jobs of a CSV file.

    Columns are those of :class:`TraceRow`, in any order; the optional ones may be left out or empty.

    Raises
    ------
    InvalidInput
        In one line with file, line and column: ``trace.csv: line 3: arrival_s: expected a number >= 0, got "-5"``.
    """
    place = str(path)
    expected = "a header row and a row for each job"
    needed = [name for name in COLUMNS if name not in OPTIONAL]
    _, rows = headed_rows(read_text(path), place, COLUMNS, expected, needed=needed)
    jobs: list[TraceJob] = []
    line_of: dict[str, int] = {}
    for number, here, cells in rows:
        job = _job(validated(TraceRow, {name: cell for name, cell in cells.items() if cell}, here), here)
        if job.job in line_of:
            raise InvalidInput(
                f'{here}: id: "{job.job}" is the id of line {line_of[job.job]}, too; give each job its own'
            )
        line_of[job.job] = number
        jobs.append(job)
    return Trace(Path(path).name, tuple(jobs))


def write_trace(path: str | Path, trace: Trace) -> None:
    """Write a trace that :func:`read_trace` reads, whole or not at all."""
    rows = (
        [cell or "" if name in OPTIONAL else cell for name, cell in zip(COLUMNS, astuple(job), strict=True)]
        for job in trace.jobs
    )
    write_csv(path, COLUMNS, rows)


def _job(row: TraceRow, here: str) -> TraceJob:
    try:
        job = TraceJob(row.id, **row.model_dump(exclude={"id"}, exclude_none=True))
        check_model(job)
        return job
    except InvalidInput as error:
        raise InvalidInput(f"{here}: {error}") from None
