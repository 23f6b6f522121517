"""What ``topoopt llm estimate`` answers: JSON and tables."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from topoopt.llm import Calibration, Configuration, StepTimes, System
    from topoopt.transformer import TransformerModel

PARTS = (
    ("compute_s", "computing, with recomputation and the optimizer"),
    ("tp_s", "waiting for tensor parallel ranks"),
    ("cp_s", "waiting for context parallel ranks"),
    ("ep_s", "waiting for experts"),
    ("pp_s", "waiting for transfers between stages"),
    ("dp_s", "waiting for replicas"),
    ("bubble_s", "idle while the pipeline fills and drains"),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is estimated; ``calibration`` is None for the published formula."""

    model: "TransformerModel"
    configuration: "Configuration"
    system: "System"
    calibration: "Calibration | None"
    attention: str | None
    framework: str

    @property
    def kernel(self) -> str:
        """How the attention's core runs, in the time and in the memory."""
        return (self.attention or "fused") if self.calibration is None else self.calibration.attention


def estimate_document(asked: Asked) -> dict[str, Any]:
    """Return the answer as JSON."""
    from topoopt.hardware import find_accelerator
    from topoopt.llm import configuration_table, flops_per_iteration, memory, mfu, peak_rates

    model, one = asked.model, asked.configuration
    table = configuration_table([one])
    times = _times(asked)
    seconds = float(times.iteration_time_s[0])
    flops = flops_per_iteration("matmul", model, one.global_batch, one.sequence)
    part = find_accelerator(asked.system.accelerator)
    peak = part.peak_flops(one.precision) if part.peaks else peak_rates(part.name)[one.precision]
    needed = memory(model, table, asked.system.accelerator, asked.kernel, asked.framework)
    calibration = asked.calibration
    return {
        "model": model.name,
        "accelerator": part.name,
        "accelerators": one.accelerators,
        "configuration": asdict(one),
        "system": asdict(asked.system),
        "estimator": "apnet24" if calibration is None else "calibrated",
        "calibration": None if calibration is None else calibration.name,
        "calibrated_on": None if calibration is None else calibration.accelerator,
        "transferred_from": None if calibration is None else calibration.provenance.get("transferred_from"),
        "attention": asked.kernel,
        "iteration_time_s": seconds,
        **{name: float(getattr(times, name)[0]) for name, _ in PARTS},
        "exposed_communication_s": float(times.exposed_communication_s[0]),
        "mfu": mfu(flops, seconds, one.accelerators, peak),
        "flops_per_accelerator": flops / seconds / one.accelerators,
        "flops_per_iteration": flops,
        "tokens_per_s": one.global_batch * one.sequence / seconds,
        "memory_bytes": {**needed.row(0), "total": float(needed.total[0])},
        "memory_capacity_bytes": needed.capacity_bytes,
        "framework": asked.framework,
        "fits": bool(needed.fits[0]),
    }


def _times(asked: Asked) -> "StepTimes":
    from topoopt.llm import apnet24, configuration_table, estimate

    table = configuration_table([asked.configuration])
    if asked.calibration is None:
        return apnet24(asked.model, table, asked.system)
    return estimate(asked.model, table, asked.system, asked.calibration)


def print_estimate(console: "Console", document: Mapping[str, Any]) -> None:
    """Print time, rates and memory."""
    from topoopt.cli.render import print_facts, print_table, print_title, print_warning

    one, seconds = document["configuration"], document["iteration_time_s"]
    print_title(console, f"{document['model']} on {document['accelerators']:,} x {document['accelerator']}")
    split = " ".join(
        f"{key} {one[key]}" for key in ("tp", "pp", "dp", "cp", "ep", "vpp") if one[key] > 1 or key == "dp"
    )
    facts = [
        ("split", split),
        (
            "batch",
            f"{one['global_batch']:,} sequences of {one['sequence']:,} tokens, {one['micro_batch']} at a time",
        ),
        ("iteration", f"{seconds:.4g} s"),
        ("tokens", f"{document['tokens_per_s']:,.0f} a second"),
        (
            "model FLOP/s",
            f"{document['flops_per_accelerator'] / 1e12:.0f} T on each, {100 * document['mfu']:.1f} % of the peak",
        ),
        ("estimator", document["calibration"] or document["estimator"]),
        ("attention", document["attention"]),
    ]
    print_facts(console, facts)
    print_title(console, "Time")
    rows = [
        [text, f"{document[name]:.4g}", f"{100 * document[name] / seconds:.1f}"]
        for name, text in PARTS
        if document[name] > 0
    ]
    print_table(console, ["part", "seconds", "%"], rows, ["seconds", "%"])
    print_title(console, "Memory of the fullest accelerator")
    rows = [[name, f"{size / 2**30:.2f}"] for name, size in document["memory_bytes"].items() if size > 0]
    rows.append(["capacity", f"{document['memory_capacity_bytes'] / 2**30:.2f}"])
    print_table(console, ["cause", "GiB"], rows, ["GiB"])
    if not document["fits"]:
        print_warning(console, "It does not fit into memory.")
    if document["calibrated_on"] not in (None, document["accelerator"]):
        print_warning(
            console, f"The calibration is of {document['calibrated_on']}, not of {document['accelerator']}."
        )
    if document["transferred_from"]:
        print_warning(
            console,
            f"No runs of {document['calibrated_on']} were fitted: its numbers are carried over from "
            f"{document['transferred_from']}. Fit your own with topoopt llm calibrate.",
        )
