"""Question of a studio page, with the same options as a plan."""

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from math import isfinite, nan
from typing import Any

from topoopt.base.answers import fields_of
from topoopt.base.errors import InvalidInput, check_known, shown
from topoopt.base.limits import whole
from topoopt.base.units import parse_bandwidth
from topoopt.catalog import find_accelerator
from topoopt.jobs import AUTO_MICROBATCHES, JobRequest, request_of
from topoopt.pricing import LINK_TECHNOLOGIES, PRICE_TABLES, RUNNING_WORDS
from topoopt.schema.words import QuestionWords, amount, described, refuse_empty
from topoopt.workloads import MODELS
from topoopt.workloads.transformer import TRANSFORMERS

FIRST_MODEL = "llama3-70b"
"""Model of a page without a question."""
RANGE = ("low", "typical", "high")
"""Names of the catalogue's prices of a server."""
RUNNING = tuple(word for word in RUNNING_WORDS if word in QuestionWords.__annotations__)
"""Options of running costs."""
INTEGER = re.compile("[+-]?[0-9]{1,20}")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
"""Numbers in an address; Python's own reader would take ``1_6`` and digits of other scripts, too."""
_LEAST = {"servers": 2, "seq": 1, "degree": 1}
MOST_SERVERS = 2**17
"""Servers of an estimate: it is there within seconds."""


@dataclass(frozen=True, slots=True)
class Question:
    """Model, hardware, ports and prices; None for the default of a plan.

    Attributes
    ----------
    bandwidth_bps : float
        Bandwidth per port.
    years, utilization, electricity_price, interest, colocation, maintenance, staff, storage, server_price
        Ownership options, see :func:`topoopt.plan`.
    """

    model: str = FIRST_MODEL
    servers: int = 128
    degree: int = 8
    bandwidth_bps: float = 400e9
    accelerator: str | None = None
    accelerators_per_server: int | None = None
    global_batch: int | None = None
    seq: int | None = None
    batch_per_accelerator: int | None = None
    prices: str | None = None
    link_technology: str | None = None
    years: float | None = None
    utilization: float | None = None
    electricity_price: float | None = None
    interest: float | None = None
    colocation: float | None = None
    maintenance: float | None = None
    staff: float | None = None
    storage: float | None = None
    server_price: str | float | None = None

    @property
    def words(self) -> dict[str, Any]:
        """Given values, as options of a plan."""
        said = {name: value for name, value in asdict(self).items() if value is not None}
        said["bandwidth"] = f"{said.pop('bandwidth_bps') / 1e9:.10g}Gbps"
        return said

    @property
    def plan_words(self) -> dict[str, Any]:
        """Options of a plan besides the model."""
        return {name: value for name, value in self.words.items() if name != "model"}


def question_of(words: Mapping[str, Any], *, files: frozenset[str] = frozenset()) -> Question:
    """Return the question from options: text as in an address, or values as in JSON.

    Parameters
    ----------
    files
        Names of the files that questions may name: those given to the studio at its start. Users over a network
        names no others.

    Raises
    ------
    InvalidInput
        For an unknown word or name, an empty or wrong value, or more than :data:`MOST_SERVERS` servers.

    Examples
    --------
    >>> question_of({"servers": "64", "bandwidth": "800Gbps"}).bandwidth_bps
    800000000000.0
    """
    refuse_empty(words)
    kinds = {word.name: word.kind for word in described(QuestionWords)}
    said: dict[str, Any] = {}
    for name, value in words.items():
        check_known("word", name, ("model", *kinds))
        if value is not None:
            said[name] = _value(name, value, kinds.get(name, str))
    if "bandwidth" in said:
        said["bandwidth_bps"] = said.pop("bandwidth")
    question = Question(**said)
    if question.model not in files:
        check_known("model", question.model, known_models())
    if question.prices is not None and question.prices not in files:
        check_known("prices", question.prices, PRICE_TABLES)
    if question.link_technology is not None:
        check_known("link_technology", question.link_technology, LINK_TECHNOLOGIES)
    if question.accelerator is not None:
        find_accelerator(question.accelerator)
    return question


def known_models() -> tuple[str, ...]:
    """Return the names of the models that a page may choose without a file."""
    return (*TRANSFORMERS, *MODELS)


def machines_of(question: Question) -> Question:
    """Return the question without prices: model, hardware and network only."""
    no_money: Mapping[str, Any] = dict.fromkeys(RUNNING)
    return replace(question, prices=None, link_technology=None, server_price=None, **no_money)


def request_of_question(question: Question) -> JobRequest:
    """Return the request that a plan of the question starts from."""
    cluster = {
        **fields_of(question, "servers", "degree", "accelerator", "accelerators_per_server"),
        "link_bandwidth_bps": question.bandwidth_bps,
    }
    return request_of(question.model).overlaid(
        JobRequest(
            cluster=_given(cluster),
            training=_given(fields_of(question, "global_batch", "seq")),
            batch_per_accelerator=question.batch_per_accelerator or 0,
            settings={"microbatches": AUTO_MICROBATCHES},
        )
    )


def _given(words: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in words.items() if value is not None}


def _value(name: str, value: Any, kind: Any) -> Any:
    if name == "bandwidth":
        if not isinstance(value, str | int | float) or isinstance(value, bool):
            raise InvalidInput(f"bandwidth: expected a rate such as 400Gbps, got {shown(value)}")
        return amount(parse_bandwidth, value, name)
    if kind is int:
        most = MOST_SERVERS if name == "servers" else None
        return whole(name, _integer(name, value), _LEAST.get(name, 1), most)
    if kind is float or (name == "server_price" and value not in RANGE):
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        number = float(value) if is_number or _is(NUMBER, value) else nan
        if not isfinite(number):
            raise InvalidInput(f"{name}: expected a number, got {shown(value)}")
        return number
    if not isinstance(value, str):
        raise InvalidInput(f"{name}: expected text, got {shown(value)}")
    return value


def _integer(name: str, value: Any) -> Any:
    if isinstance(value, str) and not _is(INTEGER, value):
        raise InvalidInput(f"{name}: expected an integer, got {shown(value)}")
    return int(value) if isinstance(value, str) else value


def _is(form: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and form.fullmatch(value) is not None
