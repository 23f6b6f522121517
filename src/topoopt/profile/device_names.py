"""From the name that a GPU gives itself to its row in the catalogue of hardware."""

import re

from topoopt.errors import InvalidInput
from topoopt.hardware import accelerators, find_accelerator

_SPOKEN = (
    (r"H100 80GB HBM3", "H100-SXM5-80GB"),
    (r"H100 PCIE", "H100-PCIE-80GB"),
    (r"H800", "H800-SXM5-80GB"),
    (r"H200", "H200-SXM-141GB"),
    (r"GH200", "GH200-96GB"),
    (r"A100 80GB PCIE", "A100-PCIE-80GB"),
    (r"RTX 3090", "RTX3090"),
    (r"L40S", "L40S"),
    (r"B200", "B200-SXM"),
    (r"B300", "B300-SXM"),
    (r"MI300X", "MI300X"),
    (r"MI250X", "MI250X"),
)
"""Parts of names as drivers say them, where they are not the catalogue's."""
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
    spoken = [known for pattern, known in _SPOKEN if re.search(rf"\b{pattern}\b", name)]
    for known in (*exact, *spoken):
        if _fits(known, memory_bytes):
            return known
    return ""


def _fits(name: str, memory_bytes: float) -> bool:
    try:
        expected = find_accelerator(name).memory_bytes
    except InvalidInput:
        return False
    return abs(memory_bytes / expected - 1) < _SLACK
