"""What communicators take beside tensors: each kind of groups that a rank belongs to has its buffers on the device."""

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.transformers.configuration_table import ConfigurationTable
from topoopt.transformers.memory.frameworks import Framework


def communicator_bytes(table: ConfigurationTable, framework: Framework) -> Floats:
    """Return the bytes of a rank's communicators: tensor, pipeline, data, context and expert parallel groups.

    NCCL has buffers for every channel of a communicator, however many ranks are in it; groups of one rank have none.
    """
    groups = np.asarray(table.tp > 1, np.float64)
    groups += table.pp > 1
    groups += table.dp * table.cp > 1
    if np.any(several := table.cp > 1):
        groups += several
    if np.any(several := table.ep > 1):
        groups += several
    return framework.group_bytes * groups
