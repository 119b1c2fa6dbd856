"""What makes our delay longer than that of the CUSUM that knows the laws before and after a drop?

    python -m benchmarks.regression_price [--streams 200]

Streams are those of `benchmarks.regression`, of 90 days, the last 30 after the drop; all at the threshold log(A) of one
false alarm a month. Beside the CUSUM stands our detector if it were told the mean before, so that only the laws are
unknown to it, and as it is, tolerance 0. Prints markdown.
"""

from __future__ import annotations

import argparse

import numpy as np

from benchmarks.regression import delays, settings
from benchmarks.regression_rules import DAY, SETTINGS, cusum, ours, ours_with
from benchmarks.regression_streams import Floats, simulate
from benchmarks.regression_tables import in_words, print_table

_CHANGE, _HOURS = 60 * DAY, 90 * DAY
_DROPS = (0.05, 0.10)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--streams", type=int, default=200)
    streams, rows = parser.parse_args().streams, []
    for setting in settings():
        for drop in _DROPS:
            before, after, kind = setting.law, setting.worse(drop), setting.kind

            def law_at(hour: int, before: Floats = before, after: Floats = after) -> Floats:
                return after if hour >= _CHANGE else before

            counts = simulate(np.random.default_rng(3), streams, _HOURS, kind, law_at)
            mean = float(kind.probabilities(before) @ kind.means)
            rules = cusum(counts, kind, before, after), ours_with(counts, kind, mean), ours(counts, kind, tolerance=0.0)
            found = (in_words(delays(rule, SETTINGS.log_threshold, _CHANGE)) for rule in rules)
            rows.append([f"{setting.name}, {drop:.2f}", *found])
    print_table(
        f"Hours to a lasting drop, median and 90 %, of {streams} streams",
        ["scores, drop", "CUSUM that knows the laws", "ours that knows the mean", "ours, tolerance 0"],
        rows,
    )


if __name__ == "__main__":
    main()
