"""Images and containers without a service of an engine: buildah builds, podman runs, both as root.

`python -m tests.deploy.image.engine` says in one line whether this machine can run containers.
"""

from __future__ import annotations

import os
import shutil
import ssl
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("buildah", "podman", "runc", "mmdebstrap")
# A program that needs no library, as the only file of an image.
STATIC_PROGRAM = Path("/sbin/ldconfig")
# What a cluster allows a pod, and less: no capability, no network, nothing to write but two folders. Ulimits are given
# because podman's own may be above this machine's.
CONFINED = (
    *("--read-only", "--read-only-tmpfs=false", "--tmpfs", "/tmp", "--network", "none"),
    *("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
    *("--ulimit", "nofile=4096:4096", "--ulimit", "nproc=4096:4096", "--no-healthcheck"),
)
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# What images of Debian for containers leave out.
WITHOUT = ("/usr/share/man/*", "/usr/share/locale/*", "/usr/share/doc/*")


@dataclass(frozen=True)
class Engine:
    """Images and containers in a folder of their own."""

    folder: Path

    def build(self, *arguments: object) -> str:
        """Run buildah and give what it prints; AssertionError with its errors if it fails."""
        return self._run(["buildah", *self._storage(), *arguments]).stdout

    def podman(self, *arguments: object) -> subprocess.CompletedProcess[str]:
        """Run podman; AssertionError with its errors if it fails."""
        return self._run([*self.command(), *arguments])

    def command(self) -> list[object]:
        """Give the start of podman's command line."""
        return ["podman", *self._storage(), "--runtime", "runc", "--cgroup-manager", "cgroupfs"]

    def image_of(self, name: str, *paths: object) -> None:
        """Make an image of archives and files alone."""
        container = self.build("from", "scratch").strip()
        self.build("add", "--quiet", container, *paths, "/")
        self.build("commit", "--quiet", "--rm", container, name)

    def remove(self) -> None:
        """Remove all images and containers, and the folder, as far as that is possible."""
        for command in ([*self.command(), "rm", "--all", "--force"], ["buildah", *self._storage(), "rm", "--all"]):
            subprocess.run([f"{word}" for word in command], capture_output=True)
        subprocess.run(["umount", self.folder / "storage/overlay"], capture_output=True)
        shutil.rmtree(self.folder, ignore_errors=True)

    def _storage(self) -> list[object]:
        return ["--root", self.folder / "storage", "--runroot", self.folder / "run"]

    def _run(self, command: list[object]) -> subprocess.CompletedProcess[str]:
        done = subprocess.run([f"{word}" for word in command], capture_output=True, text=True)
        assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
        return done


def why_not() -> str:
    """Say why this machine cannot run containers; empty if it can."""
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        return f"{', '.join(missing)} not installed"
    if os.geteuid() != 0:
        return "not root"
    engine = Engine(Path(tempfile.mkdtemp()))
    try:
        engine.image_of("probe", STATIC_PROGRAM)
        engine.podman("run", *CONFINED, "probe", f"/{STATIC_PROGRAM.name}", "--version")
    except AssertionError as error:
        return str(error).strip().splitlines()[-1]
    finally:
        engine.remove()
    return ""


def debian(archive: Path) -> None:
    """Write a system of Debian with Python into an archive, in place of python:3.12-slim, which needs a registry.

    It trusts the certificates that this machine trusts.
    """
    include = "python3,python3-venv,ca-certificates,binutils"
    options = [f"--dpkgopt=path-exclude={path}" for path in WITHOUT]
    options.append("--dpkgopt=path-include=/usr/share/doc/*/copyright")
    trusted = os.environ.get("PIP_CERT") or ssl.get_default_verify_paths().cafile or CERTIFICATES
    hook = f'--customize-hook=cp "{trusted}" "$1{CERTIFICATES}"'
    command = ["mmdebstrap", "--quiet", "--variant=minbase", f"--include={include}", *options, hook, codename()]
    done = subprocess.run([*command, str(archive)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


def codename() -> str:
    """Give the name of this machine's release of Debian."""
    lines = Path("/etc/os-release").read_text().splitlines()
    return next(line.partition("=")[2] for line in lines if line.startswith("VERSION_CODENAME="))


def pip_configuration() -> str:
    """Give how pip is configured here, as a file for the build."""
    listed = subprocess.run([sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True)
    settings = {}
    for line in listed.stdout.splitlines():
        key, _, value = line.partition("=")
        settings[key.rpartition(".")[2]] = value.strip("'")
    # Of this machine's folders the build sees none.
    settings.pop("find-links", None)
    settings["cert"] = CERTIFICATES
    return "[global]\n" + "".join(f"{key} = {value}\n" for key, value in settings.items())


if __name__ == "__main__":
    reason = why_not()
    print(
        f"containers do not run on this machine ({reason}): THE IMAGE IS NOT BUILT" if reason else "containers run here"
    )
