"""Parameters of all ranks are those of the model, each once."""

from dataclasses import replace

import pytest

from topoopt.transformers import Configuration, rank_parameters
from topoopt.workloads.transformer import TRANSFORMERS, count_parameters, find_transformer


@pytest.mark.parametrize("pp", [1, 3])
def test_stages_hold_every_parameter_once(pp: int) -> None:
    for name in TRANSFORMERS:
        model = replace(find_transformer(name), mtp_layers=0)
        one = Configuration(tp=1, pp=pp, dp=1, global_batch=1, sequence=128)
        held = [rank_parameters(model, one, stage) for stage in range(pp)]
        twice = held[0].embedding if model.tied and pp > 1 else 0
        assert sum(stage.total for stage in held) - twice == count_parameters(model).total, name


@pytest.mark.parametrize("name", ["gpt3-175b", "llama3-70b", "mixtral-8x7b", "deepseek-v3"])
def test_slices_and_what_is_whole_add_up(name: str) -> None:
    """Eight ranks hold the model once, and seven times more what each of them has whole."""
    model = replace(find_transformer(name), mtp_layers=0)
    experts = 0 if model.experts is None else 8
    one = Configuration(tp=8, pp=1, dp=1, ep=max(experts, 1), global_batch=1, sequence=128)
    held = rank_parameters(model, one, 0)
    whole = held.replicated + model.positions * model.hidden + model.extra_parameters
    assert 8 * held.total - 7 * whole == count_parameters(model).total


def test_modules_for_further_tokens_are_on_the_last_stage() -> None:
    """DeepSeek-V3's has 14 billion parameters with an embedding and an output layer, which it shares (its README)."""
    model = find_transformer("deepseek-v3")
    one = Configuration(tp=1, pp=4, dp=1, global_batch=4, sequence=128)
    mine, others = (
        sum(rank_parameters(each, one, stage).total for stage in range(4))
        for each in (model, replace(model, mtp_layers=0))
    )
    more = mine - others
    assert more + 2 * model.vocabulary * model.hidden == pytest.approx(14e9, rel=0.05)
