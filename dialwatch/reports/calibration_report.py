"""Report of a calibration in words and numbers, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from evaluator.calibration import PASS_THRESHOLD, Agreement, Calibration, Difference, Estimate, Means

_NARROW_FROM = 50
_GOOD, _USABLE = 0.8, 0.6


@dataclass(frozen=True)
class ReportLine:
    """A number, its 95 % interval, and what it says."""

    name: str
    value: str
    interval: str
    meaning: str


@dataclass(frozen=True)
class ReportSection:
    """Lines that belong together."""

    title: str
    lines: tuple[ReportLine, ...]


@dataclass(frozen=True)
class CalibrationReport:
    """One sentence that says the most, the numbers, and what to do."""

    summary: str
    sections: tuple[ReportSection, ...]
    advice: tuple[str, ...]


def report(
    found: Calibration, compared_with: str | None = None, threshold: float = PASS_THRESHOLD
) -> CalibrationReport:
    """Say what a calibration found; `compared_with` names the other judge where there is one.

    `threshold` is the least score that was taken for a yes.
    """
    by = "" if threshold == PASS_THRESHOLD else f", a score of {threshold:g} or more being a yes"
    sections = [ReportSection(f"Agreement with people{by}", tuple(_agreement(found.agreement)))]
    if found.means is not None:
        sections.append(ReportSection("Mean of all answers", tuple(_means(found.means))))
    sections.append(ReportSection("What it depends on", tuple(_dependence(found))))
    if found.compared is not None and compared_with is not None:
        sections.append(ReportSection(f"{compared_with} instead", tuple(_comparison(found.compared))))
    if found.more_labels:
        sections.append(ReportSection("Width of the mean's interval with more labels", tuple(_more(found))))
    whole = tuple(section for section in sections if section.lines)
    return CalibrationReport(_summary(found), whole, tuple(_advice(found)))


def _summary(found: Calibration) -> str:
    agreed = found.agreement
    labelled = f"{agreed.answers:,} of {found.scored:,} scored answers are labelled"
    kappa = agreed.kappa.value
    if kappa is None:
        return f"{labelled}; all labels or all scores are on one side, so agreement beyond chance is not known"
    grade = "good" if kappa >= _GOOD else "usable" if kappa >= _USABLE else "poor"
    return f"{labelled}; agreement beyond chance is {grade} (kappa {kappa:.2f})"


def _agreement(agreed: Agreement) -> Iterator[ReportLine]:
    yield ReportLine("answers", f"{agreed.answers:,}", "", f"labelled, of {agreed.questions:,} questions")
    yield _line("prevalence", agreed.prevalence, "share that people pass")
    yield _line("accuracy", agreed.accuracy, "share on which both agree")
    yield _line("kappa", agreed.kappa, "agreement beyond chance; 0.6 is usable, 0.8 good")
    yield _line("weighted kappa", agreed.weighted_kappa, "the same for grades: near misses count for less")
    yield _line("TPR", agreed.tpr, "of what people pass, the share that the judge passes")
    yield _line("TNR", agreed.tnr, "of what people fail, the share that the judge fails")
    yield _line("AUROC", agreed.auroc, "how often a passed answer has the higher score")


def _means(found: Means) -> Iterator[ReportLine]:
    yield _line("judge alone", found.judge, "its interval knows nothing of the judge's errors")
    yield _line("labels alone", found.labels, "what people say of the labelled answers")
    trust = "" if found.trust is None else f", trusting the judge by {found.trust:.2f}"
    yield _line("corrected", found.corrected, f"both together (PPI++){trust}")
    if found.rogan_gladen is not None:
        yield ReportLine("Rogan-Gladen", f"{found.rogan_gladen:.3f}", "", "the share of yes, corrected by TPR and TNR")


def _dependence(found: Calibration) -> Iterator[ReportLine]:
    if found.length_bias.value is not None:
        yield _line("length", found.length_bias, "how much more than people it gives to the longer half", sign="+")
    if found.repeated is not None and found.repeated.draws > 1:
        meaning = f"share of {found.repeated.answers:,} answers with one verdict in {found.repeated.draws} draws"
        yield _line("repeatability", found.repeated.same, meaning)
    if found.reordered is not None:
        meaning = "share of answers whose verdict stays with the chunks in another order"
        yield _line("order", found.reordered.same, meaning)


def _comparison(compared: Difference) -> Iterator[ReportLine]:
    yield _line("kappa", compared.kappa, "how much more than above", sign="+")
    yield _line("TPR", compared.tpr, "how much more than above", sign="+")
    yield _line("TNR", compared.tnr, "how much more than above", sign="+")
    why = "kappa's interval above -0.03, rates within 2 points"
    yield ReportLine("as good", "yes" if compared.accepted else "not shown", "", why)


def _more(found: Calibration) -> Iterator[ReportLine]:
    for line in found.more_labels:
        meaning = f"{line.labels_alone:.3f} without the judge"
        yield ReportLine(f"{line.labels:,} labels", f"{line.corrected:.3f}", "", meaning)


def _advice(found: Calibration) -> Iterator[str]:
    means, agreed = found.means, found.agreement
    if means is None:
        yield (
            "People chose what to rate: this says nothing of the answers that nobody rated, and so there is no "
            "corrected mean. Label answers drawn at random for one."
        )
    elif _is_off(means):
        yield "The judge's own mean is outside of the corrected interval: show the corrected one."
    if agreed.questions < _NARROW_FROM:
        yield f"{agreed.questions} labelled questions are few; from about 100 on the intervals say something."
    if agreed.tnr.value is None or agreed.tpr.value is None:
        yield "All labels are on one side: label some answers that you expect to fail."


def _is_off(means: Means) -> bool:
    judge, corrected = means.judge.value, means.corrected
    if judge is None or corrected.low is None or corrected.high is None:
        return False
    return not corrected.low <= judge <= corrected.high


def _line(name: str, estimate: Estimate, meaning: str, sign: str = "") -> ReportLine:
    if estimate.value is None:
        return ReportLine(name, "-", "", meaning)
    if estimate.low is None or estimate.high is None:
        return ReportLine(name, f"{estimate.value:{sign}.3f}", "", meaning)
    interval = f"{estimate.low:{sign}.3f} to {estimate.high:{sign}.3f}"
    return ReportLine(name, f"{estimate.value:{sign}.3f}", interval, meaning)
