"""The answer as a noun, and as a file that every verb reads."""

from topoopt.plan.plan import Baseline as Baseline
from topoopt.plan.plan import Bounds as Bounds
from topoopt.plan.plan import Outcome as Outcome
from topoopt.plan.plan import Plan as Plan
from topoopt.plan.plan import RoutingGap as RoutingGap
from topoopt.plan.plan import SearchRecord as SearchRecord
