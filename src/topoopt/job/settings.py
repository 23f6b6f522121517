"""The noun JobSettings: how the costs of a job's operators are counted."""

from dataclasses import dataclass

from topoopt.errors import InvalidInput, check_known
from topoopt.files import Count
from topoopt.hardware import PRECISIONS
from topoopt.strategy import OPTIMIZER_BYTES_PER_PARAMETER_BYTE
from topoopt.workload import COMPUTE_MODES

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
        Gradients are joined into AllReduces of at least so many bytes; 0: one for every weight tensor.
    """

    compute: str = "profile"
    precision: str = "fp32"
    embedding_bytes_factor: int = 1
    memory_check: str = "warn"
    optimizer: str = "sgd"
    bucket_bytes: Count = 0

    def __post_init__(self) -> None:
        allowed = {
            "compute": tuple(COMPUTE_MODES),
            "precision": PRECISIONS,
            "memory_check": MEMORY_CHECKS,
            "optimizer": tuple(OPTIMIZER_BYTES_PER_PARAMETER_BYTE),
        }
        for name, known in allowed.items():
            check_known(name, getattr(self, name), known)
        if self.embedding_bytes_factor not in (1, 2):
            got = self.embedding_bytes_factor
            raise InvalidInput(f"embedding_bytes_factor: allowed are 1 and 2, got {got}")
        if self.bucket_bytes < 0:
            raise InvalidInput(f"bucket_bytes: must be >= 0, got {self.bucket_bytes}")
