"""Text of an alert: what got worse, how sure that is, since when, where, and what to look at."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from lake.spec.alert_vocabulary import AlertEvent, AlertVerdict, OnsetKind, Tier
from lake.spec.case_vocabulary import FAILED_PART_LOOK, FAILED_PART_MEANING, FailedPart
from lake.spec.deployment_families import Families
from lake.spec.metric_names import metric_look, metric_name, quoted_name
from lake.spec.vocabulary import DISLIKES
from monitor.alerting.alerts.broken_tool import APPLICATION, LEAST_FAILED, broken_tool
from monitor.alerting.alerts.change import AlertChange, AlertDetails
from monitor.detect.causes import AffectedCounts, told
from monitor.detect.regression import NewClass, SegmentChange, StreamKey
from monitor.notify.texts.limit import bad_time, limit_lines, limit_summary, over_line
from monitor.notify.texts.link import link_to, link_to_incident, link_to_response, worst_since
from monitor.notify.texts.onset import brief_onset, onset
from monitor.notify.texts.plain import first_small, one_line, sentences, time
from runtime.durations import duration

LOOK_FIRST = "Look first at: "
"""How the line of what to look at begins."""
HOW_SURE = "How sure: "
"""How the line of how sure it is begins, also that of a limit."""
IF_MEANT = "If the change was intended: "
"""How the line on a new level begins."""
WORST_SINCE = "Worst answers since then"
"""How the line of the worst answers begins."""
_OFTEN = 0.2
"""Share of the answers from which on a part that failed is a place to look at."""
_NOT_OF_TEXTS = ("latency", "cost")
"""How metrics begin that do not depend on what an answer says, so that no wrong answer explains them."""
WORST = 5
"""The number of the worst answers in a message."""
_FAILED: Mapping[FailedPart, str] = {
    FailedPart.RETRIEVAL: "Retrieval failed",
    FailedPart.RANKING: "Ranking failed",
    FailedPart.TOOL: "A needed tool failed",
    FailedPart.WRONG_TOOL: "A needed tool was not called",
    FailedPart.GENERATION: "Generation failed",
    FailedPart.REFUSAL: "The application refused",
    FailedPart.UNANSWERABLE: "It answered what has no answer",
    FailedPart.REFERENCE: "The case is out of date",
}
_AFTER_RELEASE = (
    "After a release: it is compared with the reference from before the mark, until the level after it is learned. "
    "Then this ends. To accept the present level, accept it again: `dialwatch release mark`. It never becomes urgent."
)
_WHILE_LEARNING = (
    "How sure: about one of 50 metrics with steady quality gets such an alert, once.",
    "Why now: the mean fell while its reference was learned, so the reference has conversations of before and after. "
    "This warning never becomes urgent and ends after seven days. What falls further is found as usual.",
)
_JUDGES: Mapping[AlertVerdict | None, str] = {
    AlertVerdict.SYSTEM: ": its judge is unchanged",
    AlertVerdict.JUDGE: ": the judge changed, not the application",
    AlertVerdict.BOTH: ": the judge changed, and the application too",
}
"""What is known of the judge of a metric that has one; nothing as long as that is undecided."""


def summary(change: AlertChange) -> str:
    """Say in one line what happened, and who was affected when it was found."""
    return with_affected(change, change.details.affected)


def with_affected(change: AlertChange, affected: AffectedCounts | None, at: datetime | None = None) -> str:
    """Say what happened and who was `affected` by a time, or by that of the alert; of what is over nobody is said."""
    told = what_happened(change)
    if change.change != AlertEvent.FIRING or affected is None or not affected.in_words:
        return told
    return sentences([told, f"By {time(at or change.changed_at)}: {affected.in_words}"])


def what_happened(change: AlertChange) -> str:
    """Say in one line what got worse, or is over, without a full stop."""
    return one_line(limit_summary(change) if change.is_limit else _summary(change))


def _within(affected: AffectedCounts) -> str:
    number = affected.conversations
    return f" in {number:,} conversation{'' if number == 1 else 's'}" if number else ""


def _affected_line(change: AlertChange) -> list[str]:
    affected = change.details.affected
    if affected is None:
        return []
    groups = [f"Most affected: {'; '.join(map(str, affected.stands_out))}."] if affected.stands_out else []
    return [f"Affected: {affected.who}{_within(affected)} from then until {time(change.changed_at)}.", *groups]


def _summary(change: AlertChange) -> str:
    """Say what got worse, from what to what, since when, and which part failed."""
    what = f"{change.key.deployment}: {quoted_name(change.key.metric)}"
    if change.change == AlertEvent.RESOLVED:
        after, outage = _number(change.current_mean), change.details.outage_seconds
        if outage is not None:
            lasted = duration(timedelta(seconds=max(outage, 60.0)))
            return (
                f"{change.key.deployment} is back: nearly all answers were bad by {quoted_name(change.key.metric)} for "
                f"{lasted}, which is an outage and no change of quality"
            )
        over = f"alert is over; {change.reason}" if change.ended_without_recovery else f"back at {after}"
        return f"{what}: {over}"
    if change.details.new_class is not None:
        return f"{what} got worse in new traffic: {_new_class(change, change.details.new_class)}"
    what = f"{change.key.deployment}{_worse_version(change)}: {quoted_name(change.key.metric)}"
    judge = _JUDGES.get(change.verdict, "") if change.details.can_drift else ""
    part = _part_that_fell(change)
    if part is None:
        moved = f"from {_number(change.reference_mean)} to {_number(change.current_mean)}{_by(change)}"
    else:
        moved = f"from {_number(part.mean_before)} to {_number(part.mean_after)} in a part of the traffic, {part.name},"
    said = f"{what} {_moved(change)} {moved} {brief_onset(change)}{_young(change)}{judge}"
    return ". ".join(one for one in (said, failed_most(change)) if one)


def _young(change: AlertChange) -> str:
    """Say that the reference was being learned, for the first time or after a new level was accepted."""
    if change.details.marked_release is not None:
        return f", after a new level was accepted at {time(change.details.marked_release)}; is it this one?"
    return " while its reference was learned" if change.details.while_learning else ""


def _worse_version(change: AlertChange) -> str:
    """Say that a version answers worse than the one before it; nothing of a fall that did not come with a release."""
    older = change.details.older_version
    if older is None or change.details.onset != OnsetKind.RELEASE:
        return ""
    return f" answers worse than {Families.short_name(older, change.key.deployment)}"


def failed_most(change: AlertChange) -> str:
    """Say which part failed in the most wrong answers; empty where none is known, and of what the judge did alone."""
    failed = change.details.failed_parts
    if not failed or change.verdict == AlertVerdict.JUDGE:
        return ""
    part, count = max(failed.items(), key=lambda one: one[1])
    total = sum(failed.values())
    return f"{_FAILED[part]} in {count:,} of {total:,} wrong answer{'s' if total > 1 else ''} that could be checked"


def description(change: AlertChange, external_url: str) -> str:
    """Say in a few lines what a person who was just woken needs; `external_url` is where our pages are.

    Names and reasons come from others: each stays within its line.
    """
    if change.is_limit:
        lines = limit_lines(change)
    else:
        lines = _resolved(change) if change.change == AlertEvent.RESOLVED else _firing(change)
    if change.change == AlertEvent.FIRING and change.details.worst:
        lines.append(_worst_line(change, external_url))
    of_incident = link_to_incident(change.incident_id, external_url) if change.incident_id else ""
    link = of_incident or link_to(change.key.deployment, external_url)
    return "\n".join(map(one_line, [*lines, f"Look at: {link or 'the overview page of dialwatch'}"]))


def _worst_line(change: AlertChange, external_url: str) -> str:
    """Name the worst answers: by the page of the worst one, or by their ids where nobody said where our pages are."""
    worst = change.details.worst[:WORST]
    if external_url:
        return (
            f"{WORST_SINCE}: the worst has the score {_number(worst[0].value)}: {worst_links(change, external_url)[0]}"
        )
    ids = ", ".join(f"{answer.response_id} ({_number(answer.value)})" for answer in worst)
    return f"{WORST_SINCE}, by response_id in parsed_logs: {ids}"


def worst_links(change: AlertChange, external_url: str) -> tuple[str, ...]:
    """Return the addresses of the pages of the worst answers; none where nobody said where our pages are."""
    if not external_url:
        return ()
    name, since = change.key.deployment, worst_since(change)
    return tuple(link_to_response(name, one.response_id, external_url, since) for one in change.details.worst[:WORST])


def _firing(change: AlertChange) -> list[str]:
    key, details = change.key, change.details
    if details.new_class is not None:
        return _new_traffic(change, details.new_class)
    which = "rated" if key.metric == DISLIKES else "scored"
    moved = _moved(change)
    better = "higher" if moved == "fell" else "lower"
    lines = [
        f"What: the mean of {quoted_name(key.metric)} ({better} is better) {_from_to(change)}.",
        f"Since: {onset(change).removeprefix('since ')}; found with the answers until {time(change.changed_at)}.",
        f"Where: deployment {key.deployment}, all of its {which} answers; {_metric(key)}.",
    ]
    if details.older_version is not None:
        lines.append(f"Compared with: {details.older_version}, an older version, whose reference this one began with.")
    if change.changed_at > change.fired_at:
        lines.insert(0, f"Update on an alert that was found at {time(change.fired_at)}: {change.reason}.")
    lines += _affected_line(change)
    lines += _segments(details)
    if key.metric == DISLIKES:
        lines.append(
            "Who: only people who rate. They choose to rate, so this is not the share of all unhappy people. "
            "The times are those of the ratings; the answers are older, often by a day or more."
        )
    if details.while_learning:
        lines += _WHILE_LEARNING
    elif details.false_alarm_every_seconds is not None:
        every = duration(timedelta(seconds=details.false_alarm_every_seconds))
        whole = ", of all that is watched together" if change.tier == Tier.PAGE else ""
        lines.append(f"{HOW_SURE}steady quality raises an alert like this at most once in {every} on average{whole}.")
    lines.append(f"Cause: {_cause(change)}.")
    if details.page_due is not None:
        lines.append(
            "A warning for now, though the evidence is that of an urgent alert: it becomes urgent once the judge's "
            f"anchors show that not only the judge changed, or at {time(details.page_due)} unless they show by then "
            "that only the judge did."
        )
    if details.marked_release is not None:
        lines.append(_AFTER_RELEASE)
    elif change.verdict != AlertVerdict.JUDGE:
        lines.append(f"{IF_MEANT}`dialwatch release mark` makes the new level the usual one.")
    lines += failed_part_lines(details.failed_parts)
    if look := look_first(change):
        lines.append(f"{LOOK_FIRST}{' '.join(look)}")
    if details.around_onset is not None:
        lines.append(told(details.around_onset, change.since))
    return lines


def look_first(change: AlertChange) -> tuple[str, ...]:
    """Return what to look at first for the parts that failed often, else what the guide to metrics says.

    Nothing where only the judge changed.
    """
    if change.verdict == AlertVerdict.JUDGE:
        return ()
    if parts := failed_often(change):
        return tuple(f"{_FAILED[one]}: {first_small(FAILED_PART_LOOK[one])}" for one in parts)
    look = metric_look(change.key.metric)
    return (look,) if look else ()


def failed_often(change: AlertChange) -> list[FailedPart]:
    """Return the parts that failed in a fifth or more of the wrong answers, the most frequent first.

    None of few wrong answers, nor of a metric that says nothing of what answers say.
    """
    failed = change.details.failed_parts
    total = sum(failed.values())
    if total < LEAST_FAILED or change.key.metric.startswith(_NOT_OF_TEXTS):
        return []
    return [part for part, count in sorted(failed.items(), key=lambda one: -one[1]) if count >= _OFTEN * total]


def _metric(key: StreamKey) -> str:
    """Name a metric in words, with its identifier and version."""
    identifier = "" if metric_name(key.metric) == key.metric else f" ({key.metric})"
    return f"metric {quoted_name(key.metric)}{identifier}, version {key.metric_version}"


def _new_traffic(change: AlertChange, new: NewClass) -> list[str]:
    return [
        f"What: a new class of traffic has worse {quoted_name(change.key.metric)}: {_new_class(change, new)}.",
        f"Since: {time(change.since)}; found with the answers until {time(change.changed_at)}.",
        f"Where: deployment {change.key.deployment}; {_metric(change.key)}.",
        "Cause: the traffic, as the reference has nothing of this class. What it has is watched as before, and the "
        "class from now on against its own level. This warning never becomes urgent.",
    ]


def _new_class(change: AlertChange, new: NewClass) -> str:
    apart = abs(new.known_mean - new.mean)
    return (
        f"new: {new.name}, {100 * new.share:.0f} % of traffic, {apart:.2f} "
        f"{'higher' if _lower_is_better(change) else 'lower'} ({_number(new.mean)}; other traffic "
        f"{_number(new.known_mean)})"
    )


def failed_part_lines(failed: Mapping[FailedPart, int]) -> list[str]:
    """Say which part of the application failed, the most frequent first; nothing where no answer failed its case."""
    if not failed:
        return []
    (part, count), *others = sorted(failed.items(), key=lambda one: -one[1])
    more = ", ".join(f"{number} {_spaced(other)}" for other, number in others)
    total = sum(failed.values())
    one = "answer" if total == 1 else "answers"
    return [
        f"Part that failed: {_spaced(part)}, in {count} of {total} {one} since then that do not agree with ground "
        f"truth: {FAILED_PART_MEANING[part]}{f'; the others: {more}' if more else ''}."
    ]


def _spaced(part: FailedPart) -> str:
    return part.replace("_", " ")


def _segments(details: AlertDetails) -> list[str]:
    most, within, mix = details.most_worsened, details.within, details.mix
    if most is None or within is None or mix is None:
        return []
    return [
        f"Most in: {most.name}, {100 * most.share_after:.0f} % of the conversations, from "
        f"{_number(most.mean_before)} to {_number(most.mean_after)}. Of the whole change {within:+.2f} is within such "
        f"segments of the traffic, and {mix:+.2f} comes from another mix of them, which raises no alert."
    ]


def _cause(change: AlertChange) -> str:
    """Say what has changed, and what that is known by."""
    details, broken = change.details, broken_tool([change])
    changed = broken or f"{APPLICATION} changed"
    if not details.can_drift:
        return changed
    if details.judge_shift is None:
        return "undecided; the judge has scored too few of its anchors since then, so the judge itself may have changed"
    scored = (
        f"on the same answers its scores differ by {details.judge_shift:+.2f} from before (95 % interval "
        f"{_signed(details.judge_shift_lower)} to {_signed(details.judge_shift_upper)})"
    )
    causes: Mapping[AlertVerdict | None, str] = {
        AlertVerdict.SYSTEM: f"not the judge: {changed}; {scored}",
        AlertVerdict.JUDGE: f"the judge, not the application: {scored}, which explains the change",
        AlertVerdict.BOTH: f"the judge, and {broken or APPLICATION}: {scored}, which explains a part of the change",
    }
    return causes.get(change.verdict, f"undecided between the application and the judge: {scored}")


def _resolved(change: AlertChange) -> list[str]:
    lines = [over_line(change)]
    if change.ended_without_recovery:
        return [*lines, f"Why: {change.reason}."]
    return [
        *lines,
        f"What: the mean is {_number(change.current_mean)} again (95 % interval {_interval(change)}); "
        f"in the reference it was {_number(change.reference_mean)}.",
        *_in_all(change),
    ]


def _in_all(change: AlertChange) -> list[str]:
    """Say from when to when it was worse, and who asked meanwhile; nothing where neither is known."""
    affected, until, since = change.details.affected, change.back_at, change.since
    asked = f": {affected.who}{_within(affected)}" if affected is not None and affected.requests else ""
    if since is None or (until is None and not asked):
        return []
    return [f"In all, {bad_time(since, until) if until else f'since {time(since)}'}{asked}."]


def _part_that_fell(change: AlertChange) -> SegmentChange | None:
    """Return the segment that got worse where the mean of all did not, as its mix got better; else None."""
    rose = (change.current_mean or 0.0) > (change.reference_mean or 0.0)
    return change.details.most_worsened if rose is not _lower_is_better(change) else None


def _from_to(change: AlertChange) -> str:
    details = change.details
    before = f"{_number(change.reference_mean)} in the reference{_of(details.reference_observations)}"
    if details.while_learning:
        before = f"{_number(change.reference_mean)} in its first conversations"
    of_after = _of(details.since_observations, f"95 % interval {_interval(change)}")
    after = f"{_number(change.current_mean)}{of_after}"
    if _part_that_fell(change) is None:
        return f"{_moved(change)} from {before} to {after}{_by(change)}"
    return f"{_moved(change)} in a part of the traffic; that of all was {before} and is {after}"


def _of(conversations: int | None, *more: str) -> str:
    """Say in brackets how many conversations a number is of, and what else there is to say of it."""
    known = [] if conversations is None else [f"{conversations:,} conversation{'' if conversations == 1 else 's'}"]
    return f" ({', '.join([*more, *known])})" if (more or known) else ""


def _by(change: AlertChange) -> str:
    """Say by how much it got worse at least: the first estimate is too large where little is known yet."""
    lower = change.details.drop_lower
    return "" if lower is None or lower < 0.005 else f" (surely by at least {lower:.2f})"


def _moved(change: AlertChange) -> str:
    """Say which way is worse: the mean of an alert, or of a part of the traffic, went there."""
    return "rose" if _lower_is_better(change) else "fell"


def _lower_is_better(change: AlertChange) -> bool:
    lower_is_better = change.details.lower_is_better
    # Rows of earlier versions do not say it.
    rose = (change.current_mean or 0.0) > (change.reference_mean or 0.0)
    return rose if lower_is_better is None else lower_is_better


def _interval(change: AlertChange) -> str:
    return f"{_number(change.current_lower)} to {_number(change.current_upper)}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2f}"


def _signed(value: float | None) -> str:
    return "unknown" if value is None else f"{value:+.2f}"
