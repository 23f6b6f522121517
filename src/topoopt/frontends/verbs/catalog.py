"""``topoopt.models`` and ``topoopt.hardware``: included models, and the hardware catalog."""

import os
from dataclasses import replace

from topoopt.catalog import CATALOGUES, HardwareTables, hardware_tables
from topoopt.jobs import ModelList, listed_models
from topoopt.pricing import DEFAULT_PRICES, find_prices, port_prices_usd
from topoopt.schema.words import checked_arguments, known_as


@checked_arguments
def hardware(table: str | None = None) -> HardwareTables:
    """List accelerators, servers, network parts and efficiencies with their sources.

    Parameters
    ----------
    table
        ``accelerators``, ``servers``, ``nics``, ``transceivers``, ``switches``, ``optical-switches`` or ``efficiency``;
        or a part such as ``h100``; all tables if not named.

    Returns
    -------
    HardwareTables

    Raises
    ------
    InvalidInput
        If there is no such table or part.

    Examples
    --------
    >>> import topoopt
    >>> [row.name for row in topoopt.hardware("optical-switches").tables["optical-switches"]][:2]
    ['patch-panel', 'piezo']
    """
    table = known_as(table or "", CATALOGUES) or table
    return replace(hardware_tables(table), ports_usd=port_prices_usd(find_prices(DEFAULT_PRICES)))


@checked_arguments
def models(name: str | os.PathLike[str] | None = None) -> ModelList:
    """List the built-in models with their variants, hyperparameters and transformer shapes.

    Parameters
    ----------
    name
        One model, a variant of it, the ``config.json`` of a transformer, or the beginning of several names.

    Returns
    -------
    ModelList

    Raises
    ------
    InvalidInput
        If there is no such model.

    Examples
    --------
    >>> import topoopt
    >>> topoopt.models("llama3-70b").transformers[0].parameters.total
    70553706496
    """
    return listed_models(None if name is None else os.fspath(name))
