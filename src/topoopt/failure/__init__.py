"""What fails, what that costs, and how a plan is repaired."""

from topoopt.failure.failed import FailedInterface as FailedInterface
from topoopt.failure.failed import FailedLink as FailedLink
from topoopt.failure.failed import FailedPanel as FailedPanel
from topoopt.failure.failed import FailedServer as FailedServer
from topoopt.failure.failed import Failure as Failure
from topoopt.failure.failed import plan_wiring as plan_wiring
from topoopt.failure.predict import WAYS as WAYS
from topoopt.failure.predict import Prediction as Prediction
from topoopt.failure.predict import RepairRow as RepairRow
from topoopt.failure.predict import predict as predict
from topoopt.failure.predict import repaired_plan as repaired_plan
from topoopt.failure.repair import Repair as Repair
from topoopt.failure.situation import Situation as Situation
from topoopt.failure.situation import situation as situation
