"""Parameters of all ranks are those of the model, each once."""

import pytest

from topoopt.llm import Configuration, rank_parameters
from topoopt.transformer import TRANSFORMERS, count_parameters, find_transformer


@pytest.mark.parametrize("pp", [1, 3])
def test_stages_hold_every_parameter_once(pp: int) -> None:
    for name in TRANSFORMERS:
        model = find_transformer(name)
        one = Configuration(tp=1, pp=pp, dp=1, global_batch=1, sequence=128)
        held = [rank_parameters(model, one, stage) for stage in range(pp)]
        twice = held[0].embedding if model.tied and pp > 1 else 0
        assert sum(stage.total for stage in held) - twice == count_parameters(model).total, name


@pytest.mark.parametrize("name", ["gpt3-175b", "llama3-70b", "mixtral-8x7b", "deepseek-v3"])
def test_slices_and_what_is_whole_add_up(name: str) -> None:
    """Eight ranks hold the model once, and seven times more what each of them has whole."""
    model = find_transformer(name)
    experts = 0 if model.experts is None else 8
    one = Configuration(tp=8, pp=1, dp=1, ep=max(experts, 1), global_batch=1, sequence=128)
    held = rank_parameters(model, one, 0)
    whole = held.replicated + model.positions * model.hidden + model.extra_parameters
    assert 8 * held.total - 7 * whole == count_parameters(model).total
