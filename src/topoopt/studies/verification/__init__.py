"""A plan or a wiring proved before anyone plugs a fiber: ports, routes, tables, rings, schedules, bytes, numbers."""

from topoopt.studies.verification.answer import VerificationAnswer as VerificationAnswer
from topoopt.studies.verification.answer import unread as unread
from topoopt.studies.verification.answer import verified as verified
from topoopt.studies.verification.check import Check as Check
from topoopt.studies.verification.subject import Subject as Subject
from topoopt.studies.verification.subject import subject_of_plan as subject_of_plan
from topoopt.studies.verification.subject import subject_of_wiring as subject_of_wiring
from topoopt.studies.verification.table import CHECKS as CHECKS
