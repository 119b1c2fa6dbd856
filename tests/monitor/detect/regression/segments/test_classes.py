from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.detect.regression.observations import Observations, Segment
from monitor.detect.regression.segments.classes import TrafficClasses
from monitor.detect.regression.segments.partition import BEYOND


def conversations(kinds: Sequence[Segment]) -> Observations:
    """One conversation of each kind, each a batch, as those of a portion: its kinds have their own places."""
    own = sorted(set(kinds))
    places = np.array([own.index(kind) for kind in kinds], dtype=np.intp)
    count = len(kinds)
    return Observations(np.arange(count), np.ones(count), np.ones(count), places, np.arange(count), own)


def kinds_of(classes: TrafficClasses, found: Observations) -> list[Segment]:
    mine = classes.numbered(found)
    return [mine.kinds[place] for place in mine.segments]


def users(numbers: Sequence[int]) -> list[Segment]:
    return [(("language", "en" if number % 2 else "de"), ("user", f"{number:06d}")) for number in numbers]


def test_some_hundred_values_stay_as_they_are() -> None:
    """Five hundred values of an attribute are all distinguished, in two languages each."""
    classes = TrafficClasses()
    found = users(np.random.default_rng(1).integers(0, 500, 3000).tolist())
    assert kinds_of(classes, conversations(found)) == found
    assert not classes.beyond


def test_values_beyond_those_that_come_first_are_one_and_counted() -> None:
    """Of a value for each person 500 are kept, whenever they come again; the other attribute is untouched."""
    classes = TrafficClasses()
    found = kinds_of(classes, conversations(users([*range(600), *range(600)])))
    assert found[:500] == found[600:1100] == users(range(500))
    assert set(found[500:600]) == {(("language", language), ("user", BEYOND)) for language in ("de", "en")}
    assert classes.beyond == {"user": 200}


def test_crossed_attributes_have_an_end_too() -> None:
    """Three attributes of 300 values make up to 27 million classes: ten thousand are kept, the rest is one."""
    classes = TrafficClasses()
    values = np.random.default_rng(1).integers(0, 300, (12_000, 3)).tolist()
    for portion in range(0, 12_000, 1000):
        part = [tuple(zip("abc", map(str, row), strict=True)) for row in values[portion : portion + 1000]]
        mine = classes.numbered(conversations(part))
    assert len(mine.kinds) == 10_001
    assert mine.kinds[-1] == tuple((name, BEYOND) for name in "abc")
    assert 1990 <= classes.beyond.total() <= 2000


@settings(max_examples=10, deadline=None)
@given(st.lists(st.integers(0, 1500), max_size=6), st.integers(0, 100))
def test_the_portions_in_which_conversations_come_do_not_matter(cuts: list[int], seed: int) -> None:
    """Nor do the places that kinds have in a portion: the first values in time are kept."""
    found = users(np.random.default_rng(seed).integers(0, 900, 1500).tolist())
    whole, parts = TrafficClasses(), TrafficClasses()
    expected = kinds_of(whole, conversations(found))
    edges = [0, *sorted(cuts), len(found)]
    assert [kind for a, b in pairwise(edges) for kind in kinds_of(parts, conversations(found[a:b]))] == expected
    assert parts.beyond == whole.beyond
