"""The constants that are shipped: factors by what a stack has in common with those that were measured."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import numpy as np

from topoopt.base.arrays import Floats
from topoopt.base.errors import check_known
from topoopt.inference.step.constants import Constants
from topoopt.inference.step.factors import CONSTANTS, Factors, constants_of_logs, members_of, row_logs
from topoopt.inference.step.levels import ServedStack, engine_family, level_names
from topoopt.schema.files import packaged_rows

USUAL_ENGINE = "vllm"
"""Whose constants are taken where no engine is named."""


@cache
def shipped_factors() -> Factors:
    """Return the factors of ``data/constants.csv``, whose first row is the base."""
    rows = packaged_rows("inference", "constants")
    logs = np.log([[float(row[name]) for name in CONSTANTS] for row in rows])
    return Factors(logs[0], [(row["level"], row["name"]) for row in rows[1:]], logs[1:])


def known_engine(engine: str) -> str:
    """Return the name of an engine that was measured, or empty where none is named.

    Raises
    ------
    InvalidInput
        For an engine of which there are no measured rows: its constants would be those of no engine.
    """
    if engine:
        check_known(
            "engine",
            engine_family(engine),
            [name for level, name in shipped_factors().names if level == "engine"],
        )
    return engine


def shipped_logs(stacks: Sequence[ServedStack]) -> Floats:
    """Return logarithms of the constants of stacks, array (n, constants)."""
    factors = shipped_factors()
    return row_logs(factors, members_of(factors.names, [level_names(stack) for stack in stacks]))


def shipped_constants(stack: ServedStack) -> Constants:
    """Return the constants of a stack; what was never measured has a factor of 1."""
    named = stack if stack.engine else replace(stack, engine=USUAL_ENGINE)
    columns = constants_of_logs(shipped_logs([named]))
    return Constants(**{name: float(getattr(columns, name)[0]) for name in CONSTANTS})
