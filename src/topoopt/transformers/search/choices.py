"""Search space: the values of every degree, of the micro-batch and of memory-saving options."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from topoopt.base.errors import InvalidInput
from topoopt.base.limits import whole
from topoopt.transformers.configuration import (
    COUNTS,
    COUNTS_FROM_ZERO,
    RECOMPUTATIONS,
    ZERO_STAGES,
    Configuration,
    recomputation_bits,
)
from topoopt.transformers.configuration_table import RARE_COLUMNS
from topoopt.transformers.degrees import divisors
from topoopt.workloads.transformer import TransformerModel

Values = tuple[int, ...]
TOKENS_PER_CONTEXT_RANK = 4096
"""Least tokens of a part of a sequence with context parallelism, unless a limit is given."""
OF_LATENT = ("norms+latent",)
"""Additional recomputation with latent attention (DeepSeek-V3, section 3.2.3)."""
MAX_VPP = 12
MAX_MICRO_BATCH = 16


@dataclass(frozen=True, slots=True)
class Choices:
    """The values that each column of a :class:`~topoopt.transformers.ConfigurationTable` may have.

    ``recompute`` holds bits of :func:`~topoopt.transformers.recomputation_bits`, ``sequence_parallel`` 0 and 1;
    ``dp`` is the rest after the other degrees, and an empty ``dp`` allows any.

    Attributes
    ----------
    zero_in_pipelines : bool
        Whether ZeRO 2 and 3 go with several stages. They would exchange gradients or parameters for every
        micro-batch; DeepSpeed and Megatron-LM refuse it.
    uneven_stages : bool
        Whether layers may be cut into any number of chunks.
    any_schedule : bool
        Whether every schedule of stages is tried, and all-to-alls of experts that overlap.
    others : mapping
        Columns that all configurations have alike, and their value; the rest are as in a
        :class:`~topoopt.transformers.Configuration`.
    """

    tp: Values
    pp: Values
    dp: Values
    cp: Values
    ep: Values
    etp: Values
    vpp: Values
    micro_batch: Values
    recompute: Values
    zero: Values
    sequence_parallel: Values
    zero_in_pipelines: bool = False
    uneven_stages: bool = False
    any_schedule: bool = False
    others: Mapping[str, float] = field(default_factory=dict)

    def pinned(self, **values: float) -> "Choices":
        """Return the choices with one value each for some columns.

        ZeRO 2 or 3 and several stages are combined if both are pinned.
        """
        both = values.get("zero", 0) > 1 and values.get("pp", 1) > 1
        others = {name: value for name, value in values.items() if name in RARE_COLUMNS}
        single: dict[str, Any] = {name: (value,) for name, value in values.items() if name not in others}
        return replace(
            self, **single, zero_in_pipelines=self.zero_in_pipelines or both, others={**self.others, **others}
        )


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a search; ``None`` is the default limit, see :func:`usual_choices`."""

    max_tp: int | None = None
    max_pp: int | None = None
    max_cp: int | None = None
    max_ep: int | None = None
    max_vpp: int = MAX_VPP
    max_micro_batch: int = MAX_MICRO_BATCH
    uneven_stages: bool = False
    any_schedule: bool = False

    def __post_init__(self) -> None:
        for column in fields(self):
            value = getattr(self, column.name)
            if value is not None and not isinstance(value, bool) and value < 1:
                raise InvalidInput(f"{column.name}: expected an integer >= 1, got {value}")


def usual_choices(
    model: TransformerModel,
    accelerators: int,
    accelerators_per_server: int,
    sequence: int,
    limits: Limits = Limits(),
) -> Choices:
    """Return the choices of a search.

    Without limits: tensor parallel groups within a server, stages as many as layers, parts of a sequence of at least
    :data:`TOKENS_PER_CONTEXT_RANK` tokens, experts spread as far as there are some. Micro-batches are powers of two.
    """
    parts = divisors(accelerators)
    experts = 1 if model.experts is None else model.experts.count
    tp = _up_to(parts, limits.max_tp or accelerators_per_server)
    return Choices(
        tp=tp,
        pp=_up_to(parts, min(model.layers, limits.max_pp or model.layers)),
        dp=(),
        cp=_up_to(parts, limits.max_cp or max(1, sequence // TOKENS_PER_CONTEXT_RANK)),
        ep=_up_to(divisors(experts), limits.max_ep or experts),
        etp=(1,) if model.experts is None else tp,
        vpp=tuple(range(1, limits.max_vpp + 1)),
        micro_batch=tuple(2**power for power in range(limits.max_micro_batch.bit_length())),
        recompute=tuple(map(recomputation_bits, (*RECOMPUTATIONS, *OF_LATENT * (model.latent is not None)))),
        zero=ZERO_STAGES,
        sequence_parallel=(0, 1),
        uneven_stages=limits.uneven_stages,
        any_schedule=limits.any_schedule,
    )


def _up_to(values: Iterable[int], most: int) -> Values:
    return tuple(value for value in values if value <= most)


BESIDE = ("global_batch", "sequence", "precision")
"""Fields that a request for a search has of its own."""


def fixed_fields(words: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that fix a field of :class:`~topoopt.transformers.Configuration`, without all others.

    Fields that no search varies are returned only if they differ from their defaults.

    Raises
    ------
    InvalidInput
        For a value that the field cannot have.

    Examples
    --------
    >>> fixed_fields({"tp": 8, "context": "ring", "accelerators": 64})
    {'tp': 8}
    """
    usual = {column.name: column.default for column in fields(Configuration)}
    searched = {column.name for column in fields(Choices)}
    given = {name: words[name] for name in usual if name in words and name not in BESIDE}
    for names, least in ((COUNTS, 1), (COUNTS_FROM_ZERO, 0)):
        for name in filter(given.__contains__, names):
            whole(name, given[name], least)
    Configuration(**{"tp": 1, "pp": 1, "dp": 1, "global_batch": 1, "sequence": 1, **given})
    return {name: value for name, value in given.items() if name in searched or value != usual[name]}
