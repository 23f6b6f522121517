"""``topoopt finetune``: fine-tuning a transformer, all of it or by adapters, side by side."""

from typing import Annotated

from typer import Argument, Option

import topoopt
from topoopt.base.errors import InvalidInput
from topoopt.frontends.cli.output import check_writable, progress, show
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import FineTuneWords


@spread
def finetune(
    words: FineTuneWords,
    model: Annotated[
        str,
        Argument(
            metavar="MODEL|config.json",
            show_default=False,
            help="A transformer (topoopt models), or the config.json of Hugging Face.",
        ),
    ],
    out: Annotated[
        str | None,
        Option(
            "--out",
            metavar="PLAN.json",
            rich_help_panel="Output",
            help="Write the plan of the way that is asked for.",
        ),
    ] = None,
    as_json: Annotated[bool, Option("--json", rich_help_panel="Output", help="Print JSON.")] = False,
) -> None:
    """Say what fine-tuning takes, by adapters or of all weights: split, memory, hours, dollars."""
    check_writable(out, "--out")
    with progress("planning the fine-tuning") as report:
        answer = topoopt.finetune(model, on_progress=report, **words)
    plan = answer.asked.plan
    if out is not None and plan is not None:
        topoopt.write_plan(out, plan)
    show(answer, as_json, written=(out if plan else None,))
    if out is not None and plan is None:
        raise InvalidInput("--out: one server needs no network, so there is no plan of one; leave it out")
