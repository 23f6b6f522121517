"""The noun JobSettings: how the costs of a job's operators are counted."""

from dataclasses import dataclass

from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import PRECISIONS
from topoopt.collectives import COLLECTIVE_NAMES
from topoopt.jobs.buckets import AUTO_BUCKET, DDP_BUCKET_BYTES
from topoopt.schema.files import Count
from topoopt.workloads import COMPUTE_MODES
from topoopt.workloads.strategy import OPTIMIZER_BYTES_PER_PARAMETER_BYTE

MEMORY_CHECKS = ("enforce", "warn", "off")


@dataclass(frozen=True, slots=True)
class JobSettings:
    """How a job's costs are counted.

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
        Gradients are joined into AllReduces of at least so many bytes; 0: one for every weight tensor;
        :data:`~topoopt.jobs.AUTO_BUCKET`: as many as a plan finds best.
    collective : str
        How collectives run, a name in :data:`topoopt.collectives.COLLECTIVE_NAMES`. A plan is searched with rings,
        and of ``auto`` makes rings again where the algorithms chosen by message are not a percent faster.
    """

    compute: str = "profile"
    precision: str = "fp32"
    embedding_bytes_factor: int = 1
    memory_check: str = "warn"
    optimizer: str = "sgd"
    bucket_bytes: Count = 0
    collective: str = "stepped"

    def __post_init__(self) -> None:
        allowed = {
            "compute": tuple(COMPUTE_MODES),
            "precision": PRECISIONS,
            "memory_check": MEMORY_CHECKS,
            "optimizer": tuple(OPTIMIZER_BYTES_PER_PARAMETER_BYTE),
            "collective": COLLECTIVE_NAMES,
        }
        for name, known in allowed.items():
            check_known(name, getattr(self, name), known)
        if self.embedding_bytes_factor not in (1, 2):
            got = self.embedding_bytes_factor
            raise InvalidInput(f"embedding_bytes_factor: allowed are 1 and 2, got {got}")
        if self.bucket_bytes < AUTO_BUCKET:
            raise InvalidInput(f"bucket_bytes: must be >= 0, got {self.bucket_bytes}")

    @property
    def usual_bucket_bytes(self) -> int:
        """Bytes of a bucket, PyTorch's where nothing is chosen yet."""
        return DDP_BUCKET_BYTES if self.bucket_bytes == AUTO_BUCKET else self.bucket_bytes
