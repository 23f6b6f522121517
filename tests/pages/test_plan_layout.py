"""The page of a transformer's plan: configuration, placement, every configuration on every fabric, memory."""

from dataclasses import replace

import pytest

from tests.jobs.training_jobs import small_training_job
from topoopt.jobs import transformer_of
from topoopt.pages import BarChart, Facts, Page, html, make_page
from topoopt.pages.chart import StagesChart
from topoopt.pages.fabric_tables import time_by_fabric
from topoopt.pages.plan_facts import time_facts
from topoopt.pages.transformer_page import stages_picture
from topoopt.plans import Plan, compared_fabrics
from topoopt.search import SearchOptions, make_plan
from topoopt.simulation import compute_and_bubble


@pytest.fixture(scope="module")
def plan() -> Plan:
    return make_plan(small_training_job(), SearchOptions(), fabrics=("fat-tree", "torus"))


@pytest.fixture(scope="module")
def page(plan: Plan) -> Page:
    return make_page(plan)


def test_a_section_says_how_the_model_is_split(page: Page) -> None:
    split = next(section for section in page.sections if section.key == "configuration")
    assert isinstance(split.blocks[0], Facts)
    assert split.blocks[0].title == "How the model is split"
    assert "fastest of 3 configurations" in split.caption
    assert "strategy" not in {section.key for section in page.sections}


def test_what_the_free_network_leaves_is_named_by_cause(plan: Plan) -> None:
    """Four equal stages and four micro-batches: the others wait for three passes of each direction in seven."""
    work = transformer_of(plan.job)
    layout = work.layouts[2]
    chunks = tuple(replace(chunk, inside_s=0.1 * chunk.forward_s) for chunk in layout.step.chunks)
    step = replace(layout.step, chunks=chunks)
    work = replace(work, layouts=(*work.layouts[:2], replace(layout, step=step)))
    outcome = replace(plan.outcome, compute_time_s=7 * 3 * 5.5e-3)
    known = replace(
        plan, job=replace(plan.job, work=work), strategy=replace(plan.strategy, layout=2), outcome=outcome
    )
    facts = time_facts(known)
    assert facts["compute"] == "63.8 ms on the busiest stage"
    assert facts["inside"] == "2.2 ms of its collectives between accelerators of one server"
    assert facts["bubble"] == "49.5 ms in which stages wait for each other"


def test_waiting_for_other_stages_is_no_computation_in_the_bars_of_fabrics(plan: Plan, page: Page) -> None:
    chart = next(chart for chart in page.charts if chart.name == "iteration_time_by_fabric")
    assert isinstance(chart, BarChart)
    parts = {series.name: series.y for series in chart.series}
    strategies = (plan.strategy, *(row.strategy for row in plan.baselines))
    work = transformer_of(plan.job)
    bubbles = [compute_and_bubble(work.layout(strategy).step)[1] for strategy in strategies]
    assert min(bubbles) > 0
    assert parts["pipeline bubble"] == pytest.approx([bubble_s * 1e3 for bubble_s in bubbles])
    rows = (plan.outcome, *(row.outcome for row in plan.baselines))
    sums = [sum(part) for part in zip(*parts.values(), strict=True)]
    assert sums == pytest.approx([outcome.iteration_time_s * 1e3 for outcome in rows])


def test_bars_that_cannot_tell_computation_from_the_bubble_say_so(plan: Plan) -> None:
    names = [series.name for series in time_by_fabric(compared_fabrics(plan)).series]
    assert names == ["computation and bubble", "exposed communication"]


def test_every_server_holds_a_stage(page: Page) -> None:
    placement = next(chart for chart in page.charts if chart.name == "placement")
    assert placement.values == tuple(  # type: ignore[union-attr]
        tuple(float(server // 2 == stage) for server in range(8)) for stage in range(4)
    )


def test_the_stages_say_layers_servers_and_what_they_send(page: Page, plan: Plan) -> None:
    chart = next(chart for chart in page.charts if chart.name == "stages")
    work = transformer_of(plan.job)
    step = work.layout(plan.strategy).step
    assert isinstance(chart, StagesChart)
    assert [box.name for box in chart.stages] == [f"stage {stage}" for stage in range(step.stages)]
    each = work.model.layers // step.stages
    assert each * step.stages == work.model.layers
    for stage, box in enumerate(chart.stages):
        last = (stage + 1) * each - 1
        assert box.lines[0] == (f"layers {stage * each}–{last}" if each > 1 else f"layer {last}")
        assert box.lines[1] == f"servers {2 * stage}–{2 * stage + 1}"
        (chunk,) = step.chunks_on(stage)
        assert box.busy_s == chunk.forward_s + chunk.backward_s
    parts = step.part_servers.shape[2]
    assert chart.sends_bytes == tuple(chunk.output_bytes * parts for chunk in step.chunks[:-1])
    assert chart.back == ""


def test_interleaved_stages_have_layers_from_everywhere_and_a_way_back(plan: Plan) -> None:
    work = transformer_of(plan.job)
    layout = work.layout(plan.strategy)
    step = layout.step
    twice = replace(step, chunks=(*step.chunks[:-1], step.chunks[0], *step.chunks))
    model = replace(work.model, layers=2 * len(twice.chunks))
    layouts = tuple(replace(one, step=twice) if one is layout else one for one in work.layouts)
    known = replace(plan, job=replace(plan.job, work=replace(work, model=model, layouts=layouts)))
    (chart,) = stages_picture(known)
    n = step.stages
    assert chart.stages[1].lines[0] == f"layers 2–3, {2 * n + 2}–{2 * n + 3}"
    assert chart.back.startswith("Then from the last stage to the first, once: ")
    assert chart.stages[0].busy_s == 2 * (step.chunks[0].forward_s + step.chunks[0].backward_s)


def test_closed_form_and_simulation_stand_side_by_side(page: Page, plan: Plan) -> None:
    times = next(chart for chart in page.charts if chart.name == "configurations")
    closed, wired = times.series  # type: ignore[union-attr]
    assert closed.y == pytest.approx((100, 105, 110))
    assert wired.y == pytest.approx([time_s * 1e3 for time_s in plan.search.seed_times_s])


def test_columns_of_fabrics_have_names_of_their_own(page: Page) -> None:
    table = next(
        block
        for section in page.sections
        for block in section.blocks
        if getattr(block, "title", "").startswith("Every config")
    )
    columns = table.columns  # type: ignore[union-attr]
    assert columns == ("configuration", "wired for it", "fat-tree (priced)", "torus")


def test_memory_is_told_by_cause_beside_what_there_is(page: Page, plan: Plan) -> None:
    memory = next(chart for chart in page.charts if chart.name == "memory")
    told = {series.name: series.y[0] * 2**30 / 1e9 for series in memory.series}  # type: ignore[union-attr]
    limits = [limit.value * 2**30 for limit in memory.limits]  # type: ignore[union-attr]
    assert limits == pytest.approx([transformer_of(plan.job).capacity_bytes])
    assert told == pytest.approx(
        {"parameters": 1, "gradients": 2, "optimizer": 3, "activations": 4, "logits": 0.5}
    )


def test_the_page_is_whole(page: Page) -> None:
    text = html(page)
    assert "round-robin" not in text
    assert "tokens" in text.lower()
