"""A run of measurements goes on where the last one stopped, and stops in time."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.plugins.profiling.made import CPU
from topoopt.base.errors import InvalidInput
from topoopt.catalog import ClusterSpec
from topoopt.jobs import JobSettings, make_job
from topoopt.plugins.profiling import (
    ProfileRun,
    Repetitions,
    Subject,
    measure_subject,
    measure_to_file,
    only_operators,
    subject_of_job,
)
from topoopt.plugins.profiling import run as room
from topoopt.plugins.profiling.measure import CannotMeasure
from topoopt.plugins.profiling.shapes import Shape
from topoopt.workloads import DeviceProfile, PartSize, PartTime, load_model


class Machine:
    """A device without PyTorch; what it is asked to measure is written down."""

    torch = None

    def __init__(self, free_bytes: float = 1e12) -> None:
        self.facts = CPU
        self.asked: list[tuple[str, PartSize]] = []
        self.answer: Callable[[PartSize], PartTime] = lambda size: PartTime(1e-3, 2e-3, 0.0, 0.0, 5, 1)
        self._free_bytes = free_bytes

    def free_bytes(self) -> float:
        return self._free_bytes


@pytest.fixture(scope="module")
def subject() -> Subject:
    graph = load_model("dlrm", servers=4)
    return subject_of_job(make_job(graph, ClusterSpec(4, 4, 100e9), JobSettings()))


@pytest.fixture(autouse=True)
def fake_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    def measure(kind: str, shape: Shape, size: PartSize, device: Machine, passes: Repetitions) -> PartTime:
        device.asked.append((kind, size))
        return device.answer(size)

    monkeypatch.setattr(room, "measure_part", measure)


def run(
    subject: Subject,
    machine: Machine,
    known: DeviceProfile | None = None,
    limit_s: float = 60.0,
    saved: list[DeviceProfile] | None = None,
) -> ProfileRun:
    kept: list[DeviceProfile] = [] if saved is None else saved
    return measure_subject(
        subject,
        machine,  # type: ignore[arg-type]
        known,
        repetitions=Repetitions(),
        time_limit_s=limit_s,
        save=kept.append,
        on_progress=lambda words, done, total: None,
    )


def test_every_size_is_measured_once_and_saved(subject: Subject) -> None:
    machine, saved = Machine(), []  # type: ignore[var-annotated]
    done = run(subject, machine, saved=saved)
    assert (done.sizes, done.measured, done.known, done.failed) == (subject.sizes, subject.sizes, 0, 0)
    assert done.stopped_because == "finished"
    assert saved[-1].sizes == subject.sizes == len(machine.asked)


def test_every_operator_has_its_smallest_size_before_any_has_its_next(subject: Subject) -> None:
    machine = Machine()
    run(subject, machine)
    assert len({kind for kind, _ in machine.asked[: len(subject.operators)]}) == 3
    whole = [size.channel_degree == 1 for _, size in machine.asked]
    assert whole == sorted(whole, reverse=True)
    dense = [size.samples for kind, size in machine.asked if kind == "dense" and size.channel_degree == 1]
    assert dense == sorted(dense)


def test_what_is_known_is_not_measured_again(subject: Subject) -> None:
    part = run(only_operators(subject, ("dense",)), Machine()).profile
    machine = Machine()
    whole = run(subject, machine, part)
    assert {kind for kind, _ in machine.asked} == {"embedding", "concat"}
    assert whole.profile.sizes == subject.sizes
    again = run(subject, last := Machine(), whole.profile)
    assert not last.asked
    assert (again.known, again.measured) == (subject.sizes, 0)


def test_measuring_some_operators_keeps_the_others_in_the_file(subject: Subject) -> None:
    whole = run(subject, Machine()).profile
    assert run(only_operators(subject, ("concat",)), Machine(), whole).profile.sizes == whole.sizes


def test_ctrl_c_keeps_what_was_measured(subject: Subject) -> None:
    machine, saved = Machine(), []  # type: ignore[var-annotated]

    def interrupted(size: PartSize) -> PartTime:
        if len(machine.asked) == 5:
            raise KeyboardInterrupt
        return PartTime(1e-3, 2e-3, 0.0, 0.0, 5, 1)

    machine.answer = interrupted
    done = run(subject, machine, saved=saved)
    assert (done.stopped_because, done.measured, saved[-1].sizes) == ("interrupted", 4, 4)


def test_what_would_not_end_in_time_is_left(subject: Subject) -> None:
    machine = Machine()
    machine.answer = lambda size: PartTime(1e3, 2e3, 0.0, 0.0, 5, 1)
    done = run(subject, machine)
    first_of_each_kind = 3
    assert (done.stopped_because, done.measured) == ("time limit", first_of_each_kind)
    assert done.too_long == subject.sizes - first_of_each_kind
    again = run(subject, machine, done.profile)
    assert (again.measured, again.known) == (0, first_of_each_kind)
    assert run(subject, machine, limit_s=1e-9).measured == 0


def test_a_size_that_does_not_fit_is_noted_and_tried_again_later(subject: Subject) -> None:
    tables = only_operators(subject, ("embedding",))
    full = run(tables, machine := Machine(free_bytes=1e6))
    assert not machine.asked
    assert (full.measured, full.failed) == (0, tables.sizes)
    assert all(
        text.startswith("out of memory: needs about ") for text in full.profile.operators[0].failures.values()
    )
    later = run(tables, Machine(), full.profile)
    assert (later.measured, later.failed, later.profile.operators[0].failures) == (tables.sizes, 0, {})


def test_what_the_device_cannot_do_is_noted(subject: Subject) -> None:
    machine = Machine()

    def refuse(size: PartSize) -> PartTime:
        raise CannotMeasure("PyTorch: not implemented for 'Half'")

    machine.answer = refuse
    done = run(subject, machine)
    assert (done.failed, done.stopped_because) == (subject.sizes, "finished")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"precision": "bf16"}, "precision: bf16 in the file, fp32 now"),
        ({"threads": 8}, "threads: 8 in the file"),
    ],
)
def test_measurements_of_two_devices_are_not_mixed(
    subject: Subject, change: dict[str, object], said: str
) -> None:
    known = run(subject, Machine()).profile
    other = replace(known, device=replace(CPU, **change))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=said):
        run(subject, Machine(), other)


def test_measurements_of_two_models_are_not_mixed(subject: Subject) -> None:
    known = run(subject, Machine()).profile
    with pytest.raises(InvalidInput, match="model: other in the file, dlrm-16 now; give another file"):
        run(subject, Machine(), replace(known, model="other"))


def test_a_file_is_gone_on_with_and_never_written_over(
    subject: Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine, path = Machine(), str(tmp_path / "p.json")
    monkeypatch.setattr(room, "find_device", lambda *words: machine)

    def measure(part: Subject) -> ProfileRun:
        return measure_to_file(
            part,
            ("cpu", "fp32", 0),
            path,
            repetitions=Repetitions(),
            time_limit_s=60.0,
            on_progress=lambda words, done, total: None,
        )

    some = measure(only_operators(subject, ["dense"]))
    rest = measure(subject)
    assert (
        0 < some.measured == rest.known < subject.sizes == rest.known + rest.measured == len(rest.to_frame())
    )
    assert rest.to_json()["out"] == path
    machine.facts = replace(CPU, precision="bf16")
    with pytest.raises(InvalidInput, match=r"out: .*p\.json: precision: fp32 in the file, bf16 now"):
        measure(subject)
