"""Words that no search varies: their rows are those that pass the check one by one, found without checking each."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from topoopt.base.errors import InvalidInput
from topoopt.transformers import Limits, check_configuration, enumerate_configurations, usual_choices
from topoopt.transformers.configuration_table import RARE_COLUMNS, ConfigurationTable, column_value
from topoopt.transformers.search import request as enumeration
from topoopt.workloads.transformer import find_transformer

WORDS: dict[str, tuple[Any, ...]] = {
    "recompute_layers": (1, 2, 5, 8, 40),
    "shard": (2, 4, 8, 32),
    "context": ("ulysses", "all-gather"),
    "schedule": ("zero-bubble", "dualpipe"),
    "overlap_experts": (True,),
    "dispatch": ("fp8",),
    "weights": ("fp8",),
    "gradients": ("fp8", "bf16"),
    "moments": ("bf16",),
    "activation_inputs": ("fp32", "fp8"),
    "offload_optimizer": (0.5,),
    "offload_activations": (1.0,),
    "adapter_rank": (16, 100_000),
    "adapters": ("attention",),
    "document": (512, 100_000),
    "document_spread": (0.5,),
    "exchange": ("flat",),
    "graphs": (True,),
}
MODELS = {
    "llama3-8b": "full",
    "mixtral-8x7b": "selective",
    "deepseek-v2-lite": "norms",
    "nemotron-h-8b": "none",
}


def table_of(name: str, words: dict[str, Any], any_schedule: bool) -> tuple[ConfigurationTable, Any]:
    """Return the table of 16 accelerators, and that of rows of the same words none of which was checked."""
    model = find_transformer(name)
    limits = Limits(max_vpp=2, max_micro_batch=2, max_ep=8, any_schedule=any_schedule)
    choices = usual_choices(model, 16, 8, 4096, limits).pinned(
        **{word: column_value(word, value) for word, value in words.items()}
    )
    found = enumerate_configurations(model, 16, 32, 4096, choices)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(enumeration, "_checked", lambda model, table, accelerators, choices: table)
        return found, (model, enumerate_configurations(model, 16, 32, 4096, choices))


@settings(max_examples=10)
@given(
    st.sampled_from(sorted(MODELS)),
    st.lists(st.sampled_from(sorted(WORDS)), min_size=1, max_size=3, unique=True).flatmap(
        lambda names: st.fixed_dictionaries({name: st.sampled_from(WORDS[name]) for name in names})
    ),
    st.booleans(),
)
def test_rows_are_those_that_pass_one_by_one(name: str, words: dict[str, Any], any_schedule: bool) -> None:
    found, (model, candidates) = table_of(name, words, any_schedule)
    expected = []
    for one in map(candidates.row, range(len(candidates))):
        with suppress(InvalidInput):
            check_configuration(model, one, 16)
            expected.append(one)
    assert [found.row(index) for index in range(len(found))] == expected


def test_every_word_is_known_with_what_its_check_reads() -> None:
    assert set(enumeration.READ) == set(RARE_COLUMNS) == set(WORDS)
