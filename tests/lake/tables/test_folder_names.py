from __future__ import annotations

from pathlib import PurePosixPath
from urllib.parse import unquote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lake.tables.lake import MAX_LENGTH, deployment_name, folder_name, is_cut

# What a client can put into a URL's path, as text and percent-encoded.
NAMES = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=400),
    st.text("./%~_-a0\x00\n\\é😀", min_size=1, max_size=400),
    st.text("0123456789abcdefABCDEF%", min_size=1).map(unquote).filter(bool),
    st.lists(st.sampled_from(["..", ".", "/", "%2F", "%2e", "~2F", "~-", "a" * 170]), min_size=1).map("".join),
)


@given(NAMES)
@example("../../etc/passwd")
@example("..")
@example("/absolute")
@example("_rejected")
@example("x" * 300)
@example("é" * 60)
def test_a_folder_is_one_plain_visible_path_element(name: str) -> None:
    """Whatever the name, its folder stays inside the root, is not hidden, and has at most 180 ASCII characters."""
    folder = folder_name(name)
    assert PurePosixPath("/root", folder).parent == PurePosixPath("/root")
    assert folder not in (".", "..")
    assert folder[0] not in "._"
    assert len(folder) <= MAX_LENGTH
    assert folder.isascii()
    assert folder.isprintable()
    assert not set(folder) & set('/\\:*?"<>|% ')


@given(NAMES)
def test_a_name_comes_back_unchanged(name: str) -> None:
    """A folder gives its deployment's name back, unless the name was too long to fit."""
    folder = folder_name(name)
    if is_cut(folder):
        with pytest.raises(ValueError, match="read it from the table"):
            deployment_name(folder)
    else:
        assert deployment_name(folder) == name


@given(NAMES, NAMES)
@example("a/b", "a~2Fb")
@example("x" * 300, "x" * 301)
@example("x" * 300, folder_name("x" * 300))
@example(".a", "~2Ea")
def test_two_names_never_share_a_folder(one: str, other: str) -> None:
    """Different names have different folders, also where one looks like the other's folder."""
    assert (folder_name(one) == folder_name(other)) == (one == other)


@pytest.mark.parametrize("name", ["", "\ud800"])
def test_a_name_that_is_none_is_refused(name: str) -> None:
    """An empty name and one that is not Unicode are errors that say so."""
    with pytest.raises(ValueError, match="name"):
        folder_name(name)


@pytest.mark.parametrize("folder", ["~2f", "~GG", "~41", "a b", "_rejected", ".hidden", "~FF", ""])
def test_a_folder_of_another_program_is_no_deployment(folder: str) -> None:
    """A folder that no name could have given is refused, so that it is not taken for a deployment."""
    with pytest.raises(ValueError, match=r"folder|empty"):
        deployment_name(folder)
