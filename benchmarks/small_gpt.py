"""A full step of a small GPT, predicted from the profile of a block, and measured: ``python -m benchmarks.small_gpt``.

Needs PyTorch; the device is a GPU where there is one. Two predictions stand beside the measured step: the sum of the
operators that ``topoopt profile`` has measured, with what memory bounds between them; and, on a GPU of the catalogue,
what ``topoopt llm estimate --calibration PROFILE`` says.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import topoopt
from topoopt.workloads import DeviceProfile, MeasuredOperator, PartTime, read_device_profile
from topoopt.workloads.transformer import TransformerModel, count_parameters, find_transformer

USUAL = {"cpu": ("gpt2", 128, 1, "fp32"), "cuda": ("gpt3-1.3b", 2048, 4, "bf16")}
"""Model, sequence, sequences of a step and precision by device."""

A_LAYER = {"norm": 2, "qkv": 1, "core": 1, "output": 1, "mlp_in": 1, "mlp_activation": 1, "mlp_out": 1}
ENDS = {"norm": 1, "embedding": 1, "logits": 1}
"""How often an operator of a profile is in a layer, and at the ends of a model."""

SUMS_OF_A_LAYER = 2
NUMBERS_OF_A_SUM = 6
"""Read, read and written in either pass, of a residual sum."""

NUMBERS_OF_A_LOGIT = 6
"""Of the loss and its gradient: written, read and written by either of the softmax's passes, and read."""

NUMBERS_OF_A_PARAMETER = 7
"""Of Adam in 32 bits: gradient, weight and two moments read, all but the first written."""


@dataclass(frozen=True)
class Job:
    """What is run."""

    model: TransformerModel
    device: str
    precision: str
    sequence: int
    sequences: int
    threads: int
    repetitions: int

    @property
    def tokens(self) -> int:
        """Of a step."""
        return self.sequence * self.sequences


def profiled(job: Job, path: Path) -> DeviceProfile:
    """Return the profile of the model's operators, and write it."""
    topoopt.profile(
        job.model.name,
        out=path,
        device=job.device,
        precision=job.precision,
        threads=job.threads,
        repetitions=job.repetitions,
        tensor_parallel=[1] if job.device == "cpu" else [1, 2, 4],  # the law of products needs several sizes
        micro_batch=sorted({job.sequences} if job.device == "cpu" else {1, 2, job.sequences}),
        seq=job.sequence,
    )
    return read_device_profile(path)


def sum_of_operators_s(job: Job, profile: DeviceProfile) -> float:
    """Return the time of all operators of a step, and of what memory bounds between them at the norm's rate."""
    times = {op.name: _whole(op, job.sequences) for op in profile.operators}
    model, bytes_each = job.model, 4 if job.precision == "fp32" else 2
    often = {name: model.layers * A_LAYER.get(name, 0) + ENDS.get(name, 0) for name in {**A_LAYER, **ENDS}}
    operators_s = sum(
        count * (times[name].forward_s + times[name].backward_s) for name, count in often.items()
    )
    s_per_byte = times["norm"].forward_s / (2 * job.tokens * model.hidden * bytes_each)
    sums = model.layers * SUMS_OF_A_LAYER * NUMBERS_OF_A_SUM * job.tokens * model.hidden * bytes_each
    loss = NUMBERS_OF_A_LOGIT * job.tokens * model.vocabulary * 4
    adam = NUMBERS_OF_A_PARAMETER * count_parameters(model).total * 4
    return float(operators_s + (sums + loss + adam) * s_per_byte)


def _whole(op: MeasuredOperator, sequences: int) -> PartTime:
    """Return the time of an operator that is not split, on all sequences of a step."""
    wanted = (
        time for size, time in op.times.items() if (size.samples, size.channel_degree) == (sequences, 1)
    )
    return next(wanted)


def estimated_s(job: Job, profile: DeviceProfile, path: Path) -> float | None:
    """Return what the closed form says with the profile as its calibration; None off the catalogue."""
    if not profile.device.accelerator or job.precision not in ("bf16", "fp16"):
        return None
    answer = topoopt.llm.estimate(
        job.model.name,
        accelerator=profile.device.accelerator,
        accelerators=1,
        calibration=str(path),
        micro_batch=job.sequences,
        global_batch=job.sequences,
        seq=job.sequence,
        precision=job.precision,
    )
    return float(answer.times.iteration_time_s[0])


def measured_s(job: Job) -> float:
    """Return the median time of a full step: forward, backward and Adam in 32 bits."""
    torch = import_module("torch")  # an extra

    torch.manual_seed(0)
    if job.threads:
        torch.set_num_threads(job.threads)
    step = _step(torch, job)
    # With one thread what others take of a processor is left out, as the median of short operators leaves it out.
    alone = job.device == "cpu" and job.threads == 1
    clock = time.process_time if alone else time.perf_counter
    times = []
    for _ in range(job.repetitions + 2):
        _finish(torch, job)
        began = clock()
        step()
        _finish(torch, job)
        times.append(clock() - began)
    return statistics.median(times[2:])


def _finish(torch: Any, job: Job) -> None:
    if job.device == "cuda":
        torch.cuda.synchronize()


def _step(torch: Any, job: Job) -> Callable[[], None]:
    """Return a step of training with weights in the job's precision, and of others in 32 bits that Adam moves."""
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}[job.precision]
    network = _gpt(torch, job.model, job.sequence).to(job.device, kind)
    weights = list(network.parameters())
    masters = weights if kind == torch.float32 else [one.detach().float().clone() for one in weights]
    adam = torch.optim.AdamW(masters, fused=True)
    tokens = torch.randint(job.model.vocabulary, (job.sequences, job.sequence + 1), device=job.device)

    def step() -> None:
        logits = network(tokens[:, :-1])
        torch.nn.functional.cross_entropy(logits.flatten(0, 1).float(), tokens[:, 1:].flatten()).backward()
        if masters is not weights:
            for master, weight in zip(masters, weights, strict=True):
                master.grad = weight.grad.float()
        adam.step()
        if masters is not weights:
            with torch.no_grad():
                for master, weight in zip(masters, weights, strict=True):
                    weight.copy_(master)
        network.zero_grad(set_to_none=True)

    return step


def _gpt(torch: Any, model: TransformerModel, sequence: int) -> Any:
    """Return a GPT with layer norms, learned positions, GELU and a causal core that is fused where it can be."""
    nn, functional = torch.nn, torch.nn.functional
    hidden, heads = model.hidden, model.heads

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.LayerNorm(hidden), nn.LayerNorm(hidden)
            self.qkv, self.output = nn.Linear(hidden, 3 * hidden), nn.Linear(hidden, hidden)
            self.into, self.back = nn.Linear(hidden, model.ffn), nn.Linear(model.ffn, hidden)

        def forward(self, x: Any) -> Any:
            batch, length, _ = x.shape
            parts = self.qkv(self.first(x)).view(batch, length, 3, heads, -1).permute(2, 0, 3, 1, 4)
            core = functional.scaled_dot_product_attention(*parts, is_causal=True)
            x = x + self.output(core.transpose(1, 2).reshape(batch, length, hidden))
            return x + self.back(functional.gelu(self.into(self.second(x))))

    class Gpt(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.places = nn.Embedding(model.vocabulary, hidden), nn.Embedding(sequence, hidden)
            self.blocks = nn.Sequential(*(Block() for _ in range(model.layers)))
            self.norm, self.logits = nn.LayerNorm(hidden), nn.Linear(hidden, model.vocabulary, bias=False)
            if model.tied:
                self.logits.weight = self.tokens.weight

        def forward(self, x: Any) -> Any:
            places = torch.arange(x.shape[1], device=x.device)
            return self.logits(self.norm(self.blocks(self.tokens(x) + self.places(places))))

    return Gpt()


def main(words: Sequence[str] = ()) -> int:
    """Print the predictions beside the measured step."""
    job = _job(words)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "profile.json"
        profile = profiled(job, path)
        measured = measured_s(job)
        predictions = {
            "sum of measured operators": sum_of_operators_s(job, profile),
            "llm estimate, the profile as calibration": estimated_s(job, profile, path),
        }
    print(
        f"{job.model.name} on {profile.device.name}, {job.sequences} x {job.sequence} tokens, {job.precision}"
    )
    print(f"{'measured':42}{1e3 * measured:10.1f} ms")
    for name, seconds in predictions.items():
        said = (
            "not in the catalogue"
            if seconds is None
            else f"{1e3 * seconds:10.1f} ms {seconds / measured - 1:+7.1%}"
        )
        print(f"{name:42}{said}")
    return 0


def _job(words: Sequence[str]) -> Job:
    from importlib.util import find_spec  # noqa: PLC0415 - here alone

    if find_spec("torch") is None:
        sys.exit('benchmarks.small_gpt: needs PyTorch: pip install "topoopt[torch]"')
    torch = import_module("torch")  # an extra

    flags = argparse.ArgumentParser(prog="python -m benchmarks.small_gpt")
    flags.add_argument(
        "--device", choices=tuple(USUAL), default="cuda" if torch.cuda.is_available() else "cpu"
    )
    flags.add_argument("--model")
    flags.add_argument("--sequence", type=int)
    flags.add_argument("--sequences", type=int)
    flags.add_argument("--precision", choices=("fp32", "bf16", "fp16"))
    flags.add_argument("--threads", type=int, default=0)
    flags.add_argument("--repetitions", type=int, default=10)
    said = flags.parse_args(words)
    model, sequence, sequences, precision = USUAL[said.device]
    return Job(
        find_transformer(said.model or model),
        said.device,
        said.precision or precision,
        said.sequence or sequence,
        said.sequences or sequences,
        said.threads,
        said.repetitions,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
