"""Files that grew recently are held open, so that lines written after a rename or deletion are read, too."""

from __future__ import annotations

from collections import OrderedDict

from collector.sources.files.open_file import Inode, OpenFile

MOST_OPEN = 64
"""Files held open at most; those that grew longest ago are closed first."""


class Tails:
    """The files that are held open, by device and inode."""

    def __init__(self) -> None:
        self._files: OrderedDict[Inode, OpenFile] = OrderedDict()

    def hold(self, file: OpenFile) -> None:
        """Hold a file that has just grown, in place of what was held of it before."""
        inode = file.inode()
        if inode is None:
            return
        before = self._files.pop(inode, None)
        if before is not None and before is not file:
            before.close()
        self._files[inode] = file
        while len(self._files) > MOST_OPEN:
            self._files.popitem(last=False)[1].close()

    def get(self, inode: Inode | None) -> OpenFile | None:
        """Give what is held of this file."""
        return None if inode is None else self._files.get(inode)

    def holds(self, file: OpenFile) -> bool:
        """Whether this file is held and must stay open."""
        return any(held is file for held in self._files.values())

    def moved(self) -> list[OpenFile]:
        """Give those whose path names another file now, or none."""
        return [file for file in self._files.values() if file.has_moved()]

    def let_go(self, file: OpenFile) -> None:
        """Close a file."""
        inode = file.inode()
        if inode is not None and self._files.get(inode) is file:
            del self._files[inode]
        file.close()

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Let all files go."""
        while self._files:
            self._files.popitem()[1].close()
