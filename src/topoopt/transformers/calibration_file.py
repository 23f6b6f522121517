"""Calibrations by name: shipped ones, one per accelerator, TOML files, measured profiles."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import Field

from topoopt.base.errors import InvalidInput, check_known
from topoopt.catalog import find_accelerator
from topoopt.schema.files import Strict, read_text, validated, write_atomically
from topoopt.transformers.profiled_calibration import check_profile, profiled_calibration
from topoopt.transformers.step_time.calibration import DIGITS, PARAMETERS, Calibration, relative_of
from topoopt.workloads import read_device_profile

NEUTRAL = "neutral"
"""The start without runs."""


_DATA = resources.files("topoopt.transformers") / "data"


class _File(Strict):
    accelerator: str
    attention: str = "auto"
    unfused: str = "none"
    gathers: str = "ahead"
    parameters: dict[str, float]
    provenance: dict[str, str | int | float] = Field(default_factory=dict)


def find_calibration(accelerator: str) -> Calibration:
    """Return the calibration that is shipped for an accelerator.

    Accelerators without published runs use that of a relative, as recorded in its provenance (``transferred_from``).

    Raises
    ------
    InvalidInput
        If the accelerator is unknown, or there is neither a calibration nor a relative.
    """
    name = find_accelerator(accelerator).name
    shipped = _shipped()
    if name in shipped:
        return shipped[name]
    relative = relative_of(name)
    if relative is None or relative.accelerator not in shipped:
        raise InvalidInput(
            f"calibration: there is none for {name}, nor one of a relative; give a file of your own, or take "
            f"{', '.join(shipped)}"
        )
    source = shipped[relative.accelerator]
    # the accelerators whose runs a calibration was fitted to, as its provenance says
    found = re.search(r"-accelerator (\S+)", source.provenance.get("command", ""))
    fitted_with = {find_accelerator(word).name for word in found[1].split(",")} if found else set()
    if name in fitted_with:
        return replace(source, accelerator=name, attention=relative.attention)
    efficiency = min(source.gemm_efficiency * relative.gemm_factor, PARAMETERS["gemm_efficiency"].high)
    return replace(
        source.with_parameters({"gemm_efficiency": efficiency}),
        name=f"{name.lower()} (transferred)",
        accelerator=name,
        attention=relative.attention,
        provenance={
            "transferred_from": source.name,
            "gemm_factor": f"{relative.gemm_factor:g}",
            "reason": relative.reason,
        },
    )


def named_calibration(word: str | None, accelerator: str = "") -> Calibration:
    """Return the calibration given by a name or file; by default the accelerator's own.

    A JSON file is a profile of a transformer from ``topoopt profile``: its kernels are used, and everything else of
    the accelerator's own calibration. Without an ``accelerator``, a profile's is used.

    Raises
    ------
    InvalidInput
        If there is no such name or file, or a profile is of another accelerator.
    """
    if word is None:
        return find_calibration(accelerator)
    if not word:
        raise InvalidInput("calibration: expected a name or a file, got nothing")
    if Path(word).suffix.lower() == ".json":
        profile = read_device_profile(word)
        check_profile(profile, word)
        own = find_calibration(accelerator or profile.device.accelerator)
        return profiled_calibration(profile, own, word).calibration
    return _named(word, "calibration")


def starting_calibration(word: str, accelerator: str, attention: str | None = None) -> Calibration:
    """Return the calibration that a fit starts from, renamed for an accelerator.

    Parameters
    ----------
    word
        ``neutral``, an accelerator with a calibration, or a TOML file.
    attention
        One of :data:`~topoopt.transformers.ATTENTIONS`; None for that of the start.

    Raises
    ------
    InvalidInput
        If there is no such start or accelerator.
    """
    part = find_accelerator(accelerator)
    start = _packaged("neutral.toml") if word == NEUTRAL else _named(word, "start")
    return replace(
        start,
        name=part.name.lower(),
        accelerator=part.name,
        attention=attention or start.attention,
        provenance={"started_from": word},
    )


def read_calibration(path: str | Path) -> Calibration:
    """Return the calibration of a TOML file.

    Raises
    ------
    InvalidInput
        In one line: place, key, allowed values, given value.
    """
    return _parsed(read_text(path), str(path), Path(path).stem)


def write_calibration(path: str | Path, calibration: Calibration) -> None:
    """Write a calibration as TOML, whole or not at all."""
    write_atomically(path, calibration_text(calibration))


def calibration_text(calibration: Calibration) -> str:
    """Return a calibration as TOML, each parameter with its meaning."""
    lines = [
        "# How fast one kind of accelerator runs transformers; made by: topoopt llm calibrate",
        f"accelerator = {json.dumps(calibration.accelerator)}",
        f"attention = {json.dumps(calibration.attention)}",
        *(
            f"{name} = {json.dumps(value)}"
            for name, value, usual in (
                ("unfused", calibration.unfused, "none"),
                ("gathers", calibration.gathers, "ahead"),
            )
            if value != usual
        ),
        "",
        "[parameters]",
    ]
    for name, value in calibration.parameters().items():
        lines.append(f"{name} = {value:.{DIGITS}g}  # {PARAMETERS[name].meaning}")
    lines += ["", "[provenance]"]
    lines += [f"{key} = {json.dumps(value)}" for key, value in calibration.provenance.items()]
    return "\n".join(lines) + "\n"


def _parsed(text: str, place: str, name: str) -> Calibration:
    try:
        mapping = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(f"{place}: not valid TOML: {error}") from None
    content = validated(_File, mapping, place)
    for key in content.parameters:
        check_known(f"{place}: parameters", key, PARAMETERS)
    for key, bounds in PARAMETERS.items():
        if key not in content.parameters:
            raise InvalidInput(f"{place}: parameters.{key}: missing: {bounds.meaning}")
    try:
        return Calibration(
            **content.parameters,
            name=name,
            accelerator=find_accelerator(content.accelerator).name,
            attention=content.attention,
            unfused=content.unfused,
            gathers=content.gathers,
            provenance={key: str(value) for key, value in content.provenance.items()},
        )
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def _named(word: str, key: str) -> Calibration:
    if Path(word).suffix or "/" in word:
        return read_calibration(word)
    try:
        return find_calibration(word)
    except InvalidInput as error:
        allowed = f"{NEUTRAL}, an accelerator" if key == "start" else "an accelerator"
        raise InvalidInput(
            f"{key}: expected {allowed} or a file; {str(error).removeprefix('accelerator: ')}"
        ) from None


@cache
def _shipped() -> Mapping[str, Calibration]:
    names = sorted(file.name for file in (_DATA / "calibrations").iterdir() if file.name.endswith(".toml"))
    return {one.accelerator: one for one in (_packaged(f"calibrations/{name}") for name in names)}


@cache
def _packaged(name: str) -> Calibration:
    path = _DATA / name
    return _parsed(path.read_text(encoding="utf-8"), path.name, Path(name).stem)
