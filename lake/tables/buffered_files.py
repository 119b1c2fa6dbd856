"""Files of one append in their final form, held in memory: a row group is encoded as soon as it is full.

So rows that wait for their commit take no more memory than they will take on the disk, nothing of them is in the store
before the commit begins, and a commit that the store refuses is tried again with the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from datetime import date

import pyarrow as pa
import pyarrow.parquet as pq

from lake.delta_log.writing import FileWriter, Folder, NewFile
from lake.spec.table_spec import TableSpec
from lake.store.upload import Upload
from lake.tables.table import Table

_ROWS_AT_ONCE = 512
_BYTES_AT_ONCE = 8 << 20
"""Of a file that goes to a store: a part of an upload that is tried again is no larger."""


class BufferedFiles:
    """Rows of one table, encoded as `FileWriter` does. Not safe for use by several threads at once."""

    def __init__(self, spec: TableSpec) -> None:
        self._spec = spec
        self._memory = _Memory()
        self._writer = FileWriter(spec, self._memory)
        self._files: list[NewFile] | None = None
        self._is_given_out = False
        self.held = 0
        """Bytes of all that is held: files, and rows that are not yet a row group."""

    def add(self, rows: pa.RecordBatch) -> None:
        """Add rows of the table's schema; after an error none of them is added. See `FileWriter.add`.

        Raises ValueError once the files are finished.
        """
        if self._files is not None:
            raise ValueError(f"the files with rows of {self._spec.name} are finished: no row can be added")
        self._writer.add(rows)
        self.held = self._memory.size() + self._writer.pending_bytes

    def store(self, table: Table) -> list[NewFile]:
        """Write the files, which no reader sees before `table.commit` adds them; may be called again after an error.

        On a local disk a file gets its name when it is whole. After an error none of the files is left, as far as the
        store lets them be removed; but files that were given out once stay, as a commit may name them.
        """
        files, folder = self._finished(), table.files()
        try:
            for file in files:
                content = self._memory.content(file.path)
                if table.upload is None:
                    _write(folder, file.path, content)
                else:
                    _send(table.upload, file.path, content)
        except BaseException:
            if not self._is_given_out:
                table.discard(files)
            raise
        self._is_given_out = True
        return files

    def count(self) -> int:
        """Return the number of rows in the files, as their footers say; no row can be added any more."""
        return sum(pq.read_metadata(self._buffer(file)).num_rows for file in self._finished())

    def rows(self) -> Iterator[pa.RecordBatch]:
        """Yield the rows again, in the table's schema, few at a time; those of a date in the order they came in."""
        for file in self._finished():
            day = file.partition_values.get("date")
            content = pq.ParquetFile(self._buffer(file))
            for batch in content.iter_batches(_ROWS_AT_ONCE):
                columns = dict(zip(batch.schema.names, batch.columns, strict=True))
                if self._spec.by_date:
                    value = pa.scalar(day and date.fromisoformat(day), pa.date32())
                    columns["date"] = pa.repeat(value, batch.num_rows)
                schema = self._spec.schema
                yield pa.RecordBatch.from_arrays([columns[f.name].cast(f.type) for f in schema], schema=schema)

    def _buffer(self, file: NewFile) -> pa.BufferReader:
        return pa.BufferReader(pa.py_buffer(self._memory.content(file.path)))

    def _finished(self) -> list[NewFile]:
        if self._files is None:
            self._files = self._writer.finish()
        return self._files


def _write(filesystem: Folder, path: str, content: memoryview) -> None:
    folder, _, name = path.rpartition("/")
    written_as = f"{folder}/.{name}".lstrip("/")
    if folder:
        filesystem.create_dir(folder)
    with filesystem.open_output_stream(written_as) as sink:
        sink.write(content)
    filesystem.move(written_as, path)


def _send(upload: Callable[[str], Upload], path: str, content: memoryview) -> None:
    file = upload(path)
    try:
        for begin in range(0, len(content), _BYTES_AT_ONCE):
            file.write(content[begin : begin + _BYTES_AT_ONCE])
        file.close()
    except BaseException:
        file.discard()
        raise


class _Memory:
    """The folder in memory."""

    def __init__(self) -> None:
        self._files: dict[str, _File] = {}

    def open_output_stream(self, path: str) -> _File:
        return self._files.setdefault(path, _File())

    def create_dir(self, path: str) -> None:
        """Make none: there are no folders."""

    def move(self, src: str, dest: str) -> None:
        self._files[dest] = self._files.pop(src)

    def delete_file(self, path: str) -> None:
        self._files.pop(path, None)

    def content(self, path: str) -> memoryview:
        return self._files[path].getbuffer()

    def size(self) -> int:
        return sum(file.tell() for file in self._files.values())


class _File(io.BytesIO):
    """A file whose bytes stay when it is closed."""

    def close(self) -> None:
        self.flush()
