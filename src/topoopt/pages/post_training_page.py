"""Pages of post-training: methods of fine-tuning side by side, and a step of reinforcement learning by phase."""

from functools import partial
from operator import itemgetter
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.units import format_bandwidth, format_bytes, format_memory, format_time, time_within
from topoopt.catalog import find_accelerator
from topoopt.pages.chart import Bar, BarChart, LineChart, Series, TimelineChart
from topoopt.pages.cost_tables import cluster_sections
from topoopt.pages.fabric_tables import skipped_notes
from topoopt.pages.page import Block, Notes, Page, Section, Tile
from topoopt.pages.tables import (
    Column,
    Entries,
    counted,
    dollars,
    duration,
    facts,
    listed,
    number,
    short_number,
    table,
    text,
    usd,
)
from topoopt.reinforcement import RlStep
from topoopt.search import NAMES, FineTuning, TunedWay

TITLES = {"lora": "LoRA fine-tuning", "qlora": "QLoRA fine-tuning", "full": "Full fine-tuning"}
HARDLY = "The network hardly matters here: twice its bandwidth would save less than 2% of a step."


def rl_page(step: RlStep) -> Page:
    """Return the time breakdown of a step, the split of pools, and its time on other networks."""
    job, part = step.job, find_accelerator(step.job.system.accelerator).name
    tiles = [
        Tile("Step", format_time(step.step_s), f"bound by {step.bound_by}"),
        Tile("Tokens", f"{step.tokens_per_s_per_accelerator:,.0f}", "a second and accelerator"),
    ]
    if step.usd_per_step is not None:
        tiles.append(Tile("Dollars", dollars(step.usd_per_step), "a step"))
    traffic = step.traffic
    moved = f"{format_bytes(traffic.total_bytes)} between servers, {format_bytes(traffic.busiest_bytes)} at the busiest"
    entries: Entries = {
        "weights": f"{format_bytes(step.weight_bytes)} once, sent by {traffic.way}",
        "an accelerator": f"gets {format_bytes(traffic.accelerator_bytes)} at most"
        if traffic.accelerator_bytes
        else "has what it needs",
        "network": f"{moved}: {format_time(step.network_sync_s)} at the least"
        if traffic.total_bytes
        else "not used",
        "software": f"{step.transport}: {format_time(step.sync_s)} in all",
    }
    caption = "From those that train to those that answer."
    weights = Section("weights", "Weights", caption, (facts(entries),))
    return Page(
        "rl",
        f"{job.algorithm.upper()} of {job.model.name} on {job.accelerators} x {part}, {job.policy}",
        f"A step takes {format_time(step.step_s)}; it is bound by {step.bound_by}.",
        tuple(tiles),
        sections=(
            _time(step),
            _pools(step),
            weights,
            *_networks(step),
            *cluster_sections(step.cluster, step.ownership),
        ),
        key_numbers={
            **fields_of(step, "step_s", "tokens_per_s_per_accelerator"),
        },
    )


def _time(step: RlStep) -> Section:
    job = step.job
    entries: Entries = {
        "step": f"{format_time(step.step_s)}, bound by {step.bound_by}",
        "tokens": f"{step.tokens_per_s:,.0f} a second, {step.tokens_per_s_per_accelerator:,.0f} an accelerator",
        "answers": f"{job.answers:,}, {job.prompts:,} prompts x {job.samples}; {job.lengths.mean:,.0f} tokens on "
        f"average, {job.lengths.longest:,} the longest",
        "cost": "" if step.usd_per_step is None else f"{dollars(step.usd_per_step)} a step",
        "training": time_within(step.training.training_s, step.training.interval_share),
        "staleness": _staleness(step),
        "assumed": step.assumed,
    }
    rows = [{"phase": name, "time_s": seconds} for name, seconds in step.phases_s.items() if seconds > 0]
    pools = tuple(dict.fromkeys(span.pool for span in step.turns.spans))
    bars = tuple(
        Bar(pools.index(span.pool), span.start_s, span.end_s, span.phase, span.phase)
        for span in step.turns.spans
        if span.end_s > span.start_s
    )
    timeline = TimelineChart("rl_phases", "Phases of a step", "pool", pools, bars)
    blocks: tuple[Block, ...] = (
        facts(entries),
        table(
            "Phases",
            rows,
            text("phase"),
            number("time", "time_s"),
            number("share of a step", lambda row: row["time_s"] / step.step_s, ".0%"),
        ),
        timeline,
        _thinning(step),
        *((Notes((HARDLY,)),) if step.network_hardly_matters else ()),
    )
    caption = (
        "What each pool does when. Phases of two pools overlap, so that their shares add up to more than one."
    )
    return Section("time", "Time", caption, blocks)


def _staleness(step: RlStep) -> str:
    if not step.job.disjoint:
        return ""
    mean, longest = step.turns.staleness_steps, step.turns.longest_staleness_steps
    if step.job.policy == "one-step-off":
        return "answers are trained on one update of the weights after they were begun"
    return f"answers are begun {mean:.2f} updates of the weights before they are trained on, the longest {longest:.2f}"


def _thinning(step: RlStep) -> LineChart:
    played = step.rollout.played
    series = Series("answers", tuple(played.elapsed_s.tolist()), tuple(played.alive.tolist()), marked=False)
    return LineChart(
        "rl_answers",
        "Answers that a replica works on",
        "time (s)",
        "answers",
        (series,),
        x_from_zero=True,
        y_from_zero=True,
        note="Of the replica that has most to do; the longest answer ends last.",
    )


def _pools(step: RlStep) -> Section:
    rollout, training = step.rollout, step.training.configuration
    split, played = rollout.parallelism, rollout.played
    parts = f"tensor {split.tensor}, pipeline {split.pipeline}, expert {split.expert}"
    parts += f", attention data {split.attention_data}" if split.attention_data > 1 else ""
    degrees = f"tp {training.tp}, pp {training.pp}, dp {training.dp}, cp {training.cp}, ep {training.ep}"
    entries: Entries = {
        "rollout": [
            f"{step.rollout_accelerators} accelerators, {counted(rollout.replicas, 'replica')}: {parts}",
            f"{counted(played.largest_batch, 'answer')} at once, {played.steps:,} steps of "
            f"{format_time(rollout.time_s / max(played.steps, 1))} on average",
            f"room for keys and values of {rollout.capacity_tokens:,.0f} tokens, {played.most_cached_tokens:,.0f} at "
            f"the fullest"
            + (f"; {counted(played.preempted, 'answer')} put back" if played.preempted else ""),
        ],
        "training": [
            f"{step.training_accelerators} accelerators: {degrees}",
            f"micro-batch {training.micro_batch}, recomputing {training.recompute}, ZeRO {training.zero}; answers "
            f"packed into sequences of {training.sequence:,} tokens",
        ],
        "hosts": _waiting(step),
    }
    caption = "How the accelerators are split; what was not given is what makes a step shortest."
    return Section("pools", "Pools", caption, (facts(entries),))


def _waiting(step: RlStep) -> str:
    """Return the models that wait in the memory of hosts, and their size."""
    job = step.job
    there = {"reference": job.reference, "reward": job.reward == "model", "critic": job.algorithm == "ppo"}
    names = [name for name, is_there in there.items() if is_there]
    if not names:
        return ""
    size = format_bytes(step.waiting_bytes_per_server)
    return f"{listed(names)} wait for their turn in the memory of hosts, {size} on each"


def _networks(step: RlStep) -> list[Section]:
    if not step.fabrics:
        return []
    names = list(step.fabrics[0].network_s)
    columns = [number(f"{name} needs", f"network_s.{name}", format_time) for name in names]
    rows = table(
        "",
        step.fabrics,
        text("network", "fabric"),
        number("step", "step_s"),
        *columns,
        text("weights by", "way"),
        number("price", "cost_usd", usd),
        number("a step costs", "usd_per_step", dollars),
    )
    notes = tuple(f"{row.fabric}: {', '.join(row.unknown)}" for row in step.fabrics if row.unknown)
    caption = (
        "What the fullest link needs for each phase's bytes, and the step where a phase waits for what it needs longer "
        "than on a switch that gives every server all of its bandwidth."
    )
    blocks: tuple[Block, ...] = (
        rows,
        *((Notes(notes),) if notes else ()),
        *skipped_notes(step.skipped),
        *_rewiring(step),
    )
    return [Section("networks", "Networks", caption, blocks)]


def _rewiring(step: RlStep) -> tuple[Block, ...]:
    found = step.rewiring
    if found is None:
        return (Notes(("Nothing is sent between servers, so no wiring is better than another.",)),)
    if found.gain_s <= 0:
        return (
            Notes(
                (
                    f"One wiring serves all phases as well as one for each: {format_time(found.static_s)} of network "
                    f"time, of which a step waits {format_time(found.static_wait_s)} longer than on an ideal switch; "
                    "changing circuits between phases never pays here.",
                )
            ),
        )
    pays = [one for one in found.technologies if one.pays]
    verdict = (
        f"it pays with {', '.join(one.name for one in pays)}"
        if pays
        else "no technology is quick enough for it to pay"
    )
    line = (
        f"With one wiring for all phases a step waits {format_time(found.static_wait_s)} longer than on an "
        f"ideal switch, with circuits that change {counted(found.changes, 'time')} a step "
        f"{format_time(found.per_turn_wait_s)}; "
        f"changing pays below {format_time(found.break_even_s)} each: {verdict}."
    )
    rows = table(
        "Circuits that change between phases",
        found.technologies,
        text("technology", "name"),
        number("a change", "delay_s"),
        number("waited", "waited_s"),
        number("saved", "saved_s", lambda saved: f"{'-' if saved < 0 else ''}{format_time(abs(saved))}"),
        text("pays", "pays", lambda pays: "yes" if pays else "no"),
    )
    return Notes((line,), apart=True), rows


def finetuning_page(tuned: FineTuning) -> Page:
    """Return the requested method, the others beside it, and both on every network."""
    way = tuned.asked
    tiles = [
        Tile("Step", format_time(way.step_s), f"{tuned.sequences:,} sequences of {tuned.sequence:,} tokens"),
        Tile("Memory", format_memory(way.memory_total_bytes), f"of {format_memory(way.capacity_bytes)}"),
    ]
    if way.hours is not None:
        tiles.append(
            Tile("Data set", duration(way.hours * 3600, 3), dollars(way.usd) if way.usd else "price unknown")
        )
    return Page(
        "finetune",
        f"{TITLES[way.kind]} of {tuned.model} on {tuned.accelerators} x {tuned.accelerator}",
        _sentence(tuned),
        tuple(tiles),
        sections=(
            _head(tuned),
            _side_by_side(tuned),
            *_finetuning_networks(tuned),
            *cluster_sections(tuned.cluster, way.ownership),
        ),
        key_numbers={"step_s": way.step_s, "tokens_per_s": way.tokens_per_s},
    )


def _sentence(tuned: FineTuning) -> str:
    way = tuned.asked
    line = f"{short_number(tuned.tokens)} tokens take {_hours(way)}{_for(way)}."
    return f"{line} One server needs no network." if tuned.servers == 1 else line


def _matters(way: TunedWay) -> str:
    return (
        f"The network matters: {way.exposed_s / way.step_s:.1%} of a step waits for bytes between servers, which a "
        "quicker one would shorten."
    )


def _hours(way: TunedWay) -> str:
    return "an unknown time" if way.hours is None else duration(way.hours * 3600, 3)


def _for(way: TunedWay) -> str:
    return "" if way.usd is None else f" and {dollars(way.usd)}"


def _head(tuned: FineTuning) -> Section:
    way = tuned.asked
    adapted = f"adapters of rank {tuned.rank}, {tuned.adapters}" if way.kind != "full" else "all weights"
    entries: Entries = {
        "trains": f"{way.trained:,} parameters: {adapted}",
        "split": f"{way.name}, recomputing {way.split['recompute']}, ZeRO {way.split['zero']}",
        "assumed": tuned.assumed,
        "step": f"{time_within(way.step_s, way.interval_share)}, {way.tokens_per_s:,.0f} tokens a second",
        "waits": f"{format_time(way.exposed_s)} for bytes between servers" if tuned.servers > 1 else "",
        "memory": f"{format_memory(way.memory_total_bytes)} of {format_memory(way.capacity_bytes)}: "
        + listed([f"{name} {format_memory(size)}" for name, size in way.memory_bytes.items() if size >= 1e6]),
        "data set": f"{tuned.tokens:,.0f} tokens in {tuned.steps:,.0f} steps: {_hours(way)}{_for(way)}",
    }
    matters = HARDLY if tuned.asked.network_hardly_matters else _matters(tuned.asked)
    return Section(
        "way", "Method", "", (facts(entries), *((Notes((matters,)),) if tuned.servers > 1 else ()))
    )


def _side_by_side(tuned: FineTuning) -> Section:
    done = [way for way in tuned.ways if not way.failure]
    rows = table(
        "",
        done,
        text("way", lambda way: NAMES[way.kind]),
        number("trained", "trained", short_number),
        number("gradients", "gradient_bytes", format_bytes),
        text("split", "name"),
        number("step", "step_s"),
        number("memory", "memory_total_bytes", format_memory),
        *_network_columns(tuned),
        number("data set", "hours", lambda hours: duration(hours * 3600, 3)),
        number("costs", "usd", dollars),
    )
    lines = [f"{NAMES[way.kind]} cannot be done here: {way.failure}" for way in tuned.ways if way.failure]
    ratio = tuned.full_over_adapters
    if ratio is not None:
        lines.append(f"Full fine-tuning reduces {ratio:,.0f} x the gradients of adapters in every step.")
    names = tuple(NAMES[way.kind] for way in done)
    causes = [cause for cause in done[0].memory_bytes if any(way.memory_bytes.get(cause, 0) for way in done)]
    series = tuple(
        Series(cause, names, tuple(way.memory_bytes.get(cause, 0.0) / 2**30 for way in done))
        for cause in causes
    )
    memory_chart = BarChart(
        "memory", "Memory of the fullest accelerator", "", "GiB", series, stacked=True, horizontal=True
    )
    blocks: tuple[Block, ...] = (rows, *((Notes(tuple(lines)),) if lines else ()), memory_chart)
    caption = "Each with the fastest split that was found for it, on the network that was wired for it."
    return Section("beside", "Side by side", caption, blocks)


def _network_columns(tuned: FineTuning) -> tuple[Column, ...]:
    if tuned.servers == 1:
        return ()
    return (
        number("sent", "network_bytes", format_bytes),
        number("waits", "exposed_s"),
        text("network matters", lambda way: "hardly" if way.network_hardly_matters else "yes"),
    )


def _finetuning_networks(tuned: FineTuning) -> list[Section]:
    done = [way for way in tuned.ways if way.fabrics]
    if not done:
        return []
    first = done[0]
    columns = [number(f"{NAMES[way.kind]} step", partial(_step_s, way), format_time) for way in done]
    rows = table(
        "",
        first.fabric_rows,
        text("network", "label"),
        number("a server", "server_bandwidth_bps", format_bandwidth),
        *columns,
        number("waits", "exposed_s"),
        number("tax", "bandwidth_tax", ".3f"),
        number("price", "cost_usd", usd),
        number("data set", "hours", lambda hours: duration(hours * 3600, 3)),
        number("costs", "usd", dollars),
    )
    caption = (
        "Each with the best split for it; what waits, the bandwidth tax, hours and dollars are those of "
        f"{NAMES[first.kind]}."
    )
    return [Section("networks", "Networks", caption, (rows, Notes((_cheapest(first),))))]


def _step_s(way: TunedWay, row: dict[str, Any]) -> float | None:
    return next((one["step_s"] for one in way.fabric_rows if one["label"] == row["label"]), None)


def _cheapest(way: TunedWay) -> str:
    """Return the cheapest network for the data set, and the slowdown of the slowest."""
    priced = [row for row in way.fabric_rows if row["usd"] is not None]
    slowest, fastest = (pick(way.fabric_rows, key=itemgetter("step_s")) for pick in (max, min))
    longer = slowest["step_s"] / fastest["step_s"] - 1
    line = f"Between {fastest['label']} and {slowest['label']} lie {longer:.1%} of a step."
    if not priced:
        return line
    best = min(priced, key=itemgetter("usd"))
    return f"{line} The data set is cheapest on {best['label']}: {dollars(best['usd'])}."
