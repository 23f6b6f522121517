"""The JSON Schemas that docs/ publishes, each made of the model that reads or writes the file.

``python -m tests.published_schemas`` writes those anew that are no longer current.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from pydantic import TypeAdapter

from tests.house.source_tree import ROOT
from topoopt.clusters.interleave.profiles.profile import ProfileFile
from topoopt.clusters.result import ClusterModel
from topoopt.clusters.trace import TraceRow
from topoopt.plans.comparison import ComparisonModel
from topoopt.plans.file_model import PlanFile
from topoopt.plans.inventory.file import InventoryFile
from topoopt.pricing.price_lists import PowerRowModel, PriceRowModel
from topoopt.studies.failure.failure_rates import RatesFile
from topoopt.studies.sweep.axes import SweepModel
from topoopt.workloads.device_profile import DeviceProfileModel


def inventory_schema() -> dict[str, Any]:
    """Return the schema of an inventory, in which a name alone stands for an interface."""
    schema = InventoryFile.model_json_schema()
    for branch in schema["$defs"]["ServerPart"]["properties"]["interfaces"]["anyOf"]:
        if "items" in branch:
            branch["items"] = {"anyOf": [{"type": "string"}, branch["items"]]}
    return schema


def times_as_text(node: Any) -> Any:
    """Return a schema in which numbers, which are all times, are text with a unit."""
    if isinstance(node, dict):
        if node.get("type") == "number":
            plain = {key: value for key, value in node.items() if key not in ("type", "default")}
            default = {"default": f"{node['default']:g} s"} if "default" in node else {}
            return {**plain, "type": "string", **default}
        return {key: times_as_text(value) for key, value in node.items()}
    return [times_as_text(value) for value in node] if isinstance(node, list) else node


SCHEMAS: Mapping[str, Callable[[], Any]] = {
    "cluster": ClusterModel.model_json_schema,
    "comparison": ComparisonModel.model_json_schema,
    "failure-rates": lambda: times_as_text(RatesFile.model_json_schema()),
    "inventory": inventory_schema,
    "job-profile": ProfileFile.model_json_schema,
    "plan": partial(PlanFile.model_json_schema, by_alias=True),
    "power": TypeAdapter(list[PowerRowModel]).json_schema,
    "prices": TypeAdapter(list[PriceRowModel]).json_schema,
    "profile": partial(DeviceProfileModel.model_json_schema, by_alias=True),
    "sweep": SweepModel.model_json_schema,
    "trace": TraceRow.model_json_schema,
}
"""By the name of the file in docs/, without ``.schema.json``."""


def published(name: str) -> Any:
    """Return a schema as docs/ has it."""
    return json.loads((ROOT / "docs" / f"{name}.schema.json").read_text(encoding="utf-8"))


def main() -> None:
    """Write the schemas that are no longer current."""
    for name, schema in SCHEMAS.items():
        made = schema()
        if made != published(name):
            path = ROOT / "docs" / f"{name}.schema.json"
            path.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
