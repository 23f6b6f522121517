"""The noun Layout: one way of training a transformer, its ranks placed on servers."""

from collections.abc import Mapping
from dataclasses import dataclass

from topoopt.base.limits import whole
from topoopt.workloads.pipelined_step import PipelinedStep

ORDER = "tp-cp-ep-dp-pp"
"""The usual order of ranks, the first changing fastest (Megatron-LM)."""

PLAIN = "1f1b"
"""The schedule of stages that names do not say."""

Words = Mapping[str, int | str | bool]
"""A configuration by its fields, those of :class:`topoopt.transformers.Configuration`."""


@dataclass(frozen=True, eq=False)
class Layout:
    """One way of training a transformer: how it is split, which rank sits where, and the iteration that follows.

    Attributes
    ----------
    configuration : mapping
        Degrees, micro-batch, recomputation …, by the fields of :class:`topoopt.transformers.Configuration`.
    order : str
        Which neighbors ranks have: ``tp-cp-ep-dp-pp`` puts the ranks of a tensor group next to each other.
    estimated_s : float
        Iteration time in closed form, before anything is wired.
    memory_bytes : mapping
        What the fullest accelerator holds, by cause.
    step : PipelinedStep
    """

    configuration: Words
    order: str
    estimated_s: float
    memory_bytes: Mapping[str, float]
    step: PipelinedStep

    def __post_init__(self) -> None:
        for degree in ("tp", "pp", "dp", "micro_batch"):
            whole(f"configuration of a layout: {degree}", self.configuration.get(degree), 1)

    @property
    def total_memory_bytes(self) -> float:
        """What the fullest accelerator holds."""
        return float(sum(self.memory_bytes.values()))

    @property
    def name(self) -> str:
        """The degrees in short, and the order of the ranks where it is another than the usual one.

        Examples
        --------
        >>> Layout({"tp": 8, "pp": 4, "dp": 16, "cp": 1, "micro_batch": 1}, ORDER, 0.0, {}, None).name
        'tp8 pp4 dp16 mb1'
        """
        return " ".join(
            [layout_name(self.configuration), *([] if self.order == ORDER else [f"({self.order})"])]
        )


def layout_name(configuration: Words) -> str:
    """Return the degrees of a configuration in short, and its schedule where that is not 1F1B.

    Examples
    --------
    >>> layout_name({"tp": 8, "pp": 4, "dp": 16, "vpp": 2})
    'tp8 pp4 dp16 vpp2 mb1'
    >>> layout_name({"tp": 1, "pp": 16, "dp": 128, "ep": 64, "schedule": "dualpipe"})
    'tp1 pp16 dp128 ep64 mb1 dualpipe'
    """
    degrees = [f"{key}{configuration[key]}" for key in ("tp", "pp", "dp")]
    more = [key for key in ("cp", "ep", "vpp") if configuration.get(key, 1) != 1]
    schedule = str(configuration.get("schedule", PLAIN))
    return " ".join(
        [
            *degrees,
            *(f"{key}{configuration[key]}" for key in more),
            f"mb{configuration.get('micro_batch', 1)}",
            *([] if schedule == PLAIN else [schedule]),
        ]
    )
