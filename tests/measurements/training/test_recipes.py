"""What the recipes of Megatron Bridge say of rows that do not say it themselves."""

import pytest

from topoopt.measurements.training.run import recipe_fields

ROW = {
    "dataset": "megatron_bridge",
    "model": "DeepSeekV3",
    "gpu": "GB300",
    "precision": "MXFP8",
    "note": "26.06.01 NeMo Container; Pre-Training Performance",
}
BOTH = {"overlap_experts": True, "graphs": True}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, BOTH),
        ({"model": "Qwen3_235B_a22B", "gpu": "B300"}, BOTH),
        ({"model": "DeepSeekV3", "gpu": "B300"}, {}),
        ({"model": "DeepSeekV3", "gpu": "B200"}, {"overlap_experts": True, "graphs": False}),
        ({"note": "26.04 NeMo Container"}, {}),
        ({"gpu": "B200", "note": "26.04.01 NeMo Container"}, {"overlap_experts": True, "graphs": False}),
        ({"gpu": "B200", "note": "26.04 NeMo Container"}, {}),
        ({"precision": "BF16"}, {}),
        ({"dataset": "mine"}, {}),
        ({"note": ""}, {}),
    ],
)
def test_recipes_say_what_rows_do_not(words: dict[str, str], said: dict[str, bool]) -> None:
    assert recipe_fields({**ROW, **words}, 2, 8, 32) == said


def test_stages_of_one_chunk_overlap_nothing() -> None:
    assert recipe_fields(ROW, 4, 1, 32) == {"overlap_experts": False, "graphs": True}
    assert recipe_fields(ROW, 1, 1, 8) == BOTH
