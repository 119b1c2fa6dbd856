"""The lake: one folder a deployment, one table a kind, nothing else."""

from __future__ import annotations

from deltalake import DeltaTable

from lake.names import deployment_name, folder_name, is_cut
from lake.schemas import TABLES, UNASSIGNED, TableSpec
from lake.storage import Storage, is_remote
from lake.table import Table


class Lake:
    """The tables under one root, a local path or a URI such as `s3://bucket/prefix`."""

    def __init__(self, root: str, storage: Storage | None = None) -> None:
        storage = storage or Storage()
        self._filesystem, self._path = storage.filesystem(str(root))
        self.root = str(root).rstrip("/") if is_remote(str(root)) else self._path
        self.storage = storage
        self._options = storage.delta_options() if is_remote(self.root) else {}

    def table(self, spec: TableSpec, deployment: str | None = None) -> Table:
        """Give a new handle on a table; `deployment` None is for rows that name none."""
        if not spec.per_deployment:
            return Table(f"{self.root}/{spec.name}", spec, spec.name, self._options)
        folder = UNASSIGNED if deployment is None else folder_name(deployment)
        # The table's title is the deployment's whole name, which a cut folder name cannot give back.
        return Table(f"{self.root}/{folder}/{spec.name}", spec, deployment or UNASSIGNED, self._options)

    def deployments(self) -> list[str | None]:
        """Names of all deployments that have a table, as DIAL writes them; None stands for rows that name none."""
        names = [self._name_of(folder) for folder in self._folders(self._path) if self._is_deployment(folder)]
        return sorted(names, key=lambda name: (name is None, name or ""))

    def _is_deployment(self, folder: str) -> bool:
        if folder == UNASSIGNED or is_cut(folder):
            return True
        try:
            return bool(deployment_name(folder))
        except ValueError:
            return False

    def _name_of(self, folder: str) -> str | None:
        if folder == UNASSIGNED:
            return None
        if not is_cut(folder):
            return deployment_name(folder)
        table = next(name for name in self._folders(f"{self._path}/{folder}") if name in TABLES)
        title = DeltaTable(f"{self.root}/{folder}/{table}", storage_options=self._options).metadata().name
        return str(title)

    def _folders(self, path: str) -> list[str]:
        try:
            entries = self._filesystem.ls(path, detail=True)
        except FileNotFoundError:
            return []
        return [entry["name"].rstrip("/").rsplit("/", 1)[-1] for entry in entries if entry["type"] == "directory"]
