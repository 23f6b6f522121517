"""The noun SearchRequest: the model, the machines, the batch, and what of a configuration is not searched."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from topoopt.transformers.configuration import Configuration
from topoopt.transformers.configuration_table import RARE_COLUMNS, ConfigurationTable, column_value
from topoopt.transformers.experts.loads import ExpertLoads
from topoopt.transformers.memory.accelerator import MemoryColumns, memory
from topoopt.transformers.memory.frameworks import shared_by
from topoopt.transformers.search.choices import Choices, Limits, usual_choices
from topoopt.transformers.search.enumerate import enumerate_configurations
from topoopt.transformers.system import System
from topoopt.workloads.transformer import TransformerModel


@dataclass(frozen=True, eq=False)
class SearchRequest:
    """What is searched.

    Attributes
    ----------
    global_batch, sequence : int
        Sequences of an iteration, and tokens of one.
    fixed : mapping
        Fields of :class:`~topoopt.transformers.Configuration` that are not searched, such as ``tp`` or
        ``recompute``; those that
        no search varies, such as ``context``, are as usual where they are not here.
    limits : Limits
    attention, framework : str
        For memory, see :func:`~topoopt.transformers.memory`.
    loads : ExpertLoads or None
        Of the experts; None for even ones.
    """

    model: TransformerModel
    accelerators: int
    system: System
    global_batch: int
    sequence: int
    fixed: Mapping[str, int | float | str | bool]
    limits: Limits = field(default_factory=Limits)
    precision: str = "bf16"
    attention: str = "fused"
    framework: str = "megatron"
    loads: ExpertLoads | None = None

    def __post_init__(self) -> None:
        rare: Any = {name: value for name, value in self.fixed.items() if name in RARE_COLUMNS}
        Configuration(tp=1, pp=1, dp=1, global_batch=1, sequence=1, **rare)  # checks the words

    def choices(self, accelerators: int) -> Choices:
        """Return what may be chosen from on a number of accelerators."""
        usual = usual_choices(
            self.model, accelerators, self.system.accelerators_per_server, self.sequence, self.limits
        )
        return usual.pinned(**{name: column_value(name, value) for name, value in self.fixed.items()})

    def enumerated(self, scale: int = 1) -> ConfigurationTable:
        """Return the valid configurations on ``scale`` times the accelerators with as much more of a batch.

        ZeRO is as the framework has it: at most 1 in pipelines that gather and scatter once an iteration.
        """
        accelerators = self.accelerators * scale
        valid = enumerate_configurations(
            self.model,
            accelerators,
            self.global_batch * scale,
            self.sequence,
            self.choices(accelerators),
            self.precision,
        )
        return shared_by(valid, self.framework)

    def memory(self, table: ConfigurationTable) -> MemoryColumns:
        """Return the memory of configurations."""
        return memory(self.model, table, self.system.accelerator, self.attention, self.framework)
