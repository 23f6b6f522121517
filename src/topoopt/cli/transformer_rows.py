"""Transformers as ``topoopt models`` lists them: shapes, parameters by cause, FLOPs of a token."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from topoopt.transformer import TransformerModel

CAUSES = {
    "embedding": "embedding",
    "positions": "learned positions",
    "attention": "attention",
    "mlp": "dense feed-forward parts",
    "router": "routers of experts",
    "experts": "routed experts",
    "shared": "shared experts",
    "norms": "norms",
    "output": "output layer",
    "extra": "other",
}
"""The causes of parameters in the order of a model, and in words."""


def transformers_shown(name: str | None) -> list[dict[str, Any]]:
    """Return all transformers of the zoo; or the one of a name or file, or none if it is no transformer's.

    Raises
    ------
    InvalidInput
        If the file cannot be read.
    """
    from topoopt.transformer import TRANSFORMERS, find_transformer, is_transformer, read_config

    if name is None:
        return [_row(entry.model) for entry in TRANSFORMERS.values()]
    if name.lower().endswith(".json"):
        return [_row(read_config(name), name)]
    return [_row(find_transformer(name))] if is_transformer(name) else []


def print_transformers(rows: list[dict[str, Any]]) -> None:
    """Print the shapes of all transformers, a line each."""
    from topoopt.cli.render import print_table, print_title, terminal

    console = terminal()
    print_title(console, "Transformers")
    sizes = ("layers", "hidden", "heads", "keys", "feed-forward", "sequence")
    counts = ("parameters", "active")
    print_table(
        console,
        ("transformer", *sizes, "experts", *counts),
        [
            (
                row["transformer"],
                *(str(row[key]) for key in ("layers", "hidden", "heads", "kv_heads", "ffn", "sequence")),
                _experts(row),
                _billions(row["parameters"]),
                _billions(row["active_parameters"]) if row["experts"] else "",
            )
            for row in rows
        ],
        numbers=(*sizes, "experts", *counts),
    )
    console.print(
        "\nKeys: heads of keys and values. Experts: those of a token / all. Active: what one token meets.\n"
        "Shapes and parameters of one: topoopt models llama3-70b, or topoopt models config.json"
    )


def print_transformer(row: dict[str, Any]) -> None:
    """Print one transformer: its shapes and its parameters by cause."""
    from topoopt.cli.render import print_facts, print_table, print_title, terminal

    console = terminal()
    print_title(console, row["transformer"], row["source"])
    plain = ("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocabulary", "sequence")
    facts = [("family", row["family"])]
    facts += [(key.replace("_", " "), f"{row[key]:,}") for key in plain]
    for part in ("latent", "experts"):
        facts += [
            (f"{part} {key.replace('_', ' ')}", "yes" if value is True else f"{value:,}")
            for key, value in (row[part] or {}).items()
            if value
        ]
    facts += [(key.replace("_", " "), "yes") for key in ("gated", "tied") if row[key]]
    facts.append(("norm", row["norm"]))
    facts.append(("forward FLOP of a token", f"{row['forward_flops_per_token']:,.0f}"))
    print_facts(console, facts)
    console.print()
    total = row["parameters"]
    causes = [(CAUSES[key], count) for key, count in row["parameters_by_cause"].items() if count]
    rows = [(name, f"{count:,}", f"{count / total:.1%}") for name, count in causes]
    rows.append(("all", f"{total:,}", ""))
    if row["active_parameters"] != total:
        rows.append(
            ("met by one token", f"{row['active_parameters']:,}", f"{row['active_parameters'] / total:.1%}")
        )
    print_table(console, ("parameters", "count", "share"), rows, numbers=("count", "share"))


def _row(model: "TransformerModel", file: str = "") -> dict[str, Any]:
    from topoopt.transformer import TRANSFORMERS, count_parameters, forward_flops

    count = count_parameters(model)
    entry = None if file else TRANSFORMERS[model.name]
    shapes = asdict(model)
    return {
        "transformer": shapes.pop("name"),
        "aliases": list(entry.aliases) if entry else [],
        **shapes,
        "parameters": count.total,
        "active_parameters": count.active,
        "parameters_by_cause": {key: getattr(count, key) for key in CAUSES},
        "forward_flops_per_token": forward_flops(model).total_flops,
        "published": entry.published if entry else "",
        "source": entry.source if entry else file,
    }


def _experts(row: dict[str, Any]) -> str:
    experts = row["experts"]
    return f"{experts['per_token']}/{experts['count']}" if experts else ""


def _billions(count: int) -> str:
    return f"{count / 1e9:,.1f} B" if count >= 10e9 else f"{count / 1e9:,.2f} B"
