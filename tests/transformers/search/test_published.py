"""Published ways of training: every row of the table is valid, and the nearest are named beside the best."""

from pathlib import Path
from typing import Any

import pytest

import topoopt
from topoopt.jobs import transformer_of
from topoopt.plans import read_plan, write_plan
from topoopt.transformers import ConfigurationSearch, check_configuration
from topoopt.transformers.configuration import Configuration
from topoopt.transformers.search.published_practice import MOST, Publication, publications

MIXTRAL = {"accelerators": 64, "global_batch": 256}


def search(model: str, **words: object) -> ConfigurationSearch:
    return topoopt.llm.search(model, **words)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def mixtral() -> ConfigurationSearch:
    return search("mixtral-8x7b", **MIXTRAL)


@pytest.mark.parametrize(
    "row", publications(), ids=[f"{row.model.name}-{row.accelerators}" for row in publications()]
)
def test_every_row_is_valid_for_what_it_was_published_for(row: Publication) -> None:
    inside = row.words["tp"] * row.words["pp"] * row.words.get("cp", 1)
    dp, rest = divmod(row.accelerators, inside)
    assert rest == 0
    batch = 2 * dp * row.words.get("micro_batch", 1) * row.words["pp"]  # as DualPipe needs
    one = Configuration(**row.words, dp=dp, global_batch=batch, sequence=row.sequence)
    check_configuration(row.model, one, row.accelerators, uneven_stages=True)
    assert row.source


def test_the_publication_for_this_very_job_comes_first(mixtral: ConfigurationSearch) -> None:
    """The mapping of Megatron Core's documentation, among the best 5 % of all that fit."""
    first = mixtral.published[0]
    assert (first.name, first.accelerators) == ("tp1 pp4 dp16 ep8 vpp8 mb1", 64)
    assert first.source.startswith("Megatron Core MoE")
    assert first.fits
    assert first.rank <= 0.05 * first.compared
    assert first.compared == mixtral.feasible


def test_its_rank_is_its_place_in_the_list(mixtral: ConfigurationSearch) -> None:
    first = mixtral.published[0]
    seconds = mixtral.times.iteration_time_s
    assert first.best_s == seconds.min()
    assert first.rank == 1 + sum(seconds < first.estimated_s * (1 - 1e-9))
    assert first.over_best == pytest.approx(first.estimated_s / first.best_s - 1)
    assert any(abs(seconds / first.estimated_s - 1) < 1e-9)  # the search looked at it, too


def test_llama_3_on_16384_is_found_among_the_best() -> None:
    """Meta's tp 8, pp 16 fits, with gradients shared out, and stands within the best 5 % of the list."""
    found = search("llama3-405b", accelerators=16384, global_batch=2048).published[0]
    assert found.fits
    assert (found.name, found.source[:14]) == ("tp8 pp16 dp128 vpp8 mb1", "Llama 3 report")
    assert found.rank <= 0.05 * found.compared


def test_replicas_follow_the_number_of_accelerators() -> None:
    found = search("llama3-70b", accelerators=128, global_batch=256).published
    assert {one.model for one in found} == {"llama3-70b"}
    assert all(one.accelerators != 128 or one.configuration["dp"] for one in found)
    assert ("tp4 pp4 dp4 cp2 vpp5 mb1", 64) in {(one.name, one.accelerators) for one in found}


def test_what_is_asked_of_all_configurations_holds_for_published_ones() -> None:
    """But for what a publication says itself: DeepSeek-V3's schedule stays."""
    tuned = search("llama3-70b", accelerators=64, global_batch=128, adapter_rank=16).published
    assert all(one.configuration["adapter_rank"] == 16 for one in tuned)
    asked = {"accelerators": 2048, "accelerator": "h800", "global_batch": 15360, "schedule": "zero-bubble"}
    mixed = search("deepseek-v3", **asked).published
    assert mixed[0].configuration["schedule"] == "dualpipe"


def test_models_of_the_same_kind_and_size_stand_in() -> None:
    found = search("qwen2.5-72b", accelerators=64, global_batch=256).published
    assert 0 < len(found) <= MOST
    assert {one.model for one in found} <= {"llama3-70b", "megatron-76.1b", "falcon-40b"}


def test_another_architecture_stands_in_only_with_as_much_memory() -> None:
    own = search("llama3-70b", accelerators=64, global_batch=128).published
    assert {one.accelerator for one in own} <= {"H100-SXM5-80GB"}
    other = search("llama3-70b", accelerators=64, global_batch=128, accelerator="mi300x").published
    assert other
    assert {one.accelerator for one in other} <= {"GB200-NVL72", "GB300-NVL72", "B200-SXM", "B300-SXM"}


def test_nothing_is_named_where_nobody_published_anything_alike() -> None:
    assert search("gpt2", accelerators=8, global_batch=512).published == ()


def test_the_page_and_the_document_name_them(mixtral: ConfigurationSearch) -> None:
    document = mixtral.to_json()["published"]
    assert document[0]["name"] == "tp1 pp4 dp16 ep8 vpp8 mb1"
    assert document[0]["configuration"]["ep"] == 8
    assert {"source", "rank", "compared", "over_best", "fits", "memory_bytes"} <= set(document[0])
    assert "Published practice" in str(mixtral)
    assert "Megatron Core MoE" in str(mixtral)


def test_a_plan_keeps_them_in_its_file_and_names_them(tmp_path: Path) -> None:
    plan = topoopt.plan(
        "llama3-8b", servers=2, degree=2, bandwidth="400Gbps", global_batch=128, fabrics=(), candidates=1
    )
    published = transformer_of(plan.job).published
    assert published[0].model == "llama3-8b"
    write_plan(tmp_path / "plan.json", plan)
    assert transformer_of(read_plan(tmp_path / "plan.json").job).published == published
    assert published[0].source.split(",")[0] in str(plan)


@pytest.mark.parametrize(
    ("model", "asked"),
    [
        ("llama3-70b", {"accelerators": 64}),
        ("mixtral-8x7b", {"accelerators": 64}),
        ("qwen3-235b-a22b", {"accelerators": 256, "accelerator": "gb200"}),
    ],
)
def test_what_is_said_of_a_published_layout_is_what_an_estimate_of_it_says(
    model: str, asked: dict[str, Any]
) -> None:
    found = search(model, **asked)
    seconds = found.times.iteration_time_s
    for one in found.published:
        batch = found.request.global_batch
        alone = topoopt.llm.estimate(
            model, **{"recompute": "none", "global_batch": batch, **asked, **one.configuration}
        )
        assert alone.iteration_time_s == pytest.approx(one.estimated_s)
        assert float(alone.memory.total[0]) == pytest.approx(one.memory_bytes)
        assert alone.fits == one.fits
        assert one.best_s == seconds.min()
        assert one.rank == 1 + (seconds < one.estimated_s).sum()
