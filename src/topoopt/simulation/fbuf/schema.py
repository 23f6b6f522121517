"""The tables of a FlexNet ``.fbuf`` file, field by field in the order of slots: what reading and writing go by.

A field is a number (NumPy's word for its type), a text, a list of numbers ``[u8]``, or a table: then a list of such.
In columns a list has its CSR pointer in front of what it holds, as in the dataclasses of ``graph.py``.
"""

from collections.abc import Mapping
from typing import TypeAlias, Union

TEXT = "text"
Table: TypeAlias = Mapping[str, Union[str, "Table"]]

NUMBERS: Mapping[str, str] = {
    "ngpupernode": "u4",
    "nnode": "u4",
    "nswitch": "u4",
    "intergpubw": "f4",
    "drambw": "f4",
    "netbw": "f4",
}
"""What the root table begins with."""

LISTS: Mapping[str, Table] = {
    "connections": {"fromnode": "u4", "tonode": "u4", "nconn": "u4"},
    "operators": {"opid": "u8", "type": "i4", "name": TEXT},
    "tasks": {
        "type": "i2",
        "taskid": "u8",
        "deviceid": "u8",
        "runtime": "f4",
        "xfersize": "u8",
        "nexttasks": "[u8]",
    },
    "devices": {"type": "i2", "deviceid": "u8", "nodeid": "u8", "deviceproperty": "u8", "bandwidth": "u8"},
    "routes": {"fromnode": "u4", "tonode": "u4", "paths": {"hopnodes": "[u4]", "chance": "f4"}},
    "rings": {"ringsz": "u8", "ringpaths": {"jumps": "[i4]"}},
}
"""What follows: lists of tables."""
