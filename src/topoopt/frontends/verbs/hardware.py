"""``topoopt.hardware``: what can be bought, with the source of every row."""

from topoopt.catalog import HardwareTables, hardware_tables
from topoopt.schema.words import checked_arguments


@checked_arguments
def hardware(table: str | None = None) -> HardwareTables:
    """List accelerators, servers, network parts and efficiencies, each with its source.

    Parameters
    ----------
    table
        ``accelerators``, ``servers``, ``nics``, ``transceivers``, ``switches``, ``optical-switches`` or ``efficiency``;
        all if not named.

    Returns
    -------
    HardwareTables

    Raises
    ------
    InvalidInput
        If there is no such table.

    Examples
    --------
    >>> import topoopt
    >>> [row.name for row in topoopt.hardware("optical-switches").tables["optical-switches"]][:2]
    ['patch-panel', 'piezo']
    """
    return hardware_tables(table)
