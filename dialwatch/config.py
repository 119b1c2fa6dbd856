"""The sections of dialwatch.yaml; those of collector, evaluator and monitor begin with the settings of these."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, SecretStr, field_validator

from collector.settings import CollectorSettings
from dialwatch.errors import ConfigError
from dialwatch.lake_access import Access, owner_to_run_as, restrict
from evaluator.settings import EvaluatorSettings
from lake.maintenance.maintenance import LakeMaintenanceSettings
from lake.tables.lake import Lake, check_root
from lake.tables.storage import Storage
from monitor.settings import MonitorSettings
from runtime.host_names import reads_hosts
from runtime.logs import LogFormat, LogLevel
from runtime.setting import COMMON, Section, Setting


class StorageSettings(Section):
    """An S3-like store; what is left out comes from the usual AWS_* environment variables."""

    endpoint_url: Annotated[str | None, Setting(default="AWS_ENDPOINT_URL")] = None
    """S3-like store other than AWS, `http://host:port`; it must support `If-None-Match`."""
    region: Annotated[str | None, Setting(default="AWS_REGION")] = None
    """Region of the bucket."""
    access_key_id: Annotated[str | None, Setting(default="AWS_ACCESS_KEY_ID")] = None
    """Key of the store, for the lake and for log files there."""
    secret_access_key: Annotated[SecretStr | None, Setting(default="AWS_SECRET_ACCESS_KEY")] = None
    """Secret of that key."""

    @field_validator("endpoint_url")
    @classmethod
    def _is_url(cls, url: str | None) -> str | None:
        if url is not None and not url.startswith(("http://", "https://")):
            raise ValueError(f"{url!r} is no address of a store: write http://host:port or https://host")
        return url

    def storage(self, *, durable: bool = False) -> Storage:
        """Return what the lake and the file sources take."""
        secret = self.secret_access_key
        revealed = None if secret is None else secret.get_secret_value()
        return Storage(self.endpoint_url, self.region, self.access_key_id, revealed, durable)


class LakeSettings(Section):
    """Location of the tables, who may read them, and their maintenance."""

    root: Annotated[str, COMMON]
    """Folder of the tables, or their URI on a store that speaks S3: `s3://bucket/prefix`. A relative folder is below
    that of the file."""
    installation: Annotated[
        str | None,
        Setting(
            common=True,
            default="the name of the root: of `/srv/lake` it is `lake`, of `s3://bucket/prefix` it is `bucket/prefix`",
        ),
    ] = None
    """Name of this dialwatch, as the label `installation` of all its metrics and alerts. Give each one its own, such
    as `staging` and `production`, where several share a Prometheus or an Alertmanager ([several
    installations](monitor.md#several-installations))."""
    access: Annotated[Access, COMMON] = "owner"
    """Who may read what is written into a local folder, besides root: `owner` (folders 0700, files 0600), `group` (it
    may write too, for parts that run as several accounts) or `all`. On a folder with a default ACL (`setfacl -d`) the
    ACL decides. Files that exist already stay as they are. The file of judges' calls is always its owner's. Run
    commands as the account of the services; as root they end with an error if the lake belongs to another account."""
    durable: bool = False
    """If true, in a local folder each commit, and the files that it adds, are on the disk (fsync) before it counts, so
    that a loss of power takes nothing away that was committed. Each commit waits for the disk. A store does so by
    itself."""
    storage: StorageSettings = StorageSettings()
    maintenance: LakeMaintenanceSettings = LakeMaintenanceSettings()

    @field_validator("root")
    @classmethod
    def _can_be_opened(cls, root: str) -> str:
        check_root(root)
        scheme, mark, place = root.partition("://")
        if mark and scheme != "file" and not place.partition("/")[0]:
            raise ValueError(f"{root!r} names no bucket: write {scheme}://bucket/prefix")
        return root

    @field_validator("installation")
    @classmethod
    def _is_a_name(cls, name: str | None) -> str | None:
        if name is not None and (not name.strip() or name != name.strip() or not name.isprintable()):
            raise ValueError(f"{name!r} is no name: give one such as production, in one line and without blanks around")
        return name

    def open(self) -> Lake:
        """Open the lake; nothing is written yet. From now on this process and its children write as `access` says.

        Raises ConfigError for a root that no waiting opens, and for root's account in a lake of another one.
        """
        if (account := owner_to_run_as(self.root)) is not None:
            raise ConfigError(
                f"the lake {self.root} belongs to the account {account}, which could not read what root writes there: "
                f"run this command as that account, as in sudo -u {account} dialwatch ..."
            )
        restrict(self.access)
        try:
            return Lake(self.root, self.storage.storage(durable=self.durable), self.installation)
        except (ImportError, ValueError) as error:
            raise ConfigError(f"lake.root {self.root!r} cannot be opened: {error}") from None


class EvaluatorSection(EvaluatorSettings):
    """Settings of the evaluator, and the address of its own `/metrics`, `/healthz` and `/readyz`, if it has one."""

    metrics_listen: str | None = None
    """Host:port of the evaluator's own `/metrics`, `/healthz` and `/readyz`, without access and under any name."""


class LogSettings(Section):
    """How much is logged, and whether as lines for people or as JSON, an object a line."""

    level: LogLevel = "info"
    """Least level that is logged: debug, info, warning or error."""
    format: Annotated[LogFormat, COMMON] = "text"
    """`text`: lines for people; `json`: an object a line, for programs. What is logged before the file is read is in
    the form that `DIALWATCH_LOG__FORMAT` says. Errors of a file that asks for JSON are JSON too."""


class MonitorSection(MonitorSettings):
    """Settings of the monitor, with the addresses of its pages and metrics, and further host names of the pages."""

    listen: Annotated[str, COMMON] = "127.0.0.1:9464"
    """Host:port of the pages, `/metrics`, `/healthz` and `/readyz`; on another address than loopback it needs
    `monitor.access`."""
    metrics_listen: str | None = None
    """Host:port of `/metrics`, `/healthz` and `/readyz` alone, without access and under any name; they are not at
    `monitor.listen` then. The health check of the image asks 127.0.0.1:9464: give that port to this address, or
    replace the check."""
    hosts: Annotated[tuple[str, ...], BeforeValidator(reads_hosts)] = ()
    """Names, one or a list, under which people open the pages, besides that of `external_url` and those that no
    stranger can own (see [collector.md](collector.md#the-http-endpoint)). Under other names the answer is 421, except
    for `/metrics`, `/healthz` and `/readyz`."""


class Settings(Section):
    """All of dialwatch.yaml."""

    lake: LakeSettings
    collector: CollectorSettings = CollectorSettings()
    evaluator: EvaluatorSection = EvaluatorSection()
    monitor: MonitorSection = MonitorSection()
    log: LogSettings = LogSettings()
