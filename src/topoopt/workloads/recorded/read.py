"""A recording from its files: one log, one trace, or a folder with those of all processes."""

import math
import os
from collections.abc import Sequence
from pathlib import Path

from topoopt.base.errors import InvalidInput
from topoopt.schema.files import decoding, is_file, parse_json, read_bytes, unpacked
from topoopt.workloads.recorded.execution_trace import as_profiler_trace, is_execution_trace
from topoopt.workloads.recorded.nccl_log import is_nccl_log, nccl_recording
from topoopt.workloads.recorded.pytorch_traces import is_profiler_trace, profiler_recording
from topoopt.workloads.recorded.recording import Recording
from topoopt.workloads.recorded.simai_workload import begins_as_workload, simai_recording, simai_workload

MOST_FILES = 100_000
_HEAD_BYTES = 1 << 20
_EXPECTED = "expected NCCL's logs, or traces of PyTorch"


def recorded_files(path: str) -> tuple[str, ...]:
    """Return the files of a recording: the file, the files in a folder, or files named ``NAME.*``.

    Raises
    ------
    InvalidInput
        If the folder is empty, or cannot be read.
    """
    place = Path(path)
    if is_file(path) or not (os.path.isdir(path) or os.path.isdir(place.parent)):
        return (path,)
    folder, begins = (place, "") if os.path.isdir(path) else (place.parent, f"{place.name}.")
    try:
        beside = (
            one for one in folder.iterdir() if one.name.startswith(begins) and not one.name.startswith(".")
        )
        found = sorted(str(one) for one in beside if one.is_file())
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from None
    if not found and begins:
        return (path,)
    if not found:
        raise InvalidInput(f"{path}: is an empty directory; {_EXPECTED}")
    if len(found) > MOST_FILES:
        raise InvalidInput(f"{path}: {len(found)} files, at most {MOST_FILES} are read")
    return tuple(found)


def is_recorded(data: bytes) -> bool:
    """Return whether the bytes of a file look like a log of NCCL or a trace of ``torch.profiler``, packed or not."""
    try:
        data = unpacked(data, "", _HEAD_BYTES)
    except InvalidInput:
        return False
    text = data.decode("utf-8", "replace")
    return '"traceEvents"' in text if text.lstrip().startswith("{") else is_nccl_log(text)


def read_recording(path: str, scale_up_bps: float = math.inf) -> Recording:
    """Return the recording of a file or a folder; of a workload with times inside servers at a bandwidth.

    Raises
    ------
    InvalidInput
        If the files are no recording, are of two kinds, or lack senders or bytes.
    """
    names = recorded_files(path)
    texts = [(name, unpacked_text(name)) for name in names]
    if len(texts) == 1 and begins_as_workload(texts[0][1]):
        return simai_recording(simai_workload(texts[0][1], path), scale_up_bps)
    as_json = [text.lstrip().startswith("{") for _, text in texts]
    with decoding(path, "no recording that is known here", "record again"):
        if all(as_json):
            return profiler_recording(_traces(texts), path)
        if any(as_json):
            one, other = names[as_json.index(True)], names[as_json.index(False)]
            raise InvalidInput(f"{path}: {one} is JSON and {other} is not; {_EXPECTED}, not both")
        return nccl_recording((line for _, text in texts for line in text.splitlines()), path)


def unpacked_text(path: str) -> str:
    """Return the text of a file, of one that is packed with gzip unpacked; bytes that are no text are passed over.

    Raises
    ------
    InvalidInput
        If it cannot be read or unpacked, or grows more than a hundredfold.
    """
    return unpacked(read_bytes(path), path).decode("utf-8", "replace")


def _traces(texts: Sequence[tuple[str, str]]) -> list[tuple[str, dict[str, object]]]:
    traces = []
    for name, text in texts:
        content = parse_json(text, name, "expected a trace of torch.profiler", foreign=True)
        if isinstance(content, dict) and is_execution_trace(content):
            content = as_profiler_trace(name, content, len(texts))
        if not is_profiler_trace(content):
            raise InvalidInput(f"{name}: expected a trace of torch.profiler, with a list traceEvents")
        traces.append((name, content))
    return traces
