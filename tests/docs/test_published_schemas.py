"""The published schemas are those of the code, and schemas."""

import jsonschema
import pytest

from tests.published_schemas import SCHEMAS, published


@pytest.mark.parametrize("name", SCHEMAS)
def test_the_published_schema_is_that_of_the_code(name: str) -> None:
    assert published(name) == SCHEMAS[name](), "run: python -m tests.published_schemas"
    jsonschema.Draft202012Validator.check_schema(published(name))
