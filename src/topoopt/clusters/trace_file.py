"""A trace as a CSV file: one row a job."""

from dataclasses import astuple
from pathlib import Path
from typing import Annotated, Any

from pydantic import ConfigDict, Field, StringConstraints, model_validator

from topoopt.base.errors import InvalidInput, check_known
from topoopt.clusters.trace import Trace, TraceJob
from topoopt.clusters.trace_model import check_model
from topoopt.schema.files import Strict, csv_lines, read_text, validated, write_csv

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
        if self.min_servers is not None and self.min_servers > self.servers:
            raise ValueError(f"min_servers must be at most servers, got {self.min_servers} > {self.servers}")
        if self.max_servers is not None and self.max_servers < self.servers:
            raise ValueError(f"max_servers must be at least servers, got {self.max_servers} < {self.servers}")
        return self


COLUMNS = tuple(TraceRow.model_fields)
"""The first is the job's name; the others are called as the fields of TraceJob, and stand in their order."""
OPTIONAL = tuple(name for name, field in TraceRow.model_fields.items() if not field.is_required())


def trace_schema() -> dict[str, Any]:
    """Return the JSON Schema of a row, its cells read as numbers where they are."""
    return TraceRow.model_json_schema()


def read_trace(path: str | Path) -> Trace:
    """Return the jobs of a CSV file.

    Columns are those of :class:`TraceRow`, in any order; the optional ones may be left out or empty.

    Raises
    ------
    InvalidInput
        In one line with file, line and column: ``trace.csv: line 3: arrival_s: expected a number >= 0, got "-5"``.
    """
    place = str(path)
    rows = [
        (number, cells)
        for number, cells in csv_lines(read_text(path), place)
        if any(cell.strip() for cell in cells)
    ]
    if not rows:
        raise InvalidInput(f"{place}: expected a header row and a row for each job, got an empty file")
    header = _header(rows[0][1], place)
    if len(rows) == 1:
        raise InvalidInput(f"{place}: expected a row for each job below the header, got none")
    jobs: list[TraceJob] = []
    line_of: dict[str, int] = {}
    for number, cells in rows[1:]:
        here = f"{place}: line {number}"
        if len(cells) != len(header):
            raise InvalidInput(f"{here}: expected {len(header)} cells as in the header, got {len(cells)}")
        values = {name: cell.strip() for name, cell in zip(header, cells, strict=True) if cell.strip()}
        job = _job(validated(TraceRow, values, here), here)
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


def _header(cells: list[str], place: str) -> list[str]:
    header = [cell.strip() for cell in cells]
    for number, name in enumerate(header):
        check_known(f"{place}: column {number + 1}", name, COLUMNS)
        if name in header[:number]:
            raise InvalidInput(f'{place}: column {number + 1}: "{name}" stands twice')
    for name in COLUMNS:
        if name not in (*OPTIONAL, *header):
            raise InvalidInput(f'{place}: missing column "{name}"; expected {", ".join(COLUMNS)}')
    return header


def _job(row: TraceRow, here: str) -> TraceJob:
    try:
        job = TraceJob(row.id, **row.model_dump(exclude={"id"}, exclude_none=True))
        check_model(job)
        return job
    except InvalidInput as error:
        raise InvalidInput(f"{here}: {error}") from None
