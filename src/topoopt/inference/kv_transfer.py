"""Transfer time of a prompt's KV cache from prefill to decode: a setup time, and bytes over a share of the route.

Both numbers are fitted to Mooncake's published transfers between two servers, ``inference/data/kv_transfers.csv``, once
for each engine, by least squares of relative errors.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np
from pydantic import TypeAdapter

from topoopt.base.errors import check_known
from topoopt.schema.files import packaged_rows

DEFAULT_ENGINE = "sglang"
"""The engine with the most published transfers."""


@dataclass(frozen=True, slots=True)
class TransferLaw:
    """Seconds of a transfer: ``start_s + bytes / (efficiency * bandwidth)``.

    Attributes
    ----------
    start_s : float
    efficiency : float
        Share of the nominal bandwidth.
    error : float
        Largest relative error over the rows that it was fitted to.
    """

    start_s: float
    efficiency: float
    error: float

    def transfer_s(self, s_at_full_rate: float) -> float:
        """Return the seconds of a transfer that would take so long at the nominal bandwidth."""
        return self.start_s + s_at_full_rate / self.efficiency


@dataclass(frozen=True, slots=True)
class MeasuredTransfer:
    """A row of ``inference/data/kv_transfers.csv``: a prompt's keys and values from one server to another."""

    engine: str
    model: str
    prompt_tokens: int
    kv_bytes: float
    transfer_s: float
    nominal_bytes_per_s: float


@cache
def measured_transfers() -> tuple[MeasuredTransfer, ...]:
    """Return the transfers that Mooncake has published."""
    return TypeAdapter(tuple[MeasuredTransfer, ...]).validate_python(
        packaged_rows("inference", "kv_transfers")
    )


@cache
def transfer_law(engine: str = DEFAULT_ENGINE) -> TransferLaw:
    """Return the law of an engine.

    Raises
    ------
    InvalidInput
        For an engine without measured transfers.

    Examples
    --------
    >>> law = transfer_law("sglang")
    >>> round(law.start_s * 1e3, 2), round(200 * law.efficiency)
    (1.85, 173)
    """
    rows = measured_transfers()
    check_known("kv transfer engine", engine, dict.fromkeys(row.engine for row in rows))
    own = [row for row in rows if row.engine == engine]
    measured_s = np.array([row.transfer_s for row in own])
    ideal_s = np.array([row.kv_bytes / row.nominal_bytes_per_s for row in own])
    terms = np.stack([np.ones(len(own)), ideal_s], axis=1) / measured_s[:, None]
    start_s, slowness = np.linalg.lstsq(terms, np.ones(len(own)), rcond=None)[0].tolist()
    off = terms @ np.array([start_s, slowness]) - 1
    return TransferLaw(start_s, 1 / slowness, float(np.abs(off).max()))


def exposed_s(transfer_s: float, prefill_s: float, layers: int, by_layer: bool, start_s: float) -> float:
    """Return the part of a transfer that adds to the time to first token.

    A layer-wise transfer overlaps with the prefill of later layers: the exposed part is the setup, the last layer,
    and any time beyond the prefill. Otherwise all of it follows the prefill.

    Parameters
    ----------
    transfer_s
        Transfer time, including its setup.
    start_s
        The start alone.
    """
    if not by_layer:
        return transfer_s
    moving_s = transfer_s - start_s
    return (
        start_s
        + moving_s / layers
        + max(0.0, moving_s * (layers - 1) / layers - prefill_s * (layers - 1) / layers)
    )
