"""The link of an accelerator to the memory of its host, for what is kept there."""

from functools import cache

from topoopt.catalog.accelerator import Accelerator
from topoopt.schema.files import packaged_rows


def host_bytes_per_s(part: Accelerator) -> float | None:
    """Return bytes per second each way; by the accelerator's own row, or that of its architecture. None: not known.

    Examples
    --------
    >>> from topoopt.catalog import find_accelerator
    >>> host_bytes_per_s(find_accelerator("h100"))
    63000000000.0
    """
    rates = _rates()
    return rates.get(part.name, rates.get(part.architecture))


@cache
def _rates() -> dict[str, float]:
    return {row["accelerators"]: float(row["bytes_per_s"]) for row in packaged_rows("catalog", "host_links")}
