"""A model's program from its file, as a graph of operators: of ``torch.export``, or in ONNX."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from topoopt.base.errors import InvalidInput, check_known
from topoopt.base.limits import LARGEST, MOST, whole_or_digits
from topoopt.schema.files import is_file
from topoopt.workloads.graph import OperatorGraph
from topoopt.workloads.programs.onnx_model import is_onnx, read_onnx
from topoopt.workloads.programs.tensor_program import TensorProgram
from topoopt.workloads.programs.to_operators import UNKNOWN_AS_BYTES, operators_of_program, samples_of
from topoopt.workloads.programs.torch_export import read_exported

SAMPLES, UNKNOWN = "samples", "unknown"


def read_program(path: str, settings: Mapping[str, Any]) -> tuple[OperatorGraph, str]:
    """Return the operators of a ``.pt2`` or ONNX file, and what was read in words.

    Parameters
    ----------
    settings : mapping
        ``samples``: what the shapes of the file are for, where its inputs do not say it. ``unknown``: ``bytes`` to
        count operators that are not known by what they read and write. Of ONNX also the sizes of its named dimensions.

    Raises
    ------
    InvalidInput
        If the file cannot be read, a setting is none of these, or operators are not known.
    """
    said = tuple(sorted((name, value) for name, value in settings.items()))
    changed_ns = Path(path).stat().st_mtime_ns if is_file(path) else 0
    return _kept(path, changed_ns, said)


@lru_cache(maxsize=2)
def _kept(path: str, changed_ns: int, said: tuple[tuple[str, Any], ...]) -> tuple[OperatorGraph, str]:
    """Return it; the same file is asked for twice, for a job and for words about it."""
    settings = dict(said)
    unknown = str(settings.pop(UNKNOWN, ""))
    if unknown:
        check_known(f"{path}: set: {UNKNOWN}", unknown, (UNKNOWN_AS_BYTES,))
    samples = settings.pop(SAMPLES, None)
    if samples is not None:
        samples = whole_or_digits(f"{path}: set: {SAMPLES}", samples, 1, MOST["batch_per_accelerator"])
    program = _program(path, settings, samples)
    count = samples_of(program) if samples is None else samples
    graph, words = operators_of_program(program, Path(path).stem, count, unknown)
    return graph, f"{program.what}: {words}"


def _program(path: str, sizes: Mapping[str, Any], samples: int | None) -> TensorProgram:
    if is_onnx(path):
        named = {
            name: whole_or_digits(f"{path}: set: {name}", size, 1, LARGEST) for name, size in sizes.items()
        }
        return read_onnx(path, named, samples)
    if sizes:
        known = f"{SAMPLES} and {UNKNOWN}"
        raise InvalidInput(
            f"{path}: set: {next(iter(sizes))}: of a program of torch.export known are {known}"
        )
    return read_exported(path)
