"""A verification as a page: every check, and where it fails."""

from topoopt.pages.page import Notes, Page, Section
from topoopt.pages.tables import counted, facts, table, text
from topoopt.studies.verification import CHECKS, Check, VerificationAnswer


def verification_page(answer: VerificationAnswer) -> Page:
    """Return all checks, and the places where they fail."""
    rows = table("", answer.checks, text("check", "name"), text("", _verdict), text("looked at", _looked_at))
    looked = [check for check in answer.checks if not check.skipped]
    proved = {check.name: CHECKS[check.name].text for check in looked if check.name in CHECKS}
    failed = len(answer.failed)
    verdict = f"all {len(looked)} checks pass" if len(looked) > 1 else "its check passes"
    if failed:
        verdict = f"{failed} of {counted(len(looked), 'check')} fail{'s' if failed == 1 else ''}"
    return Page(
        "verification",
        f"{answer.name}: {verdict}",
        f"{verdict[0].upper()}{verdict[1:]}.",
        sections=(
            Section("checks", "Checks", "", (rows,)),
            *(
                Section(f"failed-{check.name}", check.name, "", (Notes(_failures(check), warn=True),))
                for check in answer.failed
            ),
            *((Section("proves", "What they prove", "", (facts(proved),)),) if proved else ()),
        ),
        remark=f"{answer.kind}, {counted(answer.servers, 'server')} of {counted(answer.degree, 'port')}",
        key_numbers={"checks": len(looked), "failed": failed},
    )


def _verdict(check: Check) -> str:
    if check.skipped:
        return "not looked at"
    return "passes" if check.passed else f"FAILS: {check.failed:,}"


def _looked_at(check: Check) -> str:
    if check.skipped:
        return check.skipped
    return f"{check.looked_at}; {check.note}" if check.note else check.looked_at


def _failures(check: Check) -> tuple[str, ...]:
    more = check.failed - len(check.failures)
    return (*check.failures, *((f"and {more:,} more",) if more else ()))
