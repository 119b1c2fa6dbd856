import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.detect.regression.observations import Segment
from monitor.detect.regression.segments.partition import (
    BEYOND,
    SegmentPartition,
    choose,
    in_use,
    numbers_of,
    segment_of,
)

NAMES = ("language", "question_length")
EN, DE = (("language", "en"),), (("language", "de"),)


def test_a_class_of_traffic_is_what_is_asked_for_of_the_column() -> None:
    """Names that are not asked for and nulls are left out; true and false are yes and no."""
    text = json.dumps({"language": "en", "model": "gpt-4o", "contexts": True, "question_length": None})
    assert segment_of(text, NAMES) == EN
    assert segment_of(text, ("contexts", "model")) == (("contexts", "yes"), ("model", "gpt-4o"))


@pytest.mark.parametrize("text", [None, "", "{", "[]", "3", "[" * 100_000])
def test_a_column_that_is_no_object_is_no_class(text: str | None) -> None:
    """It is an unknown class and no error."""
    assert segment_of(text, NAMES) == ()


@given(st.dictionaries(st.tuples(st.sampled_from("abcd"), st.sampled_from("xyz")), st.integers(1, 400), max_size=12))
def test_a_partition_has_at_most_eight_segments_of_at_least_fifty(sizes: dict[tuple[str, str], int]) -> None:
    """Whatever the classes: every conversation is in one of them, and what is too small is with the others."""
    classes: dict[Segment, int] = {(("language", a), ("size", b)): number for (a, b), number in sizes.items()}
    for by in (("language",), ("language", "size")):
        partition = SegmentPartition.of(classes, by)
        if partition is None:
            continue
        found = np.zeros(len(partition.kept) + 1, dtype=int)
        for one, number in classes.items():
            found[partition.number(one)] += number
        assert found.sum() == sum(classes.values())
        assert 2 <= (found > 0).sum() <= 8
        assert found[:-1].min(initial=50) >= 50
        assert found[-1] >= 50 if partition.has_others else found[-1] == 0
        assert len(partition.names) == len(found)


def test_what_explains_nothing_is_not_used() -> None:
    """Of two attributes only the one whose classes differ in their means divides, and without one nothing does."""
    random = np.random.default_rng(1)
    language, length = random.choice(["en", "de"], 800), random.choice(["short", "long"], 800)
    segments = [(("language", str(a)), ("question_length", str(b))) for a, b in zip(language, length, strict=True)]
    noise, ones = random.uniform(0, 0.6, 800), np.ones(800)
    places = np.arange(800)
    chosen = choose(places, segments, noise + 0.3 * (language == "en"), ones)
    assert chosen is not None
    assert chosen.partition.by == ("language",)
    assert chosen.out_of == 3
    assert set(chosen.partition.names) == {"language en", "language de", "other"}
    assert choose(places, segments, noise, ones) is None
    assert choose(np.zeros(800, dtype=np.intp), [()], noise, ones) is None
    assert choose(places, segments, ones, ones) is None


def test_attributes_that_explain_more_together_are_crossed() -> None:
    """Where only short German questions are answered badly, there are four segments."""
    random = np.random.default_rng(2)
    language, length = random.choice(["en", "de"], 800), random.choice(["short", "long"], 800)
    segments = [(("language", str(a)), ("question_length", str(b))) for a, b in zip(language, length, strict=True)]
    values = random.uniform(0.4, 1, 800) - 0.4 * ((language == "de") & (length == "short"))
    chosen = choose(np.arange(800), segments, values, np.ones(800))
    assert chosen is not None
    assert set(chosen.partition.by) == {"language", "question_length"}
    assert "question length short" in " / ".join(chosen.partition.names)
    assert len(chosen.partition.kept) == 4


def test_a_class_that_was_not_there_is_of_the_others() -> None:
    """So is one of which nothing is known."""
    partition = SegmentPartition.of({EN: 100, DE: 60}, ("language",))
    assert partition is not None
    assert not partition.has_others
    kinds = [DE, EN, (("language", "fr"),), ()]
    assert numbers_of(partition, np.array([1, 2, 3, 0]), kinds).tolist() == [0, 2, 2, 1]


def test_values_beyond_the_most_classes_are_of_the_others() -> None:
    """However many they are; and where only they are beside what is too small, there is one segment."""
    beyond: Segment = (("language", BEYOND),)
    partition = SegmentPartition.of({EN: 100, beyond: 300}, ("language",))
    assert partition == SegmentPartition(("language",), (EN,), has_others=True)
    assert partition.number(beyond) == 1
    assert SegmentPartition.of({beyond: 300, EN: 40, DE: 40}, ("language",)) is None


def test_a_part_of_many_has_only_its_own_kinds() -> None:
    """Their places are given anew, and none of them changes its kind."""
    kinds = [(("language", str(number)),) for number in range(100)]
    places = np.array([7, 3, 99, 3])
    own, used = in_use(places, kinds)
    assert len(used) == 3
    assert [used[place] for place in own] == [kinds[place] for place in places]
    assert in_use(places[:0], kinds)[1] == ()
