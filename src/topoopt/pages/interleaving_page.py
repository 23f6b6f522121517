"""Jobs interleaved on a link, as a page: when each begins, what that saves, and their circles."""

from topoopt.base.units import format_bandwidth, format_time
from topoopt.clusters.interleave import Interleaving
from topoopt.pages.interleaving_circles import circle_charts, job_names
from topoopt.pages.page import Page, Section, Tile
from topoopt.pages.rows import facts, number, table, text
from topoopt.pages.words import counted


def interleaving_page(answer: Interleaving) -> Page:
    """Return the score, every job's rotation and time-shift, and the circles before and after."""
    score, unrotated = f"{answer.score:.4g}", f"{answer.unrotated_score:.4g}"
    jobs, link = counted(len(answer.profiles), "job"), format_bandwidth(answer.capacity_bps)
    return Page(
        "shared link",
        f"{jobs} on a link of {link}",
        _headline(answer),
        (
            Tile("Score", score, "1: the link carries everything"),
            Tile("Unrotated", unrotated),
            Tile("Period", format_time(answer.period_s)),
        ),
        answer.advice.warnings,
        (_link(answer), _jobs(answer), _circles(answer)),
        key_numbers={
            "score": answer.score,
            "unrotated_score": answer.unrotated_score,
            "period_s": answer.period_s,
        },
    )


def _headline(answer: Interleaving) -> str:
    over, was = (1 - answer.score), (1 - answer.unrotated_score)
    if over <= 1e-9:
        return f"Rotated, the link carries everything; as they come, {was:.1%} of its capacity is asked for in vain."
    return f"Rotated, {over:.1%} of the link's capacity is asked for in vain; as they come, {was:.1%}."


def _link(answer: Interleaving) -> Section:
    mean_bps = sum(8 * profile.size_bytes / profile.iteration_time_s for profile in answer.profiles)
    entries = {
        "score": f"{answer.score:.4g} rotated, {answer.unrotated_score:.4g} as they come",
        "together": f"{format_bandwidth(mean_bps)} on average, at most {format_bandwidth(float(answer.demand.max()))} "
        f"rotated, {format_bandwidth(float(answer.unrotated_demand.max()))} as they come",
        "circle": f"{format_time(answer.period_s)} around, an angle each {format_time(answer.circle.angle_s)}",
        "solver": answer.solver,
    }
    return Section("link", "The link", "What is asked of it.", (facts(entries),))


def _jobs(answer: Interleaving) -> Section:
    rows = [{**row, "name": name} for name, row in zip(job_names(answer), answer.rows(), strict=True)]
    block = table(
        "",
        rows,
        text("job", "name"),
        number("iteration", "iteration_time_s"),
        number("sends", "duty", ".1%"),
        number("at most", "peak_bps"),
        number("copies"),
        number("rotation", "rotation_deg", lambda degrees: f"{degrees:.4g}°"),
        number("time-shift", "time_shift_s"),
        number("leeway", "leeway_s", lambda leeway_s: f"±{format_time(leeway_s)}"),
    )
    caption = (
        "Each job begins later by its time-shift, once; early or late within its leeway, the score stays."
    )
    return Section("jobs", "Jobs", caption, (block,))


def _circles(answer: Interleaving) -> Section:
    caption = (
        "One turn is the least common multiple of the iteration times. A rotation moves all copies of a job along "
        "its ring; where the outer ring reaches over the dashed circle, the link is asked for more than it has."
    )
    return Section("circles", "Circles", caption, circle_charts(answer))
