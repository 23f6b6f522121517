"""``topoopt models``: the models that come with topoopt, their variants and sizes."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from topoopt.errors import InvalidInput
    from topoopt.workload import ModelEntry, Variant


def models(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL|config.json",
            help="Show one model: its hyper-parameters, or a transformer's shapes and parameters.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the models that come with topoopt: variants and hyper-parameters, shapes of transformers."""
    from topoopt.cli.render import print_json
    from topoopt.cli.transformer_rows import print_transformer, print_transformers, transformers_shown
    from topoopt.workload import MODELS

    transformers = transformers_shown(name)
    shown = [*MODELS] if name is None else [] if transformers else [_model_of(name)]
    document = {"models": [_model(key, MODELS[key]) for key in shown], "transformers": transformers}
    if as_json:
        print_json(document)
    elif name is None:
        _print_overview(document["models"])
        print_transformers(transformers)
    elif transformers:
        print_transformer(transformers[0])
    else:
        _print_model(document["models"][0])


def _model_of(name: str) -> str:
    """Return the model that a name means; naming a variant means its model."""
    from topoopt.errors import InvalidInput
    from topoopt.workload import resolve_variant

    try:
        return resolve_variant(name)[0]
    except InvalidInput as unknown:
        raise _nearer(name, unknown) from None


def _nearer(name: str, unknown: "InvalidInput") -> "InvalidInput":
    """Return what is said of transformers where one is near, or why the model is none; else ``unknown``."""
    from topoopt.errors import InvalidInput
    from topoopt.transformer import find_transformer

    try:
        find_transformer(name)
    except InvalidInput as reason:
        if "did you mean" in str(reason) or "unknown" not in str(reason):
            return reason
    return unknown


def _model(key: str, entry: "ModelEntry[Any]") -> dict[str, Any]:
    return {
        "model": key,
        "title": entry.title,
        "description": entry.description,
        "variants": [_variant(variant) for variant in entry.variants],
    }


def _variant(variant: "Variant[Any]") -> dict[str, Any]:
    from topoopt.workload import load_model

    graph = load_model(variant.name)
    return {
        "variant": variant.name,
        "servers": variant.servers,
        "description": variant.description,
        "batch_per_accelerator": graph.batch_per_accelerator,
        "operators": len(graph.operators),
        "parameter_bytes": graph.parameter_bytes,
        "dense_parameter_bytes": graph.dense_parameter_bytes,
        "hyperparameters": asdict(variant.parameters),
        "profiled": bool(variant.profiles),
    }


def _print_overview(rows: list[dict[str, Any]]) -> None:
    from topoopt.cli.render import print_table, terminal
    from topoopt.units import format_bytes

    console = terminal()
    print_table(
        console,
        ("model", "", "what it is"),
        [(row["model"], row["title"], row["description"]) for row in rows],
    )
    console.print()
    counts = ("servers", "batch", "operators")
    sizes = ("parameters", "AllReduced")
    print_table(
        console,
        ("variant", *counts, *sizes, "published as"),
        [
            (
                variant["variant"],
                str(variant["servers"]),
                str(variant["batch_per_accelerator"]),
                str(variant["operators"]),
                format_bytes(variant["parameter_bytes"]),
                format_bytes(variant["dense_parameter_bytes"]),
                variant["description"],
            )
            for row in rows
            for variant in row["variants"]
        ],
        numbers=counts + sizes,
    )
    console.print(
        "\nBatch: samples per accelerator. AllReduced: parameters outside embedding tables.\n"
        "A plain model name means its variant for 16 servers on up to 32 servers, else that for 128.\n"
        "Hyper-parameters: topoopt models dlrm. To change one: topoopt plan dlrm --set tables=32"
    )


def _print_model(row: dict[str, Any]) -> None:
    from topoopt.cli.render import print_table, print_title, terminal

    console = terminal()
    print_title(console, row["title"], row["description"])
    variants = row["variants"]
    names = list(variants[0]["hyperparameters"])
    print_table(
        console,
        ("hyper-parameter", *(variant["variant"] for variant in variants)),
        [(name, *(_shown(variant["hyperparameters"][name]) for variant in variants)) for name in names],
        numbers=tuple(variant["variant"] for variant in variants),
    )
    console.print(f"\nTo change one: topoopt plan {row['model']} --set {names[-1]}=...")


def _shown(value: Any) -> str:
    return ",".join(str(item) for item in value) if isinstance(value, tuple) else str(value)
