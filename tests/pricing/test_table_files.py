"""The examples follow the published schemas."""

import csv
from pathlib import Path

import jsonschema
import pytest

from tests.published_schemas import published
from topoopt.catalog import NETWORKS
from topoopt.pricing import bill_of_materials, find_power, find_prices

ROOT = Path(__file__).parents[2]
EXAMPLES = {"prices": "prices.csv", "power": "watts.csv"}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_example_follows_the_schema(name: str) -> None:
    with (ROOT / "examples" / EXAMPLES[name]).open(newline="") as stream:
        rows = [{key: value for key, value in row.items() if value} for row in csv.DictReader(stream)]
    numbers = ("bandwidth_gbps", "usd", "watts")
    typed = [{key: float(value) if key in numbers else value for key, value in row.items()} for row in rows]
    schema = published(name)
    jsonschema.validate(typed, schema)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate([{**typed[0], "price": 5}], schema)


@pytest.mark.parametrize("fabric", NETWORKS)
def test_the_examples_price_every_fabric(fabric: str) -> None:
    prices = find_prices(str(ROOT / "examples" / "prices.csv"))
    power = find_power(str(ROOT / "examples" / "watts.csv"))
    bill = bill_of_materials(fabric, 16, 4, 400e9, prices, power=power)
    assert bill.cost_usd is not None
    assert bill.cost_usd > 0
    assert bill.power_w is not None
