"""Answers about failures: one failure with its repairs, and a month of failures."""

from dataclasses import asdict, dataclass
from typing import Any

from topoopt.base.answers import Frame, fields_of, frame, shows_itself
from topoopt.plans import Plan
from topoopt.plans.inventory import Inventory, Move, circuits, moves, named_patch_rows
from topoopt.studies.failure.availability import ESTIMATES
from topoopt.studies.failure.availability_comparison import FabricAvailability, parts_json
from topoopt.studies.failure.failure_rates import FailureRates
from topoopt.studies.failure.predict import Phase, Prediction, RepairRow, move_time_s, repaired_plan


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class FailureAnswer:
    """Effect of one failure on a plan: before, during and repaired.

    Attributes
    ----------
    plan : str
        Name of the plan: its file.
    optics : str
        Kind of panels, for the time of moves.
    inventory : Inventory
        Names of the servers, panels and cables, including a spare server after those of the plan.
    course : (phases, seconds of lost work), optional
        Phases of the job if the time of the failure is given.
    """

    plan: str
    prediction: Prediction
    simulator: str
    optics: str
    inventory: Inventory
    course: tuple[tuple[Phase, ...], float] | None = None

    def repaired_plan(self) -> Plan:
        """Return the plan after the chosen repair."""
        return repaired_plan(self.prediction)

    @property
    def spare(self) -> str | None:
        """Name of the spare server, if the chosen repair takes one."""
        servers, repair = self.prediction.situation.plan.job.cluster.servers, self.prediction.chosen.repair
        assert repair is not None, "a chosen repair is possible"
        return self.inventory.servers[servers].name if repair.wiring.touching([servers]) else None

    def named_moves(self) -> tuple[Move, ...]:
        """Return the moves at the panels for the chosen repair."""
        repair = self.prediction.chosen.repair
        assert repair is not None, "a chosen repair is possible"
        gone, come = (circuits(self.inventory, repair.wiring, some) for some in (repair.removed, repair.made))
        return moves(self.inventory, gone, come)

    def to_frame(self) -> Frame:
        """Return a row for each repair; needs pandas."""
        return frame(self.to_json()["repairs"])

    def to_json(self) -> dict[str, Any]:
        """Return the document of ``topoopt fail --json``."""
        situation, chosen = self.prediction.situation, self.prediction.chosen
        before, repair = self.prediction.before, chosen.repair
        assert repair is not None, "a chosen repair is possible"
        rows = [self._row(row) for row in self.prediction.rows]
        by_name = {row["name"]: row for row in rows}
        return {
            "plan": self.plan,
            "model": situation.plan.job.name,
            "servers": situation.plan.job.cluster.servers,
            **fields_of(situation.wiring, "links", "panels"),
            "failure": str(self.prediction.failure),
            "broken": named_patch_rows(self.inventory, situation.wiring, situation.broken),
            **fields_of(self, "simulator", "optics"),
            "before": fields_of(before, "iteration_time_s", "compute_time_s", "link_bytes_max"),
            "during": by_name.get(self.prediction.during.way.name),
            "repairs": rows,
            "repaired": by_name[chosen.way.name],
            "moves": {
                "unplug": named_patch_rows(self.inventory, repair.wiring, repair.removed),
                "plug": named_patch_rows(self.inventory, repair.wiring, repair.made),
            },
            "moves_at_panels": [move.to_json() for move in self.named_moves()],
            **self._course(),
        }

    def _course(self) -> dict[str, Any]:
        if self.course is None:
            return {}
        phases, lost_s = self.course
        return {"course": [asdict(phase) for phase in phases], "lost_work_s": lost_s}

    def _row(self, row: RepairRow) -> dict[str, Any]:
        repair, result = row.repair, row.result
        common = {"name": row.way.name, "description": row.way.description, "possible": repair is not None}
        if repair is None or result is None:
            return {**common, "reason": row.reason, "meant_for_this": row.meant}
        return {
            **common,
            "iteration_time_s": result.iteration_time_s,
            "relative_time": result.iteration_time_s / self.prediction.before.iteration_time_s,
            "speed": row.speed,
            "servers": repair.job.cluster.servers,
            "rings": sum(len(rings) for rings in repair.fabric.rings.values()),
            "link_bytes_max": result.link_bytes_max,
            "moved_fibers": repair.moved_fibers,
            "move_time_s": move_time_s(repair, self.optics),
            "restart": repair.restart,
        }


@shows_itself
@dataclass(frozen=True, eq=False, repr=False)
class AvailabilityAnswer:
    """A plan over a month of failures, beside other fabrics; ``name`` is the file of the plan.

    Attributes
    ----------
    fabrics : tuple of FabricAvailability
        The plan's own, then its baselines.
    rates : FailureRates
        Rates of all kinds of parts.
    skipped : tuple of (fabric, reason)
    """

    name: str
    plan: Plan
    fabrics: tuple[FabricAvailability, ...]
    rates: FailureRates
    simulator: str
    skipped: tuple[tuple[str, str], ...] = ()

    @property
    def own(self) -> FabricAvailability:
        """The plan's own fabric."""
        return self.fabrics[0]

    def to_frame(self) -> Frame:
        """Return a row for each fabric; needs pandas."""
        return frame(
            {
                **fields_of(row.row, "fabric", "server_bandwidth_bps"),
                **{name: getattr(row.availability, name).mean for name in ESTIMATES},
                "effective_iteration_time_s": row.effective_iteration_time_s,
            }
            for row in self.fabrics
        )

    def to_json(self) -> dict[str, Any]:
        """Return the document that the command prints as JSON."""
        course, rates = asdict(self.own.availability), asdict(self.rates)
        del course["failures"], rates["parts"]  # they are among the parts of each fabric
        return {
            "plan": self.name,
            "model": self.plan.job.name,
            "servers": self.plan.job.cluster.servers,
            "simulator": self.simulator,
            **course,
            **rates,
            "parts": parts_json(self.own.exposure, self.own.availability),
            "fabrics": [row.to_json() for row in self.fabrics],
            "skipped_fabrics": [list(row) for row in self.skipped],
        }
