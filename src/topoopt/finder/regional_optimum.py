"""The best circuits of a region for one all-to-all, exactly: an integer program to judge the greedy rule by."""

import numpy as np
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array, diags_array, eye_array, hstack, kron, vstack

from topoopt.base.errors import Infeasible, InvalidInput
from topoopt.finder.regional_circuits import Circuits, Demand, checked_demand

MOST_CHOICES = 5_000
"""Choices (pairs times circuits of a pair) up to which the program is tried; 16 servers of 6 ports make 840."""

TIME_LIMIT_S = 60.0
"""After so long the integer program is given up."""


def best_regional_circuits(
    demand_bytes: Demand,
    ports: int,
    circuit_bps: float,
    electrical_bps: float,
) -> Circuits:
    """Return the circuits on which an all-to-all is done first, as :func:`exchange_time_s` counts.

    One binary choice for each pair and number of circuits, c = 0 … ports: a pair with c > 0 takes
    max(D_ij, D_ji)/(c·B), those with 0 load the electrical ports of their servers. The time T is minimized. With no
    electrical ports every pair that sends must get a circuit, and T is that of the slowest pair.

    Parameters
    ----------
    demand_bytes, ports, circuit_bps, electrical_bps
        As in :func:`regional_circuits` and :func:`exchange_time_s`.

    Raises
    ------
    InvalidInput
        If the region is too large for an exact answer, or as :func:`regional_circuits`.
    Infeasible
        If some pair would have nothing to send over, or the time is over before the optimum is proven.
    """
    demand, servers = checked_demand(demand_bytes, ports), len(demand_bytes)
    first, second = np.nonzero(np.triu(demand + demand.T))
    pairs = len(first)
    if pairs * (ports + 1) > MOST_CHOICES:
        raise InvalidInput(
            f"circuits: {pairs} pairs of up to {ports} circuits are too many for an exact answer; use the greedy rule"
        )
    if not pairs:
        return np.zeros(demand.shape, np.int64)
    rows, upper, lower = _rows(demand, first, second, ports, circuit_bps, electrical_bps)
    choices = pairs * (ports + 1)
    least = np.append(np.zeros(choices), 0.0)
    most = np.append(np.ones(choices), np.inf)
    if not electrical_bps:
        most[: choices : ports + 1] = 0.0
    best = milp(
        np.append(np.zeros(choices), 1.0),
        integrality=np.append(np.ones(choices), 0),
        bounds=Bounds(least, most),
        constraints=LinearConstraint(rows, lower, upper),
        options={"time_limit": TIME_LIMIT_S},
    )
    if best.x is None or best.status != 0:
        why = "no pair may be left without" if best.status == 2 else "no optimum was proven in time"
        raise Infeasible(f"circuits: {servers} servers of {ports} optical ports: {why}; use the greedy rule")
    count = np.rint(best.x[:-1]).reshape(pairs, ports + 1) @ np.arange(ports + 1)
    circuits = np.zeros(demand.shape, np.int64)
    circuits[first, second] = count.astype(np.int64)
    return circuits + circuits.T


def _rows(
    demand: Demand,
    first: Circuits,
    second: Circuits,
    ports: int,
    circuit_bps: float,
    electrical_bps: float,
) -> tuple[csr_array, Demand, Demand]:
    """Return the rows of the program with their upper and lower ends; the last column is T.

    Times are in units of the largest pair's bytes over one circuit, so that all numbers are near 1.
    """
    servers, pairs, width = len(demand), len(first), ports + 1
    larger = np.maximum(demand[first, second], demand[second, first])
    unit = float(larger.max())
    each, none = np.arange(width, dtype=np.float64)[None], np.eye(1, width)
    some = np.concatenate(([0.0], 1.0 / each[0, 1:]))[None]
    a, b = (csr_array((np.ones(pairs), (end, np.arange(pairs))), (servers, pairs)) for end in (first, second))
    there, back = diags_array(demand[first, second]), diags_array(demand[second, first])
    per_byte = circuit_bps / electrical_bps / unit if electrical_bps else 0.0
    choices = vstack(
        [
            kron(eye_array(pairs), np.ones((1, width))),  # one choice of each pair
            kron(a + b, each),  # circuits of a server
            kron(diags_array(larger / unit), some),  # a pair on circuits is done by T
            kron(a @ there + b @ back, none * per_byte),  # and so is what each server sends without
            kron(b @ there + a @ back, none * per_byte),  # and receives
        ],
        format="csr",
    )
    by_time = np.repeat((0.0, -1.0), (pairs + servers, pairs + 2 * servers))[:, None]
    upper = np.repeat((1.0, ports, 0.0), (pairs, servers, pairs + 2 * servers))
    lower = np.where(np.arange(len(upper)) < pairs, 1.0, -np.inf)
    return hstack([choices, csr_array(by_time)], format="csr"), upper, lower
