"""What a framework takes: bytes per parameter, and memory that no tensor of the model accounts for.

Mixed precision keeps 16-bit weights, an fp32 copy of them and two fp32 moments of Adam. Frameworks differ in the
gradients, and in what contexts, communicators, buckets and the allocator take.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources

from topoopt.errors import check_known
from topoopt.hardware import Accelerator

GIBIBYTE = 2.0**30

USABLE = 0.989
"""Of the memory that a part is sold with: PyTorch's messages name 79.1 GiB as the capacity of an A100 or H100 of 80
(from memory, unconfirmed)."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """Bytes per parameter.

    Attributes
    ----------
    weights, gradients : float
    optimizer : float
        fp32 weights where they are a copy, and the moments.
    step : float
        Only while the optimizer steps, when no activations are there: gradients turned to fp32.
    """

    weights: float
    gradients: float
    optimizer: float
    step: float = 0.0


@dataclass(frozen=True, slots=True)
class Framework:
    """One way of training.

    Attributes
    ----------
    fp32, fp16, bf16 : Recipe
        ``bf16`` also holds for 8 and 4 bits, which are for the arithmetic only.
    logit_bytes : float
        Per logit beside the logit itself: its softmax and gradient.
    reserved_bytes : float
        CUDA context, communicators, workspaces, buckets.
    lost : float
        Share of activations and buffers that is lost for good in holes between the allocator's blocks.
    held : float
        Share of them that the allocator holds beyond need, and gives back when memory is short.
    """

    fp32: Recipe
    fp16: Recipe
    bf16: Recipe
    logit_bytes: float
    reserved_bytes: float
    lost: float
    held: float
    source: str

    def recipe(self, precision: str) -> Recipe:
        """Return the bytes per parameter at a precision."""
        if precision in ("fp32", "tf32"):
            return self.fp32
        return self.fp16 if precision == "fp16" else self.bf16


def _frameworks() -> Mapping[str, Framework]:
    path = resources.files("topoopt.llm") / "data" / "frameworks.toml"
    tables = tomllib.loads(path.read_text(encoding="utf-8"))
    recipes = {name: Recipe(**row) for name, row in tables["recipe"].items()}
    return {
        name: Framework(
            fp32=recipes["full"],
            fp16=recipes[row.pop("fp16")],
            bf16=recipes[row.pop("bf16")],
            reserved_bytes=row.pop("reserved_gibibytes") * GIBIBYTE,
            **row,
        )
        for name, row in tables["framework"].items()
    }


FRAMEWORKS: Mapping[str, Framework] = _frameworks()
"""By name. ``megatron`` is the default."""


def find_framework(name: str) -> Framework:
    """Return a framework by its name.

    Raises
    ------
    InvalidInput
        If there is none, with the nearest names.
    """
    check_known("framework", name, FRAMEWORKS)
    return FRAMEWORKS[name]


def capacity_bytes(accelerator: Accelerator) -> float:
    """Return the bytes of an accelerator that a program can have.

    Makers write GB for binary gigabytes: an "80 GB" A100 has 81,920 MiB by nvidia-smi.
    """
    return USABLE * accelerator.memory_bytes / 1e9 * GIBIBYTE
