"""Failures: their rates, their cost, and the repair of a plan."""

from typing import TYPE_CHECKING

from topoopt.base.lazy_face import hand_on_lazily

if TYPE_CHECKING:
    from topoopt.studies.failure.answer import AvailabilityAnswer as AvailabilityAnswer
    from topoopt.studies.failure.answer import FailureAnswer as FailureAnswer
    from topoopt.studies.failure.availability import ESTIMATES as ESTIMATES
    from topoopt.studies.failure.availability import Availability as Availability
    from topoopt.studies.failure.availability import Estimate as Estimate
    from topoopt.studies.failure.availability import availability as availability
    from topoopt.studies.failure.availability import parts_of as parts_of
    from topoopt.studies.failure.availability_comparison import Exposure as Exposure
    from topoopt.studies.failure.availability_comparison import FabricAvailability as FabricAvailability
    from topoopt.studies.failure.availability_comparison import available_fabrics as available_fabrics
    from topoopt.studies.failure.availability_comparison import switched_exposure as switched_exposure
    from topoopt.studies.failure.effects import Effect as Effect
    from topoopt.studies.failure.effects import LostBandwidth as LostBandwidth
    from topoopt.studies.failure.effects import SwitchTier as SwitchTier
    from topoopt.studies.failure.effects import effects as effects
    from topoopt.studies.failure.effects import switch_tiers as switch_tiers
    from topoopt.studies.failure.failure_rates import DEFAULT_RATES as DEFAULT_RATES
    from topoopt.studies.failure.failure_rates import USUAL_REPAIRER as USUAL_REPAIRER
    from topoopt.studies.failure.failure_rates import FailureRates as FailureRates
    from topoopt.studies.failure.failure_rates import Rate as Rate
    from topoopt.studies.failure.failure_rates import Repairer as Repairer
    from topoopt.studies.failure.failure_rates import read_rates as read_rates
    from topoopt.studies.failure.failure_rates import repaired_by as repaired_by
    from topoopt.studies.failure.failure_rates import repairers as repairers
    from topoopt.studies.failure.fault import FailedInterface as FailedInterface
    from topoopt.studies.failure.fault import FailedLink as FailedLink
    from topoopt.studies.failure.fault import FailedPanel as FailedPanel
    from topoopt.studies.failure.fault import FailedServer as FailedServer
    from topoopt.studies.failure.fault import Failure as Failure
    from topoopt.studies.failure.fault import Situation as Situation
    from topoopt.studies.failure.fault import counts_look_ahead as counts_look_ahead
    from topoopt.studies.failure.fault import plan_wiring as plan_wiring
    from topoopt.studies.failure.fault import situation as situation
    from topoopt.studies.failure.predict import Phase as Phase
    from topoopt.studies.failure.predict import Prediction as Prediction
    from topoopt.studies.failure.predict import RepairRow as RepairRow
    from topoopt.studies.failure.predict import move_time_s as move_time_s
    from topoopt.studies.failure.predict import phases as phases
    from topoopt.studies.failure.predict import predict as predict
    from topoopt.studies.failure.predict import repaired_plan as repaired_plan
    from topoopt.studies.failure.repair import WAYS as WAYS
    from topoopt.studies.failure.repair import Repair as Repair

__all__ = hand_on_lazily(__name__)  # noqa: PLE0605 - the names above
