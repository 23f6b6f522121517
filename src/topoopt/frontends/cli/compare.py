"""``topoopt compare``: the same job on other fabrics."""

from collections.abc import Sequence
from typing import Annotated, TypedDict

from typer import Option

import topoopt
from topoopt.frontends.cli.output import progress, show
from topoopt.frontends.cli.plan import ModelArgument
from topoopt.frontends.cli.word_flags import spread
from topoopt.schema.words import COLLECTIVE_FORM, PlanWords, Word


class ComparisonWords(TypedDict, total=False):
    """On which fabrics, and how they are simulated."""

    fabrics: Annotated[Sequence[str], Word("LIST")]
    """Baselines, with commas: {networks of plan}. Default: {compared by plan}."""
    simulator: Annotated[str, Word("analytic|flow|packet")]
    """analytic: first come, first served on each link, quick. flow: fair shares over time. packet: every packet
    through every queue. If not given, analytic."""
    simulators: Annotated[Sequence[str], Word("LIST", commas="simulators with commas")]
    """Simulate every fabric with each, such as flow,packet, and show by how much they differ."""
    collective: Annotated[str, Word(COLLECTIVE_FORM)]
    """stepped: rings in rounds. bulk: one flow for all rounds (FlexNet's way). ring is stepped; the others play an
    AllReduce, pairwise an all-to-all, transfer by transfer. auto: by group and size, the quickest in closed form on
    the fabric's paths, or rings where these are faster. If not given, as the plan has it."""


@spread
def compare(
    source: ModelArgument,
    words: PlanWords,
    how: ComparisonWords,
    as_json: Annotated[bool, Option("--json", help="Print JSON.")] = False,
) -> None:
    """Put the same job on other fabrics, each with a strategy searched for it."""
    with progress("searching") as report:
        answer = topoopt.compare(source, on_progress=report, **how, **words)
    show(answer, as_json)
