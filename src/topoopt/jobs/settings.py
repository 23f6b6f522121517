"""JobSettings: cost model of a job's operators."""

import re
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field

from topoopt.base.errors import InvalidInput, check_known, shown
from topoopt.base.units import format_bytes, parse_bytes
from topoopt.catalog import PRECISIONS
from topoopt.collectives import collective_name
from topoopt.schema.files import Count, quantity
from topoopt.workloads import COMPUTE_MODES, OPTIMIZER_BYTES_PER_PARAMETER_BYTE

TIGHT = 0.95
"""Share of the memory above which a job may not run, since estimates of memory are good to some GiB."""
AUTO_BUCKET: Final = -1
"""A plan chooses the size; whatever is not planned has :data:`DDP_BUCKET_BYTES`."""
NO_BUCKETS: Final = 0
"""An AllReduce for every weight tensor, as the papers and the authors' code have it."""
DDP_BUCKET_BYTES: Final = 25 * 1024 * 1024
"""The default of PyTorch's DistributedDataParallel, ``bucket_cap_mb=25``."""
BUCKET_SIZES: Final = (NO_BUCKETS, 1024 * 1024, 5 * 1024 * 1024, DDP_BUCKET_BYTES, 100 * 1024 * 1024)
"""Bucket sizes that a plan tries. PyTorch issue 118421 proposes 100 MiB over DDP's default for large models."""
NAMES: Final = {"auto": AUTO_BUCKET, "none": NO_BUCKETS}
AUTO_MICROBATCHES: Final = 0
"""A plan chooses how many; whatever is not planned has one."""
MICROBATCHES: Final = (1, 2, 4, 8)
"""Numbers of micro-batches that a plan tries."""
MOST_MICROBATCHES: Final = 64


def parse_bucket(value: str | float, place: str) -> int:
    """Return bytes of a bucket: of ``auto``, ``none``, text with a unit, or a number.

    Raises
    ------
    InvalidInput
        If it is none of them, or below 0.

    Examples
    --------
    >>> parse_bucket("25 MiB", "bucket"), parse_bucket("none", "bucket")
    (26214400, 0)
    """
    if isinstance(value, str) and value in NAMES:
        return NAMES[value]
    try:
        size_bytes = round(parse_bytes(value, place) if isinstance(value, str) else value)
    except InvalidInput:
        size_bytes = -1
    if size_bytes < 0:
        raise InvalidInput(f"{place}: expected auto, none or a size such as 25 MiB, got {shown(value)}")
    return size_bytes


def parse_microbatches(value: str | int, place: str) -> int:
    """Return a number of micro-batches: ``auto``, or 1 to 64.

    Raises
    ------
    InvalidInput
        If it is neither.

    Examples
    --------
    >>> parse_microbatches("auto", "microbatches"), parse_microbatches("4", "microbatches")
    (0, 4)
    """
    count = (
        AUTO_MICROBATCHES
        if value == "auto"
        else int(value)
        if re.fullmatch(r"[0-9]{1,9}", str(value))
        else -1
    )
    if value != "auto" and not 1 <= count <= MOST_MICROBATCHES:
        raise InvalidInput(f"{place}: expected auto or 1 to {MOST_MICROBATCHES}, got {shown(value)}")
    return count


MicrobatchesText = Annotated[int, BeforeValidator(quantity(parse_microbatches))]
"""A field of a file that is written ``auto`` or a number."""
BucketText = Annotated[int, BeforeValidator(quantity(parse_bucket))]
"""A field of a file that is written ``auto``, ``none`` or ``25 MiB`` and read as bytes."""
MEMORY_CHECKS = ("enforce", "warn", "off")


@dataclass(frozen=True, slots=True)
class JobSettings:
    """Cost model of a job.

    Attributes
    ----------
    compute : str
        ``profile`` (the authors' A100 measurements, roofline where there is none) or ``roofline``.
    precision : str
        ``fp32``, ``tf32``, ``bf16``, ``fp16`` or ``fp8``; decides the roofline's peak.
    embedding_bytes_factor : int
        Copies of each embedding activation on the wire: 1, or 2 as in the authors' task graphs.
    memory_check : str
        ``enforce`` (out of memory is infeasible), ``warn`` or ``off``.
    optimizer : str
        ``sgd``, ``momentum`` or ``adam``: state kept per parameter.
    bucket_bytes : int
        Gradients are joined into AllReduces of at least this many bytes; 0: one for every weight tensor;
        :data:`~topoopt.jobs.AUTO_BUCKET`: as many as a plan finds best.
    microbatches : int
        Equal pieces of an iteration's batch, of which each operator sends one while it computes the next;
        :data:`~topoopt.jobs.AUTO_MICROBATCHES`: as many as a plan finds best.
    collective : str
        Algorithm of collectives, a name in :data:`topoopt.collectives.COLLECTIVE_NAMES`. A plan is searched with
        rings, and ``auto`` falls back to rings where the algorithms chosen per message are not a percent faster.
    """

    compute: str = "profile"
    precision: str = "fp32"
    embedding_bytes_factor: int = 1
    memory_check: str = "warn"
    optimizer: str = "sgd"
    bucket_bytes: Count = 0
    microbatches: Annotated[int, Field(ge=0, le=MOST_MICROBATCHES)] = 1
    collective: str = "stepped"

    def __post_init__(self) -> None:
        allowed = {
            "compute": tuple(COMPUTE_MODES),
            "precision": PRECISIONS,
            "memory_check": MEMORY_CHECKS,
            "optimizer": tuple(OPTIMIZER_BYTES_PER_PARAMETER_BYTE),
        }
        for name, known in allowed.items():
            check_known(name, getattr(self, name), known)
        object.__setattr__(self, "collective", collective_name(self.collective))
        if self.embedding_bytes_factor not in (1, 2):
            got = self.embedding_bytes_factor
            raise InvalidInput(f"embedding_bytes_factor: allowed are 1 and 2, got {got}")
        if self.bucket_bytes < AUTO_BUCKET:
            raise InvalidInput(f"bucket_bytes: must be >= 0, got {self.bucket_bytes}")
        if not 0 <= self.microbatches <= MOST_MICROBATCHES:
            raise InvalidInput(f"microbatches: must be 1 to {MOST_MICROBATCHES}, got {self.microbatches}")

    @property
    def as_run(self) -> "JobSettings":
        """The settings with PyTorch's buckets and one micro-batch where a plan has not chosen yet."""
        values: dict[str, Any] = {
            name: default for name, (auto, default, _) in AUTOMATIC.items() if getattr(self, name) == auto
        }
        return replace(self, **values) if values else self


AUTOMATIC: Final = MappingProxyType(
    {
        "bucket_bytes": (AUTO_BUCKET, DDP_BUCKET_BYTES, BUCKET_SIZES),
        "microbatches": (AUTO_MICROBATCHES, 1, MICROBATCHES),
    }
)
"""Settings that a plan may choose: the value that asks for it, that of a job without a plan, and those tried."""


def bucket_text(size_bytes: int) -> str:
    """Return a size as one writes it: ``auto``, ``none``, ``25 MiB``.

    Examples
    --------
    >>> bucket_text(DDP_BUCKET_BYTES), bucket_text(0), bucket_text(25_000_000)
    ('25 MiB', 'none', '25 MB')
    """
    name = {size: name for name, size in NAMES.items()}.get(size_bytes)
    mebibytes, rest = divmod(size_bytes, 1024 * 1024)
    return name or (f"{mebibytes} MiB" if not rest else format_bytes(size_bytes))


def is_tight(needed_bytes: float, capacity_bytes: float) -> bool:
    """Return whether something fits, but leaves next to nothing free.

    Examples
    --------
    >>> is_tight(79e9, 80e9), is_tight(70e9, 80e9), is_tight(81e9, 80e9)
    (True, False, False)
    """
    return TIGHT * capacity_bytes < needed_bytes <= capacity_bytes
