"""The columns of a results file: settings of a point, then what it has come to."""

from collections.abc import Mapping
from typing import Any, get_type_hints

from topoopt.studies.sweep.answer import Answer
from topoopt.studies.sweep.layout_values import DEGREES
from topoopt.studies.sweep.point import POINT_FIELDS, Point

_SQL_TYPES: Mapping[type, str] = {int: "BIGINT", float: "DOUBLE", str: "VARCHAR", bool: "BOOLEAN"}

SETTING_COLUMNS: Mapping[str, str] = {name: _SQL_TYPES[get_type_hints(Point)[name]] for name in POINT_FIELDS}
"""Fields of :class:`~topoopt.studies.sweep.point.Point`, each with its type in SQL."""

RESULT_COLUMNS: Mapping[str, str] = {
    "variant": "VARCHAR",
    "accelerators": "BIGINT",
    "global_batch": "BIGINT",
    "simulated_by": "VARCHAR",
    "iteration_time_s": "DOUBLE",
    "compute_time_s": "DOUBLE",
    "exposed_communication_s": "DOUBLE",
    "bandwidth_tax": "DOUBLE",
    "link_bytes_max": "DOUBLE",
    "lower_bound_s": "DOUBLE",
    "gap": "DOUBLE",
    "data_parallel_time_s": "DOUBLE",
    "server_bandwidth_bps": "DOUBLE",
    "cost_usd": "DOUBLE",
    "power_w": "DOUBLE",
    "strategy": "VARCHAR",
    "plan_strides": "BIGINT[]",
    "proposals": "BIGINT",
    "sequence": "BIGINT",
    "tokens_per_s": "DOUBLE",
    "mfu": "DOUBLE",
    "memory_bytes": "DOUBLE",
    **dict.fromkeys(DEGREES, "BIGINT"),
}
"""Empty where there is no result, or a fabric has no such thing: a bound, a gap and strides are topoopt's. From
``sequence`` on they are of a transformer in the configuration that is the fastest on the fabric."""

KEPT_COLUMNS: Mapping[str, str] = {
    "digest": "VARCHAR PRIMARY KEY",
    "run": "BIGINT NOT NULL",
    "status": "VARCHAR NOT NULL",
    "error": "VARCHAR NOT NULL",
    "version": "VARCHAR NOT NULL",
    "cpu_s": "DOUBLE NOT NULL",
}
"""By what a row is known, which run has written it, how that went, and by which version of topoopt."""

COLUMNS: Mapping[str, str] = {**SETTING_COLUMNS, **RESULT_COLUMNS, **KEPT_COLUMNS}


def row_of(answer: Answer, run: int, version: str) -> list[Any]:
    """Return an answer as the values of :data:`COLUMNS`."""
    point = answer.point
    kept = [point.digest, run, answer.status, answer.error, version, answer.cpu_s]
    settings = [getattr(point, name) for name in SETTING_COLUMNS]
    return [*settings, *(answer.values.get(name) for name in RESULT_COLUMNS), *kept]
