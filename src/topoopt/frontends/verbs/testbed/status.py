"""``topoopt.testbed.status``: which testbeds this machine has."""

from topoopt.plugins.testbeds import TestbedsAnswer, listed
from topoopt.schema.words import checked_arguments


@checked_arguments
def status() -> TestbedsAnswer:
    """List the testbeds of this machine: those that stand, those in use, and what a killed run has left over.

    Returns
    -------
    TestbedsAnswer

    Examples
    --------
    >>> import topoopt
    >>> topoopt.testbed.status().done
    'status'
    """
    return listed()
