"""What is given is not searched; what no search varies becomes a column of its own."""

import pytest

from topoopt.base.errors import InvalidInput
from topoopt.transformers import SearchRequest, System, enumerate_configurations, fixed_fields, usual_choices
from topoopt.workloads.transformer import find_transformer

LLAMA = find_transformer("llama2-7b")


def test_what_no_search_varies_is_left_out_where_it_is_usual() -> None:
    words = {"tp": 2, "schedule": "1f1b", "adapter_rank": 16, "accelerators": 64, "precision": "bf16"}
    assert fixed_fields(words) == {"tp": 2, "adapter_rank": 16}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"tp": 0}, "tp: expected an integer >= 1, got 0"),
        ({"shard": -1}, "shard: expected an integer >= 0, got -1"),
        ({"context": "rings"}, 'context: unknown name "rings"; did you mean ring?'),
        ({"offload_optimizer": 1.5}, "offload_optimizer: expected a share from 0 to 1, got 1.5"),
        ({"recompute": "core+norm"}, 'recompute core+norm: unknown name "norm"'),
    ],
)
def test_a_value_that_a_field_cannot_have_is_refused(words: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message.replace("?", r"\?").replace("+", r"\+")):
        fixed_fields(words)


def test_every_row_has_what_no_search_varies() -> None:
    choices = usual_choices(LLAMA, 16, 8, 4096).pinned(tp=2, adapter_rank=16, recompute=3)
    table = enumerate_configurations(LLAMA, 16, 64, 4096, choices)
    usual = enumerate_configurations(LLAMA, 16, 64, 4096, usual_choices(LLAMA, 16, 8, 4096).pinned(tp=2))
    assert 0 < len(table) < len(usual)
    assert {table.row(row).adapter_rank for row in range(len(table))} == {16}
    assert {table.row(row).recompute for row in range(len(table))} == {"core+norms"}


def test_a_request_takes_words_as_people_write_them() -> None:
    system = System("h100", 8, 3.6e12, 400e9)
    request = SearchRequest(
        LLAMA, 16, system, 64, 4096, {"recompute": "core+norms", "sequence_parallel": True}
    )
    one = request.enumerated().row(0)
    assert (one.recompute, one.sequence_parallel) == ("core+norms", True)
