"""``topoopt.testbed.down``: testbeds are removed, with exactly what was created for them."""

from topoopt.base.errors import InvalidInput
from topoopt.plugins.testbeds import TestbedsAnswer, take_down
from topoopt.schema.words import checked_arguments


@checked_arguments
def down(name: str | None = None, *, every: bool = False) -> TestbedsAnswer:
    """Remove a testbed: its namespaces with all links and routes, the processes inside, and nothing else.

    Parameters
    ----------
    name
        Of one, or of a run with all its testbeds, whoever uses them.
    every
        All of them, but for those that a run goes on in.

    Returns
    -------
    TestbedsAnswer

    Raises
    ------
    InvalidInput
        If there is none of that name.
    """
    if (name is None) != every:
        raise InvalidInput("down: give the name of a testbed, or every=True for all; status lists them")
    return take_down(name)
