"""Rows become a pandas table; without pandas the remedy is one line."""

import sys

import pytest

from topoopt.base.answers import frame
from topoopt.base.errors import InvalidInput


def test_a_row_for_each_mapping_and_a_column_for_each_key() -> None:
    pytest.importorskip("pandas")
    table = frame([{"fabric": "torus", "time_s": 1.0}, {"fabric": "ring", "time_s": 2.0}])
    assert list(table.columns) == ["fabric", "time_s"]
    assert table["time_s"].sum() == 3.0


def test_without_pandas_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InvalidInput, match=r'pip install "topoopt\[frame\]"'):
        frame([])
