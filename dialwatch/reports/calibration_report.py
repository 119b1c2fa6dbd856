"""Report of a calibration in words and numbers, for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaluator.calibration import (
    PASS_THRESHOLD,
    AskedJudge,
    BestThreshold,
    Calibration,
    Difference,
    Estimate,
    Means,
)

_NARROW_FROM = 50
_GOOD, _USABLE = 0.8, 0.6
_ORDERS = 0.75
"""From this AUROC on a judge orders answers much as people do, whatever its yes and no are."""
_MUCH_BETTER = 0.05


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
    found: Calibration,
    compared_with: str | None = None,
    threshold: float = PASS_THRESHOLD,
    asked: Sequence[AskedJudge] = (),
) -> CalibrationReport:
    """Say what a calibration found; `compared_with` names the other judge where there is one.

    `threshold` is the least score that was taken for a yes, `asked` what was asked of whom.
    """
    by = "" if threshold == PASS_THRESHOLD else f", a score of {threshold:g} or more being a yes"
    sections = [ReportSection(f"Agreement with people{by}", tuple(_agreement(found)))]
    if found.best is not None:
        sections.append(ReportSection("The best threshold", tuple(_best(found.best))))
    if found.means is not None:
        sections.append(ReportSection("Mean of all answers", tuple(_means(found.means))))
    sections.append(ReportSection("What it depends on", tuple(_dependence(found))))
    if found.compared is not None and compared_with is not None:
        sections.append(ReportSection(f"{compared_with} instead", tuple(_comparison(found.compared))))
    if found.more_labels:
        sections.append(ReportSection("Width of the mean's interval with more labels", tuple(_more(found))))
    sections.append(ReportSection("What was asked", tuple(line for one in asked for line in _asked(one))))
    whole = tuple(section for section in sections if section.lines)
    return CalibrationReport(_summary(found, threshold), whole, tuple(_advice(found)))


def _summary(found: Calibration, threshold: float) -> str:
    agreed = found.agreement
    labelled = f"{agreed.answers:,} of {found.scored:,} scored answers are labelled"
    if found.unscored:
        labelled += f", and {found.unscored:,} labelled ones have no score"
    kappa = agreed.kappa.value
    if kappa is None:
        return f"{labelled}; all labels or all scores are on one side, so agreement beyond chance is not known"
    grade = "good" if kappa >= _GOOD else "usable" if kappa >= _USABLE else "poor"
    why = _reason(found, threshold) if grade == "poor" else ""
    return f"{labelled}; agreement beyond chance is {grade} (kappa {kappa:.2f}){why}"


def _reason(found: Calibration, threshold: float) -> str:
    """Say why agreement is poor where scores order the answers as people do."""
    auroc, best, kappa = found.agreement.auroc.value, found.best, found.agreement.kappa.value
    if auroc is None or auroc < _ORDERS or best is None or best.threshold.value is None or kappa is None:
        return ""
    better = best.agreement.kappa.value
    if better is None or better < kappa + _MUCH_BETTER:
        return f". Its scores order answers much as people do (AUROC {auroc:.2f}), and no threshold makes more of them"
    return (
        f" at the threshold {threshold:g}, and the threshold is the reason: its scores order answers much as people do "
        f"(AUROC {auroc:.2f}), and at {best.threshold.value:.3g} kappa is {better:.2f}"
    )


def _best(best: BestThreshold) -> Iterator[ReportLine]:
    yield _line("threshold", best.threshold, "with this score or more as a yes, TPR and TNR are best")
    yield _line("balanced accuracy", best.balanced_accuracy, "mean of TPR and TNR, on labels it was not chosen by")
    yield _line("kappa", best.agreement.kappa, "at this threshold, on the labels that it was chosen by")
    yield _line("TPR", best.agreement.tpr, "at this threshold")
    yield _line("TNR", best.agreement.tnr, "at this threshold")


def _asked(one: AskedJudge) -> Iterator[ReportLine]:
    times = "" if one.times == 1 else f", {one.times} times"
    yield ReportLine("judge", one.judge or "none", "", f"{one.metric}, version {one.version}")
    calls = "" if one.calls is None else f"{one.calls:,} calls; "
    price = "not known" if one.cost is None else f"{one.cost:,.4f}"
    yield ReportLine("price", price, "", f"{calls}{one.answers:,} answers{times}; in the currency of its prices")


def _agreement(found: Calibration) -> Iterator[ReportLine]:
    agreed = found.agreement
    yield ReportLine("answers", f"{agreed.answers:,}", "", f"labelled, of {agreed.questions:,} questions")
    if unscored := found.unscored:
        passed = f"people pass {found.unscored_passed:,} of them"
        yield ReportLine("no score", f"{unscored:,}", "", f"labelled answers that are in no number here; {passed}")
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
