"""The published closed form of a training iteration, unchanged, for many configurations at once.

A first-stage accelerator computes, reduces, sends and waits, nothing overlaps::

    T_iter = T_comp + T_TP + T_PP + T_DP + T_bubble
    T_comp = m·f·N/(p·t)·b·s/(u·F)                    f = 8 with full recomputation, 6 without
    T_TP = m·(l/p)·k·[2bsh·2(t-1)/t]/C_TP             k = 6 with full recomputation, 4 without
    T_PP = m·2·(2bsh)/C_PP
    T_DP = [2·N/(p·t)·2(d-1)/d]/C_DP
    T_bubble = (p-1)·(T_comp + T_PP + T_TP per micro-batch), over v when interleaved

It has no terms for experts, context parallelism or parameters that are shared out: those are reflaw.

References
----------
.. [1] W. Li et al., "Understanding Communication Characteristics of Distributed Training", APNet 2024.
"""

from dataclasses import dataclass

import numpy as np

from topoopt.base.arrays import Floats, Ints
from topoopt.base.errors import InvalidInput
from topoopt.catalog import BYTES_PER_ELEMENT, PRECISIONS, find_accelerator
from topoopt.transformers.communication.message import wire_element_bytes
from topoopt.transformers.configuration import SCHEDULES
from topoopt.transformers.configuration_table import Bools, ConfigurationTable
from topoopt.transformers.step_time.closed_form import StepTimes
from topoopt.transformers.system import System
from topoopt.workloads import bus_bandwidth_factor
from topoopt.workloads.transformer import TransformerModel, count_parameters

HALF_BANDWIDTH_BYTES = 10 * 2**20
"""A message of this size gets half of the bandwidth; about 10 MiB in the paper, saturated at 10 to 100 MB."""
UTILIZATION = 0.4
"""Default utilization where the paper has none: that of its V100."""
PUBLISHED = {"RTX3090": (0.3, 71e12), "V100-SXM2-16GB": (0.4, 125e12), "V100-SXM3-32GB": (0.4, 125e12)}
"""The paper's utilization u, and the peak rate F that goes with it here. The paper does not state which of the two
rates of the RTX3090 it means: 71 TFLOP/s is with sums in FP32, as training does them, 142 with sums in FP16."""


@dataclass(frozen=True, slots=True)
class Apnet24:
    """Measured parameters of the formula.

    Attributes
    ----------
    utilization : float
        The paper's u, of the peak rate.
    half_bandwidth_bytes : float
        The effective bandwidth C of a message of S bytes is ``peak·S/(S + half_bandwidth_bytes)``.
    bandwidth_share : float
        Share of a link's bandwidth that infinitely long messages reach.
    """

    utilization: float = UTILIZATION
    half_bandwidth_bytes: float = HALF_BANDWIDTH_BYTES
    bandwidth_share: float = 1.0

    def __post_init__(self) -> None:
        for key in ("utilization", "bandwidth_share"):
            if not 0 < getattr(self, key) <= 1:
                raise InvalidInput(
                    f"apnet24: {key}: expected a number in 0 < x <= 1, got {getattr(self, key)}"
                )
        if not 0 <= self.half_bandwidth_bytes < float("inf"):
            raise InvalidInput(
                f"apnet24: half_bandwidth_bytes: must be >= 0, got {self.half_bandwidth_bytes}"
            )


def apnet24_settings(accelerator: str) -> Apnet24:
    """Return the paper's utilization of an accelerator; :data:`UTILIZATION` for one that the paper does not have."""
    published = PUBLISHED.get(find_accelerator(accelerator).name)
    return Apnet24() if published is None else Apnet24(published[0])


def apnet24(
    model: TransformerModel, table: ConfigurationTable, system: System, settings: Apnet24 | None = None
) -> StepTimes:
    """Return the parts of an iteration by the published formula.

    Parameters
    ----------
    settings
        Defaults to :func:`apnet24_settings` of the system's accelerator.

    Raises
    ------
    InvalidInput
        For options without a term in the formula, see :func:`apnet24_gap`.
    """
    gap = apnet24_gap(model, table)
    if gap:
        raise InvalidInput(f"apnet24: {gap}")
    law = settings or apnet24_settings(system.accelerator)
    p, t, d = table.pp, table.tp, table.dp
    full = table.recomputes("full")
    batches = table.global_batch // (d * table.micro_batch)
    tokens = (table.micro_batch * table.sequence).astype(np.float64)
    width = np.array([wire_element_bytes(name) for name in PRECISIONS])[table.precision]
    message = width * tokens * model.hidden
    parameters = count_parameters(model).total / (p * t)
    flops = parameters * tokens * batches
    compute_s = np.where(full, 8, 6) * flops / (law.utilization * _peak_flops(system, table))
    reduced = message * bus_bandwidth_factor("allreduce", t)
    sums = batches * model.layers / p * np.where(full, 6, 4)
    tp_s = sums * reduced / _bandwidth(system, law, message, t <= system.accelerators_per_server, 1)
    next_is_near = 2 * t * d <= system.accelerators_per_server
    pp_s = (p > 1) * batches * 2 * message / _bandwidth(system, law, message, next_is_near, 1)
    gradients = width * parameters
    near = t * d <= system.accelerators_per_server
    beside = np.clip(system.accelerators_per_server // t, 1, d)
    dp_s = gradients * bus_bandwidth_factor("allreduce", d) / _bandwidth(system, law, gradients, near, beside)
    bubble_s = (p - 1) * (compute_s + pp_s + tp_s) / batches / table.vpp
    waits = tp_s + pp_s + dp_s
    nothing = np.zeros(len(table))
    return StepTimes(
        iteration_time_s=compute_s + waits + bubble_s,
        compute_s=compute_s,
        tp_s=tp_s,
        cp_s=nothing,
        ep_s=nothing,
        pp_s=pp_s,
        dp_s=dp_s,
        bubble_s=bubble_s,
        exposed_communication_s=waits,
        model_flops=6 * flops,
    )


def apnet24_gap(model: TransformerModel, table: ConfigurationTable) -> str:
    """Return the options for which the formula has no term, as text; empty if there are none."""
    if model.experts is not None:
        return f"the published formula has no term for experts, and {model.name} has them; use the calibrated estimator"
    other = sorted({SCHEDULES[one] for one in np.atleast_1d(table.schedule).tolist() if one})
    if other:
        return f"the published formula has no term for schedule {other[0]}; allowed: {SCHEDULES[0]}"
    for key, least, words in (
        ("cp", 1, "context parallelism"),
        ("ep", 1, "expert parallelism"),
        ("zero", 1, "gradients and parameters that are shared out"),
        ("document", 0, "packed documents"),
        ("adapter_rank", 0, "frozen weights"),
    ):
        column = getattr(table, key)
        if np.any(column > least):
            return f"the published formula has no term for {words} ({key} {int(column.max())}); allowed up to {least}"
    return ""


def _peak_flops(system: System, table: ConfigurationTable) -> Floats:
    part = find_accelerator(system.accelerator)
    published = PUBLISHED.get(part.name)
    rates = np.zeros(len(PRECISIONS))
    for index in np.unique(table.precision).tolist():
        name = PRECISIONS[index]
        two_bytes = published is not None and BYTES_PER_ELEMENT[name] == 2
        rates[index] = published[1] if published is not None and two_bytes else part.peak_flops(name)
    chosen: Floats = rates[table.precision]
    return chosen


def _bandwidth(system: System, law: Apnet24, message: Floats, near: Bools, beside: Ints | int) -> Floats:
    """Return the paper's C, bytes per second, by where the group is and by the size of its messages.

    Parameters
    ----------
    near : bool array
        Whether the group is inside a server.
    beside : int array
        Ranks of the group on one server, which share the network's work.
    """
    far = np.minimum(system.network_bandwidth_bps * beside, system.scale_up_bandwidth_bps)
    peak = np.where(near, system.scale_up_bandwidth_bps, far) / 8 * law.bandwidth_share
    reached: Floats = peak * message / (message + law.half_bandwidth_bytes)
    return reached
