"""Exchanges that are added up: those without a table of bytes by pair stay apart from those with one."""

from dataclasses import dataclass

from topoopt.transformers.pipeline_chunks import merged


@dataclass(frozen=True)
class Row:
    kind: str
    size_bytes: int
    pair_bytes: tuple[tuple[int, ...], ...] = ()


def test_a_row_with_a_table_is_not_added_to_one_without() -> None:
    rows = [Row("experts", 1), Row("experts", 2, ((1, 2),)), Row("experts", 3), Row("experts", 4, ((5, 6),))]
    found = merged(rows, ("size_bytes", "pair_bytes"))
    assert found == (Row("experts", 4), Row("experts", 6, ((6, 8),)))
