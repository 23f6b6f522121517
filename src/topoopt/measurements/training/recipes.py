"""What a row of published runs leaves unsaid and the recipe says that they were run with.

NVIDIA's page of Megatron Bridge names a container for each row; the recipes of that container say whether all-to-alls
of experts overlap, and whether whole iterations are launched as graphs. ``data/run_recipes.csv`` has them with sources.
"""

import re
from typing import Any

from topoopt.measurements.training.columns import Row, text
from topoopt.schema.files import packaged_rows

VERSION = r"(\d\d)\.(\d\d)(?:\.(\d\d))? NeMo"
"""Of a container, in a row's note."""

STACKS = {"megatron-bridge": r"megatron[-_ ]bridge"}
"""How rows name a stack, in their framework, data set or source."""

PLACES = ("framework", "dataset", "source")


def recipe_fields(row: Row, pp: int, vpp: int, ep: int) -> dict[str, Any]:
    """Return the fields of a configuration that the recipe of a row says; nothing where it has none.

    Without chunks of their own, stages have nothing for all-to-alls to overlap with, whatever a recipe asks for.
    """
    found = re.search(VERSION, text(row, "note"))
    if found is None or ep == 1:
        return {}
    version = _version(found.groups())
    said = " ".join(text(row, place) for place in PLACES).lower()
    for recipe in _RECIPES:
        since = _version(recipe["since"].split("."))
        if version >= since and re.search(STACKS[recipe["stack"]], said) and _is_of(recipe, row):
            overlaps = recipe["overlap_experts"] == "1" and (pp == 1 or vpp > 1)
            return {"overlap_experts": overlaps, "graphs": recipe["graphs"] == "1"}
    return {}


def _is_of(recipe: Row, row: Row) -> bool:
    return all(
        re.search(
            rf"\b(?:{recipe[column]})" if column == "gpu" else recipe[column], text(row, column).lower()
        )
        for column in ("model", "gpu", "precision")
    )


def _version(parts: Any) -> tuple[int, ...]:
    return tuple(int(part or 0) for part in (*parts, None, None)[:3])


_RECIPES = packaged_rows("measurements.training", "run_recipes")
