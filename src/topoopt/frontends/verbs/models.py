"""``topoopt.models``: the models that come with topoopt, their variants and sizes."""

import os

from topoopt.jobs import ModelList, listed_models
from topoopt.schema.words import checked_arguments


@checked_arguments
def models(name: str | os.PathLike[str] | None = None) -> ModelList:
    """List the models that come with topoopt: variants and hyper-parameters, shapes of transformers.

    Parameters
    ----------
    name
        One model, a variant of it, or the ``config.json`` of a transformer.

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
