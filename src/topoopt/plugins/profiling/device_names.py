"""From the name that a GPU gives itself to its row in the catalogue of hardware."""

import re

from topoopt.catalog import accelerators, find_accelerator
from topoopt.schema.files import packaged_rows

_MAKER = re.compile(r"^(NVIDIA|TESLA|AMD|INSTINCT|GEFORCE)\s+")
_SLACK = 0.12
"""Drivers keep a part of the memory to themselves."""


def catalogue_name(device_name: str, memory_bytes: float) -> str:
    """Return the name in the catalogue, or nothing where no row fits name and memory.

    Examples
    --------
    >>> catalogue_name("NVIDIA H100 80GB HBM3", 85e9), catalogue_name("Tesla V100-SXM2-16GB", 16.9e9)
    ('H100-SXM5-80GB', 'V100-SXM2-16GB')
    """
    name = device_name.strip().upper()
    while _MAKER.match(name):
        name = _MAKER.sub("", name)
    exact = [part.name for part in accelerators() if part.name.upper() == name.replace(" ", "-")]
    rows = packaged_rows(
        "plugins.profiling", "device_names"
    )  # names as drivers say them, where they are not the catalogue's
    spoken = [row["name"] for row in rows if re.search(rf"\b{row['spoken']}\b", name)]
    for known in (*exact, *spoken):
        if abs(memory_bytes / find_accelerator(known).memory_bytes - 1) < _SLACK:
            return known
    return ""
