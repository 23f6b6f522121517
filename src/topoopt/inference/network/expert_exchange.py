"""How long tokens of a decode step take to their experts or back: a base, and bytes on links inside and between.

The three numbers are fitted to DeepEP's published kernels of low latency, ``serving/data/expert_exchanges.csv``, by
least squares of relative errors: 6 % off on average. Every copy goes to its rank by itself; ranks of one server reach
each other over its own links, others over the interface of each.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from topoopt.inference.network.pass_bytes import ACTIVATION_BYTES, DISPATCHES
from topoopt.schema.files import packaged_rows

INSIDE_BYTES_PER_S = 160e9
"""What DeepEP reaches of an H800's links inside a server, as its table says."""


@dataclass(frozen=True, slots=True)
class ExchangeLaw:
    """Seconds of a dispatch or a combine: ``base_s + slowness * network_s + inside_slowness * inside_s``.

    Attributes
    ----------
    base_s : float
        Of a kernel and one trip, without bytes.
    slowness, inside_slowness : float
        Times what the bytes between servers, and inside, take at nominal bandwidth.
    error : float
        Mean relative error over the rows that it was fitted to.
    """

    base_s: float
    slowness: float
    inside_slowness: float
    error: float


@cache
def exchange_law() -> ExchangeLaw:
    """Return the law.

    Examples
    --------
    >>> law = exchange_law()
    >>> round(law.base_s * 1e6), round(law.slowness, 2), round(law.error, 3)
    (32, 1.04, 0.061)
    """
    terms: list[list[float]] = []
    for row in packaged_rows("inference", "expert_exchanges"):
        copies = int(row["tokens"]) * int(row["experts_per_token"]) * int(row["hidden"])
        per_server = int(row["ranks_per_server"])
        servers = int(row["ranks"]) / per_server
        for number_bytes, seconds in (
            (DISPATCHES["fp8"], float(row["dispatch_s"])),
            (ACTIVATION_BYTES, float(row["combine_s"])),
        ):
            sent = copies * number_bytes
            outside_s = sent * (1 - 1 / servers) / float(row["nic_bytes_per_s"])
            inside_s = sent / servers * (1 - 1 / per_server) / INSIDE_BYTES_PER_S
            terms.append([1 / seconds, outside_s / seconds, inside_s / seconds])
    columns = np.array(terms)
    found = np.linalg.lstsq(columns, np.ones(len(columns)), rcond=None)[0]
    off = columns @ found - 1
    base_s, slowness, inside_slowness = found.tolist()
    return ExchangeLaw(base_s, slowness, inside_slowness, float(np.abs(off).mean()))
