"""Where our figures agree with what the paper concludes, and where not, in plain words."""

from __future__ import annotations

from dataclasses import dataclass

from sidrec.reports.published import Claim
from sidrec.reports.runs import SectionRuns
from sidrec.reports.summary import Against, compare_pairs


@dataclass(frozen=True)
class Finding:
    """One pair of a claim, looked at in our figures."""

    better: str
    worse: str
    against: Against

    @property
    def agrees(self) -> bool | None:
        """None where the difference could be chance."""
        return self.against.difference > 0 if self.against.real else None

    @property
    def words(self) -> str:
        if self.agrees is None:
            way = "the same way" if self.against.difference > 0 else "the other way"
            return f"leans {way}, could be chance"
        return "agrees" if self.agrees else "disagrees"


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    findings: tuple[Finding, ...]

    @property
    def words(self) -> str:
        found = [finding.agrees for finding in self.findings]
        if not found:
            return "not tested here: the rows it speaks of were not measured"
        counts = f"{found.count(True)} of {len(found)} comparisons agree"
        return f"{counts}, {found.count(False)} disagree, {found.count(None)} could be chance"


def check_claim(claim: Claim, runs: SectionRuns) -> Verdict:
    """Every pair of the claim that was measured, tested on the same users."""
    found = zip(claim.pairs, compare_pairs(runs, claim.pairs), strict=True)
    return Verdict(claim, tuple(Finding(*pair, against) for pair, against in found if against is not None))
