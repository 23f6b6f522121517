"""Measure all sizes of a subject, small ones first, and stop in time; known sizes are not measured again."""

import json
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from topoopt.base.answers import Frame, Progress, fields_of, frame, shows_itself
from topoopt.base.errors import InvalidInput
from topoopt.base.units import format_bytes
from topoopt.catalog import BYTES_PER_ELEMENT
from topoopt.plugins.profiling.device import Device, find_device
from topoopt.plugins.profiling.measure import OUT_OF_MEMORY, CannotMeasure, Repetitions, measure_part
from topoopt.plugins.profiling.shapes import numbers_of
from topoopt.plugins.profiling.subject import Subject, SubjectOperator
from topoopt.schema.files import is_file, noun_from, write_atomically
from topoopt.workloads import (
    DeviceFacts,
    DeviceProfile,
    MeasuredOperator,
    OperatorSignature,
    PartSize,
    PartTime,
    device_profile_to_mapping,
    read_device_profile,
)

FLOPS_PER_BYTE = 10.0
"""Rough exchange rate of operations for bytes; only the order of sizes hangs on it."""
FINISHED, TIME_LIMIT, INTERRUPTED = "finished", "time limit", "interrupted"
SAVE_EVERY_S = 10.0
_RUNS_LEFT = 8.0
"""All runs of one pass take at most the remaining time divided by this."""
_BOTH_PASSES = 3.0
"""A backward pass takes about twice as long as a forward pass."""
_Key = tuple[OperatorSignature, PartSize]


@shows_itself
@dataclass(frozen=True, eq=False)
class ProfileRun:
    """Outcome of a run of measurements.

    Attributes
    ----------
    profile : DeviceProfile
        All that is known now.
    sizes, known, measured, failed : int
        Sizes of the subject; of those: known before, measured now, and tried now without a result.
    too_long : int
        Sizes that were left because they would not have ended before the time limit.
    stopped_because : str
        ``finished``, ``time limit`` or ``interrupted``.
    """

    profile: DeviceProfile
    sizes: int
    known: int
    measured: int
    failed: int
    too_long: int
    stopped_because: str
    file: str | None = None

    @property
    def left(self) -> int:
        """Sizes without a time or a reason why there is none."""
        return self.sizes - self.known - self.measured - self.failed

    def to_frame(self) -> Frame:
        """Return every time as a pandas table, a row for each size of each operator."""
        return frame(
            {"operator": op.name, "kind": op.signature.kind, **asdict(size), **asdict(time)}
            for op in self.profile.operators
            for size, time in op.times.items()
        )

    def to_json(self) -> dict[str, Any]:
        """Return a JSON-compatible mapping."""
        counts = ("sizes", "measured", "failed", "too_long", "stopped_because")
        return {
            "out": self.file,
            "found": self.known,
            **{name: getattr(self, name) for name in counts},
            "profile": device_profile_to_mapping(self.profile),
        }


def measure_to_file(
    subject: Subject,
    device: tuple[str, str, int],
    path: str | None,
    *,
    repetitions: Repetitions,
    time_limit_s: float,
    on_progress: Progress,
) -> ProfileRun:
    """Measure sizes that a profile lacks, and save it now and then; without a path, measure everything.

    Parameters
    ----------
    device
        Name, precision and threads, as ``find_device`` takes them.

    Raises
    ------
    InvalidInput
        If the device is not here, or the file is of another model, device or precision.
    """
    known = read_device_profile(path) if path is not None and is_file(path) else None
    here = find_device(*device)
    if known is not None:
        try:
            check_same(known, subject, here)
        except InvalidInput as error:
            raise InvalidInput(f"out: {path}: {error}") from None

    def save(profile: DeviceProfile) -> None:
        if path is not None:
            write_atomically(path, json.dumps(device_profile_to_mapping(profile), indent=1) + "\n")

    run = measure_subject(
        subject,
        here,
        known,
        repetitions=repetitions,
        time_limit_s=time_limit_s,
        save=save,
        on_progress=on_progress,
    )
    return replace(run, file=path)


def measure_subject(
    subject: Subject,
    device: Device,
    known: DeviceProfile | None,
    *,
    repetitions: Repetitions,
    time_limit_s: float,
    save: Callable[[DeviceProfile], None],
    on_progress: Progress,
) -> ProfileRun:
    """Measure all unknown times: every operator's smallest size, then every operator's next.

    Parameters
    ----------
    known : DeviceProfile, optional
        Results of an earlier run of the same subject.
    time_limit_s : float
        Infinite for none. A size is not begun if, by the speed of the last one of its operator or kind, it would
        not end in time; towards the end passes are repeated less often.
    save : callable
        Called every :data:`SAVE_EVERY_S` and at the end, also after Ctrl-C.

    Raises
    ------
    InvalidInput
        If ``known`` is of another model, device or precision.
    """
    if known is not None:
        check_same(known, subject, device)
    book = _Book(subject, device, known)
    began_s = saved_s = time.perf_counter()
    stopped, too_long = FINISHED, 0
    try:
        for number, (op, size) in enumerate(rows := _in_order(subject, book.before)):
            split = "" if size.channel_degree == 1 else f", 1/{size.channel_degree} of {size.channel_dim}"
            words = f"{op.operator.kind} {op.operator.name}, {size.samples:,} samples{split}"
            on_progress(words, len(book.before) + number, len(book.before) + len(rows))
            now_s = time.perf_counter()
            if now_s - saved_s > SAVE_EVERY_S:
                save(book.profile())
                saved_s = now_s
            left_s = time_limit_s - (now_s - began_s)
            if left_s <= 0 or book.expected_s(op, size) > left_s:
                stopped, too_long = TIME_LIMIT, too_long + 1
                continue
            shorter_s = min(repetitions.longest_s, left_s / _RUNS_LEFT)
            book.measure(op, size, replace(repetitions, longest_s=shorter_s))
    except KeyboardInterrupt:
        stopped = INTERRUPTED
    profile = book.profile()
    save(profile)
    failed = sum(isinstance(value, str) for value in book.results.values())
    return ProfileRun(
        profile,
        sizes=subject.sizes,
        known=sum((op.signature, size) in book.before for op in subject.operators for size in {*op.sizes}),
        measured=len(book.results) - failed,
        failed=failed,
        too_long=too_long,
        stopped_because=stopped,
    )


def check_same(known: DeviceProfile, subject: Subject, device: Device) -> None:
    """Refuse to mix measurements of two models, devices, versions or precisions.

    Raises
    ------
    InvalidInput
        With the difference.
    """

    def facts(of: DeviceProfile | Subject, device: DeviceFacts) -> dict[str, str]:
        words = {
            name: str(getattr(device, name)) for name in ("kind", "name", "torch", "precision", "threads")
        }
        return {
            **fields_of(of, "model", "source"),
            "hyper-parameters": str(dict(of.hyperparameters)),
            **words,
        }

    here = facts(subject, device.facts)
    for name, old in facts(known, known.device).items():
        if old != here[name]:
            raise InvalidInput(f"{name}: {old} in the file, {here[name]} now; give another file")


class _Book:
    def __init__(self, subject: Subject, device: Device, known: DeviceProfile | None) -> None:
        self._subject = subject
        self._device = device
        self._known = () if known is None else known.operators
        self.before = {(op.signature, size): took for op in self._known for size, took in op.times.items()}
        self.results: dict[_Key, PartTime | str] = {}
        self._s_per_work: dict[OperatorSignature | str, float] = {}
        for op in subject.operators:
            for size in by_work(op, op.sizes):
                if (op.signature, size) in self.before:
                    self._note_speed(op, size, self.before[op.signature, size])

    def expected_s(self, op: SubjectOperator, size: PartSize) -> float:
        """Return the least time of measuring a size: a warm-up and the fewest repetitions; 0 if unknown."""
        of_kind = self._s_per_work.get(op.operator.kind, 0.0)
        rate = self._s_per_work.get(op.signature, of_kind)
        return 4 * _BOTH_PASSES * rate * work_of(op, size)

    def measure(self, op: SubjectOperator, size: PartSize, repetitions: Repetitions) -> None:
        """Measure one size, or note why not."""
        needed, free = needed_bytes(op, size, self._device.facts.precision), self._device.free_bytes()
        try:
            if needed > free:
                words = f"needs about {format_bytes(needed)}, {format_bytes(free)} may be taken"
                raise CannotMeasure(f"{OUT_OF_MEMORY}: {words}")
            took = measure_part(op.operator.kind, op.shape, size, self._device, repetitions)
        except CannotMeasure as error:
            self.results[op.signature, size] = str(error)
        else:
            self.results[op.signature, size] = took
            self._note_speed(op, size, took)

    def _note_speed(self, op: SubjectOperator, size: PartSize, took: PartTime) -> None:
        rate = took.forward_s / work_of(op, size)
        of_kind = self._s_per_work.get(op.operator.kind, rate)
        self._s_per_work[op.signature] = rate
        self._s_per_work[op.operator.kind] = min(rate, of_kind)  # small sizes are slow for their work

    def profile(self) -> DeviceProfile:
        """Return everything known; sizes that failed before are kept with their reason until they have a time."""
        failures = {(op.signature, size): why for op in self._known for size, why in op.failures.items()}
        everything = {**failures, **self.before, **self.results}
        operators = {
            op.signature: MeasuredOperator(op.operator.name, op.count, op.signature, numbers_of(op.shape))
            for op in self._subject.operators
        }
        for op in self._known:
            operators.setdefault(op.signature, op)
        filled = tuple(_filled(op, everything) for op in operators.values())
        return noun_from(DeviceProfile, self._subject, device=self._device.facts, operators=filled)


def _filled(op: MeasuredOperator, results: Mapping[_Key, PartTime | str]) -> MeasuredOperator:
    own = {size: value for (signature, size), value in results.items() if signature == op.signature}
    times = {size: value for size, value in own.items() if isinstance(value, PartTime)}
    failures = {size: value for size, value in own.items() if isinstance(value, str)}
    return replace(op, times=times, failures=failures)


def _in_order(subject: Subject, before: Mapping[_Key, PartTime]) -> list[tuple[SubjectOperator, PartSize]]:
    """Return the missing sizes: the smallest whole size of every operator, the next of every one …, then channel
    parts.

    If time runs out, every operator has some times, and the times of channel parts can be had by division.
    """
    rows = []
    for op in subject.operators:
        whole = [size for size in op.sizes if size.channel_degree == 1]
        for sizes in (whole, [size for size in op.sizes if size.channel_degree > 1]):
            for rank, size in enumerate(by_work(op, sizes)):
                if (op.signature, size) not in before:
                    rows.append(((sizes is not whole, rank, work_of(op, size)), op, size))
    rows.sort(key=lambda row: row[0])
    return [(op, size) for _, op, size in rows]


def work_of(op: SubjectOperator, size: PartSize) -> float:
    """Return the work of one forward pass, in bytes or their equivalent; for comparisons only."""
    o, degree = op.operator, size.channel_degree
    flops = size.samples * o.forward_flops_per_sample / degree
    return flops / FLOPS_PER_BYTE + _moved_bytes(op, size)


def by_work(op: SubjectOperator, sizes: Iterable[PartSize]) -> list[PartSize]:
    """Return sizes of an operator, those of least work first."""
    return sorted(sizes, key=lambda size: work_of(op, size))


def needed_bytes(op: SubjectOperator, size: PartSize, precision: str) -> float:
    """Return about how much memory the two passes take: everything and a gradient of everything.

    A table's sparse gradient holds only the rows fetched; its weights have no dense one.
    """
    o = op.operator
    weights = o.parameter_bytes / size.channel_degree
    copies = 1 if o.is_embedding else 2
    held = copies * weights + 2 * (_moved_bytes(op, size) - (0.0 if o.is_embedding else weights))
    return held * BYTES_PER_ELEMENT[precision] / 4


def _moved_bytes(op: SubjectOperator, size: PartSize) -> float:
    o, degree = op.operator, size.channel_degree
    weights = 0.0 if o.is_embedding else o.parameter_bytes / degree
    share = 1.0 / degree if o.is_embedding else (1.0 + 1.0 / degree) / 2.0
    return size.samples * o.memory_traffic_bytes_per_sample * share + weights
