"""Damaged archives of torch.export are one line with the place and what is expected; none of them needs PyTorch."""

import json
import zipfile
from pathlib import Path

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.jobs import request_of
from topoopt.workloads import read_program

NO_SPECS: dict[str, list[object]] = {"input_specs": [], "output_specs": []}


def archive(path: Path, content: str, name: str = "m/models/model.json") -> str:
    with zipfile.ZipFile(path, "w") as packed:
        packed.writestr(name, content)
    return str(path)


def module(graph: object, signature: object = NO_SPECS) -> str:
    return json.dumps({"graph_module": {"graph": graph, "signature": signature}})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[]", r"expected a mapping with graph_module, got \[\]"),
        ("null", "expected a mapping with graph_module, got "),
        ("{}", "graph_module: expected a mapping, got none"),
        ('{"graph_module": 1e400}', "graph_module: expected a mapping, got Infinity"),
        ('{"graph_module": {"graph": {}}}', "graph_module: signature: expected a mapping, got none"),
        (module({"nodes": []}), "graph: tensor_values: expected a mapping, got none"),
        (module({"tensor_values": {}, "nodes": {}}), "graph: nodes: expected a list, got "),
        (module({"tensor_values": {"a": {}}, "nodes": []}), "tensor_values.a: the key dtype is missing"),
        (module({"tensor_values": {"a": []}, "nodes": []}), "tensor_values.a: expected mappings and lists"),
        (module({"tensor_values": {}, "nodes": [{}]}), r"nodes\[0\]: the key outputs is missing"),
        (module({}, {"input_specs": [1], "output_specs": []}), "signature.input_specs: expected mappings"),
    ],
)
def test_a_program_with_other_keys_is_refused_with_the_place(
    content: str, message: str, tmp_path: Path
) -> None:
    path = archive(tmp_path / "m.pt2", content)
    with pytest.raises(InvalidInput, match=f"m.pt2: {message}.*; write it again with torch.export.save$"):
        read_program(path, {})


def test_an_archive_that_is_cut_short_or_of_something_else_is_a_program_by_its_name(tmp_path: Path) -> None:
    path = archive(tmp_path / "none.pt2", "{}", "other.json")
    assert request_of(path).program == path
    with pytest.raises(InvalidInput, match=r"an archive without models/model\.json"):
        read_program(path, {})
    cut = tmp_path / "cut.pt2"
    cut.write_bytes(Path(path).read_bytes()[:-30])
    assert request_of(str(cut)).program == str(cut)
    with pytest.raises(InvalidInput, match=r"cut\.pt2: no archive of torch.export, or cut short"):
        read_program(str(cut), {})
