import pytest

from lake.spec.deployment_families import Families

HELP = "applications/public/help"


@pytest.mark.parametrize(
    ("deployment", "family"),
    [
        (f"{HELP}__1.0.0", HELP),
        (f"{HELP}__1.10", HELP),
        (f"{HELP}__1.2.3.4", HELP),
        ("my__app__2.0.1", "my__app"),
        (f"{HELP}__1", None),
        (f"{HELP}__1.2.3.4.5", None),
        (f"{HELP}__1.0.0-beta", None),
        (f"{HELP}_1.0.0", None),
        ("__1.0.0", None),
        (f"{HELP}__١.٠", None),
        (f"{HELP}__1.0.0\n", None),
        ("gpt-4.1", None),
        ("", None),
    ],
)
def test_an_id_that_ends_in_a_version_is_of_a_family(deployment: str, family: str | None) -> None:
    version = Families().version_of(deployment)
    assert (version.family if version else None) == family


def test_older_versions_are_ordered_by_their_numbers_and_not_as_words() -> None:
    numbers = ["1.9.0", "1.10.0", "1.2", "0.9.9", "2.0.0", "1.10.0.1"]
    others = [f"{HELP}__{number}" for number in numbers] + ["applications/public/other__1.0.0", "gpt-4"]
    expected = [f"{HELP}__{number}" for number in ("1.9.0", "1.2", "0.9.9")]
    assert Families().older(f"{HELP}__1.10.0", others) == expected
    assert Families().older("gpt-4", others) == []


def test_a_version_without_a_zero_at_its_end_is_no_older_than_one_with_it() -> None:
    assert Families().older(f"{HELP}__1.0.0", [f"{HELP}__1.0"]) == []


def test_families_have_two_members_or_more_the_oldest_first() -> None:
    names = [f"{HELP}__1.10.0", "single__1.0.0", f"{HELP}__1.9.0", "gpt-4"]
    assert Families().of(names) == [(f"{HELP}__1.9.0", f"{HELP}__1.10.0")]


def test_named_families_stand_beside_those_by_id() -> None:
    families = Families({"help": ["help-v1", f"{HELP}__1.0.0", "help-v2"]})
    assert families.older("help-v2", ["help-v1", f"{HELP}__1.0.0"]) == [f"{HELP}__1.0.0", "help-v1"]
    # What is named is of that family alone.
    assert families.older(f"{HELP}__1.1.0", [f"{HELP}__1.0.0"]) == []
    assert families.older("other__1.1.0", ["other__1.0.0"]) == ["other__1.0.0"]


def test_a_name_of_a_family_that_is_the_beginning_of_an_id_joins_nothing_to_it() -> None:
    families = Families({HELP: ["help-v1", "help-v2"]})
    assert families.version_of(f"{HELP}__1.0.0") is None


def test_without_ids_only_what_is_named_is_of_a_family() -> None:
    assert Families(by_id=False).version_of(f"{HELP}__1.0.0") is None


@pytest.mark.parametrize(
    ("older", "deployment", "name"),
    [
        (f"{HELP}__1.0.0", f"{HELP}__1.1.0", "1.0.0"),
        ("help-v1", f"{HELP}__1.1.0", "help-v1"),
        (f"{HELP}__1.0.0", "help-v2", f"{HELP}__1.0.0"),
        ("other__1.0.0", f"{HELP}__1.1.0", "other__1.0.0"),
    ],
)
def test_the_short_name_of_an_older_version_is_its_number_where_the_rest_is_the_same(
    older: str, deployment: str, name: str
) -> None:
    assert Families.short_name(older, deployment) == name
