"""``topoopt llm``: what a transformer and a number of accelerators come to, without a topology yet."""

from collections.abc import Callable

import typer

from topoopt.cli.llm_calibrate import llm_calibrate
from topoopt.cli.llm_estimate import llm_estimate
from topoopt.cli.llm_search import llm_search
from topoopt.cli.llm_traffic import llm_traffic
from topoopt.cli.verbs import Verb, Verbs, help_of

LLM_VERBS: tuple[Callable[..., None], ...] = (
    llm_estimate,
    llm_traffic,
    llm_search,
    llm_calibrate,
)
"""The verbs of the group, each a function called ``llm_`` and its word."""

llm = typer.Typer(
    cls=Verbs,
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Transformers on accelerators: step time, memory, traffic and the best way of splitting them.",
)
"""The group of verbs about training a transformer."""

for verb in LLM_VERBS:
    name = verb.__name__.removeprefix("llm_")
    llm.command(name, cls=Verb, help=help_of(verb))(verb)


@llm.callback()
def _group() -> None:
    """Keep every verb a word of its own."""
