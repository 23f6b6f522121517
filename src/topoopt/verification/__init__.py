"""A plan or a wiring proved before anyone plugs a fiber: ports, routes, tables, rings, schedules, bytes, numbers."""

from topoopt.verification.answer import VerificationAnswer as VerificationAnswer
from topoopt.verification.check import Check as Check
from topoopt.verification.subject import Subject as Subject
from topoopt.verification.subject import subject_of_plan as subject_of_plan
from topoopt.verification.subject import subject_of_wiring as subject_of_wiring
from topoopt.verification.table import CHECKS as CHECKS
from topoopt.verification.verified import unread as unread
from topoopt.verification.verified import verified as verified
