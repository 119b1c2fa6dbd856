"""Whether the change that is told of an alert is the one that was planted, and whether one is told where none was.

    python -m benchmarks.monitor.change_attribution [--seeds 4] [--first 1000] [--unplanted 60] [--days 10]

Traffic is that of `tests/monitor/detect/causes/planted`: ten days of an application with ordinary variation, harmless
changes that begin with the incident, in half of the incidents a release days before, and one planted change or none.
Each incident is written to a lake, from which the monitor reads what it tells.
"""

from __future__ import annotations

import argparse
import tempfile
from collections import Counter
from collections.abc import Iterable

from benchmarks.regression.tables import print_table
from lake.tables.lake import Lake
from monitor.detect.causes import AroundOnset, OnsetInterval, around_onset, told
from monitor.detect.causes.features import Feature
from tests.monitor.detect.causes.planted.incident import Incident, generate
from tests.monitor.detect.causes.planted.kinds import Planted

RIGHT: dict[Planted, set[Feature]] = {
    # A model that is replaced by one of another deployment is also another deployment called.
    Planted.MODEL: {Feature.MODEL, Feature.DEPLOYMENTS_CALLED},
    Planted.PARAMETER: {Feature.PARAMETER},
    Planted.SYSTEM_PROMPT: {Feature.SYSTEM_PROMPT},
    Planted.TOOLS: {Feature.TOOLS},
    Planted.CHUNKS: {Feature.CHUNKS},
    Planted.CONTEXT_LENGTH: {Feature.CHUNK_LENGTH},
    Planted.DOCUMENTS: {Feature.DOCUMENTS, Feature.CONTEXT_AGE},
    Planted.RETRIEVAL: {Feature.WITHOUT_RETRIEVAL},
    Planted.LATENCY: {Feature.LATENCY},
    Planted.FINISH_REASONS: {Feature.FINISH_REASON},
    Planted.CHILD_ERRORS: {Feature.CHILD_ERRORS},
    Planted.LANGUAGE: {Feature.LANGUAGE},
    Planted.CLIENT: {Feature.PROJECT, Feature.USER},
    Planted.DEPLOYMENT_CALLED: {Feature.DEPLOYMENTS_CALLED},
}
"""What may be told first of each planted change."""


def found(incident: Incident) -> AroundOnset:
    """Give what the monitor finds in a lake that holds the incident."""
    with tempfile.TemporaryDirectory() as root:
        lake = Lake(root)
        incident.write(lake)
        onset = OnsetInterval(incident.since, incident.since_earliest, incident.since_latest)
        return around_onset(lake, incident.deployment, onset, incident.found_at, list(lake.deployments()))


def of_planted(planted: Planted, seeds: Iterable[int], days: int, *, verbose: bool) -> list[str]:
    """Give a row of the table: how often it is told first, at all, or nothing is told."""
    first = among = nothing = 0
    instead: Counter[str] = Counter()
    for seed in seeds:
        incident = generate(seed, planted, days)
        around = found(incident)
        features = [change.feature for change in around.changes]
        first += bool(features[:1]) and features[0] in RIGHT[planted]
        among += not RIGHT[planted].isdisjoint(features)
        nothing += not features
        if features and features[0] not in RIGHT[planted]:
            instead[features[0]] += 1
        if verbose:
            _print_one(seed, incident, around)
    return [
        planted,
        str(first),
        str(among),
        str(nothing),
        ", ".join(f"{name} {count}" for name, count in instead.most_common()),
    ]


def main() -> None:
    """Print the table of planted changes, and how often one is told where there was none."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=4, help="incidents of each planted change")
    parser.add_argument("--first", type=int, default=1000, help="the first seed")
    parser.add_argument("--unplanted", type=int, default=60, help="incidents without a cause")
    parser.add_argument("--days", type=int, default=10, help="of traffic before an incident")
    parser.add_argument("--verbose", action="store_true", help="print what is told of each incident")
    options = parser.parse_args()
    seeds = range(options.first, options.first + options.seeds)
    rows = [of_planted(planted, seeds, options.days, verbose=options.verbose) for planted in Planted]
    if options.seeds:
        print_table("Planted changes", ["planted", "told first", "told", "nothing told", "told first instead"], rows)
        right = sum(int(row[1]) for row in rows)
        of = len(rows) * options.seeds
        print(f"\nPlanted change told first: {right} of {of} ({100 * right / of:.0f} %).")
    named: Counter[str] = Counter()
    wrong = 0
    for seed in range(options.first, options.first + options.unplanted):
        incident = generate(seed, None, options.days)
        around = found(incident)
        wrong += bool(around.changes)
        named.update(change.feature for change in around.changes)
        if options.verbose:
            _print_one(seed, incident, around)
    if options.unplanted:
        what = ", ".join(f"{name} {count}" for name, count in named.most_common())
        print(f"A change told where none was planted: {wrong} of {options.unplanted}. {what}")


def _print_one(seed: int, incident: Incident, around: AroundOnset) -> None:
    harmless = ", ".join(shift.kind for shift in incident.harmless)
    print(f"{incident.planted} {seed} {incident.style} [{harmless}]: {told(around, incident.since)}", flush=True)


if __name__ == "__main__":
    main()
