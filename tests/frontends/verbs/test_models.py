"""``topoopt.models`` and ``topoopt.hardware`` answer in Python what the commands print."""

import pytest

import topoopt
from tests.frontends.verbs.conftest import Printed, as_json


@pytest.mark.parametrize("name", ["dlrm-16", "mixtral-8x7b"])
def test_a_model_is_what_the_command_prints(printed: Printed, name: str) -> None:
    assert printed("models", name) == as_json(topoopt.models(name).to_json())


def test_every_variant_and_every_transformer_is_a_row() -> None:
    listed = topoopt.models()
    table = listed.to_frame()
    assert len(table) == sum(len(model.variants) for model in listed.models) + len(listed.transformers)
    assert {"vgg16-16", "llama3-70b"} <= set(table["model"])


def test_hardware_is_what_the_command_prints(printed: Printed) -> None:
    assert printed("hardware") == as_json(topoopt.hardware().to_json())
    nics = topoopt.hardware("nics")
    assert set(nics.to_frame()["table"]) == {"nics"}
    with pytest.raises(topoopt.InvalidInput, match='unknown name "nisc"; did you mean nics'):
        topoopt.hardware("nisc")
