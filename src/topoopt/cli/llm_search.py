"""``topoopt llm search``: the fastest ways to train a transformer on so many accelerators."""

from dataclasses import fields
from typing import TYPE_CHECKING, Annotated

import typer

from topoopt.cli.llm_search_arguments import FixedArguments, LimitArguments
from topoopt.cli.spread import spread
from topoopt.cli.transformer_arguments import SystemArguments, TransformerArguments
from topoopt.errors import InvalidInput, unknown_name

if TYPE_CHECKING:
    from topoopt.llm import Calibration, SearchRequest

MEMORY, OUTPUT = "Memory and times", "Output"


@spread
def search(
    said: TransformerArguments,
    machines: SystemArguments,
    fixed: FixedArguments,
    limits: LimitArguments,
    global_batch: Annotated[
        int | None,
        typer.Option(metavar="N", help="Sequences of an iteration; about 4 million tokens if not given."),
    ] = None,
    precision: Annotated[
        str | None,
        typer.Option(
            metavar="bf16|fp16|fp8|fp32",
            rich_help_panel=MEMORY,
            help="Of the matrix products; bf16 where the accelerator has it.",
        ),
    ] = None,
    attention: Annotated[
        str | None,
        typer.Option(
            metavar="fused|eager",
            rich_help_panel=MEMORY,
            help="FlashAttention, or scores in memory; fused unless the calibration is eager.",
        ),
    ] = None,
    framework: Annotated[
        str,
        typer.Option(
            metavar="megatron|deepspeed|half-gradients|fsdp",
            rich_help_panel=MEMORY,
            help="Bytes per parameter, and what is taken beside tensors.",
        ),
    ] = "megatron",
    calibration: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            rich_help_panel=MEMORY,
            help="Of step times (topoopt llm calibrate, topoopt profile); the accelerator's if not given.",
        ),
    ] = None,
    top: Annotated[int, typer.Option(metavar="K", rich_help_panel=OUTPUT, help="How many are shown.")] = 10,
    variants: Annotated[
        bool,
        typer.Option(
            "--variants",
            rich_help_panel=OUTPUT,
            help="Show also rows that differ from a faster one in recomputation, ZeRO or sequence parallelism only.",
        ),
    ] = False,
    csv_file: Annotated[
        str | None,
        typer.Option(
            "--csv", metavar="FILE", rich_help_panel=OUTPUT, help="Write all that fit, the fastest first."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", rich_help_panel=OUTPUT, help="Print JSON.")] = False,
) -> None:
    """Find the fastest ways to split a transformer: degrees, micro-batch, recomputation, ZeRO.

    Every valid configuration is looked at; those that do not fit into memory are left out, the others are ranked by
    estimated time.
    """
    import time

    from topoopt.cli.llm_search_report import print_search, search_document, write_search
    from topoopt.cli.progress import progress
    from topoopt.cli.render import print_json, terminal
    from topoopt.cli.table_file import check_table
    from topoopt.llm import search_configurations

    if top < 1:
        raise InvalidInput(f"--top: expected an integer >= 1, got {top}")
    check_table(csv_file, "--csv")
    calibrated = _calibration(calibration, machines.accelerator, attention)
    request = _request(
        said, machines, fixed, limits, global_batch, precision, calibrated.attention, framework
    )
    with progress("searching configurations"):
        began = time.process_time()
        found = search_configurations(request, calibrated)
        cpu_s = time.process_time() - began
    document = search_document(request, calibrated, found, found.best(top, variants), cpu_s)
    if csv_file is not None:
        write_search(csv_file, found)
    if as_json:
        print_json(document)
    else:
        print_search(terminal(), document, csv_file)


def _request(
    said: TransformerArguments,
    machines: SystemArguments,
    fixed: FixedArguments,
    limits: LimitArguments,
    global_batch: int | None,
    precision: str | None,
    attention: str,
    framework: str,
) -> "SearchRequest":
    from topoopt.cli.transformer_arguments import check_accelerators, requested_model, requested_system
    from topoopt.llm import LARGEST_COUNT, Limits, SearchRequest, usual_batch, usual_precision

    if machines.accelerators is None:
        raise InvalidInput("--accelerators: say how many accelerators there are")
    check_accelerators(machines.accelerators)
    model, system = requested_model(said), requested_system(machines)
    batch = usual_batch(model.sequence, machines.accelerators) if global_batch is None else global_batch
    if not 1 <= batch <= LARGEST_COUNT:
        raise InvalidInput(f"--global-batch: expected an integer from 1 to {LARGEST_COUNT}, got {batch}")
    _check_limits(fixed, limits)
    return SearchRequest(
        model,
        machines.accelerators,
        system,
        batch,
        model.sequence,
        _fixed(fixed),
        Limits(**{column.name: getattr(limits, column.name) for column in fields(limits)}),
        usual_precision(system.accelerator) if precision is None else precision,
        attention,
        framework,
    )


def _check_limits(fixed: FixedArguments, limits: LimitArguments) -> None:
    """Refuse a degree that is fixed beyond what the search may try."""
    for column in fields(limits):
        name = column.name.removeprefix("max_")
        usual, most = column.default, getattr(limits, column.name)
        value = getattr(fixed, name, None)
        if value is not None and most != usual and value > most:
            flag = name.replace("_", "-")
            raise InvalidInput(f"--{flag} {value}: is above --max-{flag} {most}; leave one of them out")


def _fixed(fixed: FixedArguments) -> dict[str, int | str | bool]:
    from topoopt.llm import RECOMPUTATIONS

    said = {column.name: getattr(fixed, column.name) for column in fields(fixed)}
    if fixed.recompute is not None and fixed.recompute not in RECOMPUTATIONS:
        raise unknown_name("--recompute", fixed.recompute, RECOMPUTATIONS)
    if fixed.zero is not None and fixed.zero not in range(4):
        raise unknown_name("--zero", str(fixed.zero), "0123")
    for name, value in said.items():
        if isinstance(value, int) and not isinstance(value, bool) and name != "zero" and value < 1:
            raise InvalidInput(f"--{name.replace('_', '-')}: expected an integer >= 1, got {value}")
    return {name: value for name, value in said.items() if value is not None}


def _calibration(word: str | None, accelerator: str, attention: str | None) -> "Calibration":
    from topoopt.llm import ATTENTION_KERNELS, named_calibration

    if word == "":
        raise InvalidInput("--calibration: expected a name or a file, got nothing")
    if attention is not None and attention not in ATTENTION_KERNELS:
        raise unknown_name("--attention", attention, ATTENTION_KERNELS)
    return named_calibration(word, accelerator).with_one_attention(attention)
