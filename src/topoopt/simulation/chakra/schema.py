"""Chakra's execution traces: kinds of nodes and collectives, fields of its messages, and attributes that are read.

References
----------
.. [1] github.com/mlcommons/chakra, ``schema/protobuf/et_def.proto`` (package ``ChakraProtoMsg``).
.. [2] github.com/astra-sim/astra-sim, ``astra-sim/workload/Workload.cc`` and ``feeder_v3/et_feeder_node_attr.h``: which
   attributes are taken, and what for.
"""

VERSION = "0.0.4"
"""Of the schema, as ASTRA-sim's own examples say it."""

NODE_TYPES = ("INVALID", "METADATA", "MEM_LOAD", "MEM_STORE", "COMP", "COMM_SEND", "COMM_RECV", "COMM_COLL")
INVALID, METADATA, MEM_LOAD, MEM_STORE, COMP, SEND, RECV, COLL = range(len(NODE_TYPES))

COLLECTIVE_TYPES = (
    *("ALL_REDUCE", "REDUCE", "ALL_GATHER", "GATHER", "SCATTER", "BROADCAST", "ALL_TO_ALL"),
    *("REDUCE_SCATTER", "REDUCE_SCATTER_BLOCK", "BARRIER"),
)
OURS = {
    "ALL_REDUCE": "allreduce",
    "ALL_GATHER": "all-gather",
    "ALL_TO_ALL": "all-to-all",
    "REDUCE_SCATTER": "reduce-scatter",
    "REDUCE_SCATTER_BLOCK": "reduce-scatter",
}
"""The collectives that a task graph knows, by our names."""
THEIRS = {ours: COLLECTIVE_TYPES.index(theirs) for theirs, ours in reversed(OURS.items())}
"""Numbers of the collectives, by our names."""

META_VERSION, META_ATTR = 1, 2
"""Fields of the message that begins a file."""
ID, NAME, TYPE, CTRL_DEPS, DATA_DEPS, START, DURATION, ATTR = 1, 2, 3, 4, 5, 6, 7, 10
"""Fields of a node."""
ATTR_NAME = 1
DOUBLE, FLOAT, STRING, BYTES, BOOL, BOOL_LIST = 3, 5, 29, 31, 27, 28
INT64, UINT64 = 9, 13
UNSIGNED = (7, 9, 11, 13, 27)
"""Values that are plain varints: int32, int64, uint32, uint64, bool."""
ZIGZAG = (15, 17)
FIXED = {19: "<I", 21: "<Q", 23: "<i", 25: "<q", DOUBLE: "<d", FLOAT: "<f"}
"""Values of 4 and 8 bytes, as ``struct`` says them."""

EXACT_DURATION = "topoopt_duration_s"
"""Attribute of ours: a time as it was planned; ``duration_micros`` is whole microseconds. Of communication: the delay
before it, for which Chakra has no field."""
EXACT_SIZE = "topoopt_buffer_bytes"
"""Attribute of ours: the buffer of an all-gather whose shards are not alike."""
ACCELERATOR = "topoopt_accelerator"
"""Attribute of ours: which of its server's devices computes."""
COLLECTIVE_WAY = "topoopt_collective"
"""Attribute of ours, of a file: how collectives run, a word of ``topoopt simulate --collective``."""
