"""Fields and attributes of Chakra's messages as bytes; equal ones are made once."""

import struct
from functools import lru_cache

from topoopt.simulation.chakra.schema import ATTR, ATTR_NAME, BOOL, DOUBLE, INT64, STRING, UINT64
from topoopt.simulation.chakra.wire import EIGHT, number_field, run_field, tag


@lru_cache(maxsize=1 << 16)
def whole_attribute(name: str, value: int, field: int = UINT64) -> bytes:
    """Return an attribute of a node that is a whole number; also 0, which proto3 would leave out elsewhere."""
    return run_field(ATTR, run_field(ATTR_NAME, name.encode()) + number_field(field, value))


@lru_cache(maxsize=1 << 10)
def exact_attribute(name: str, value: float) -> bytes:
    """Return an attribute of a node that is a number of 64 bits."""
    return run_field(
        ATTR, run_field(ATTR_NAME, name.encode()) + tag(DOUBLE, EIGHT) + struct.pack("<d", value)
    )


def text_attribute(name: str, value: str) -> bytes:
    """Return an attribute that is text, as a message."""
    return run_field(ATTR_NAME, name.encode()) + run_field(STRING, value.encode())


ON_ACCELERATOR = whole_attribute("is_cpu_op", 0, BOOL)
"""Every node of ours runs on an accelerator."""


@lru_cache(maxsize=1 << 8)
def collective_attribute(kind: int) -> bytes:
    """Return the attribute that says which collective a node is."""
    return whole_attribute("comm_type", kind, INT64)
