"""What is sent once more because something is computed again: of whole layers, of experts, of some layers."""

from collections import Counter
from dataclasses import replace

from tests.transformers.shapes import SMALL_EXPERTS, small_model
from topoopt.transformers import Configuration, communications

MODEL = small_model(SMALL_EXPERTS)  # 8 layers, all with experts
ONE = Configuration(tp=2, pp=2, dp=4, ep=4, global_batch=8, sequence=64)  # 2 micro-batches, 4 layers a stage


def counts(one: Configuration) -> Counter[tuple[str, str]]:
    """Return the messages of both passes through the first chunk, by kind and part."""
    found: Counter[tuple[str, str]] = Counter()
    for each in communications(MODEL, one):
        if each.stage == 0:
            found[each.kind, each.part] += each.count
    return found


def test_experts_that_are_computed_again_get_their_tokens_again() -> None:
    none, experts, full = (counts(replace(ONE, recompute=how)) for how in ("none", "experts", "full"))
    assert none["ep", "dispatch"] == 2 * 2 * 4
    assert experts["ep", "dispatch"] == full["ep", "dispatch"] == 2 * 3 * 4
    assert none["tp", "attention"] == experts["tp", "attention"] == 2 * 2 * 4
    assert full["tp", "attention"] == 2 * 3 * 4


def test_only_the_layers_that_it_is_about_send_again() -> None:
    some = counts(replace(ONE, recompute="full", recompute_layers=1))
    assert some["ep", "dispatch"] == 2 * (2 * 4 + 1)
    assert some["tp", "attention"] == 2 * (2 * 4 + 1)


def test_parts_that_need_nobody_else_send_nothing_again() -> None:
    assert counts(replace(ONE, recompute="norms+activation")) == counts(ONE)
