"""Root file system of the image: the interpreter, its packages, and the libraries that these load.

`python3 assemble.py VENV SBOM ROOT` copies them to the folder ROOT and leaves out what no part of dialwatch uses:
headers, tests, symbols of debuggers, and the parts of large packages that are named below. The SBOM (CycloneDX, JSON)
lists Python's packages; with those of Debian of which files were copied it is put into the environment's copy.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

UNUSED = (
    # Arrow Flight, a protocol of servers; headers and sources for those who compile against Arrow.
    *("pyarrow/_flight*", "pyarrow/libarrow_flight*", "pyarrow/libarrow_python_flight*"),
    *("pyarrow/include", "pyarrow/src", "pyarrow/tests", "pyarrow/*.pyx", "pyarrow/*.pxi", "pyarrow/*.pxd"),
    # Copies of libarrow_python.so.<version>, which is the name that the others load.
    *("pyarrow/libarrow_python.so", "pyarrow/libarrow_python.so.*.*"),
    *("pandas/tests", "numpy/**/tests", "numpy/_core/include", "numpy/_core/lib", "numpy/random/lib", "numpy/f2py"),
    # Extensions that only tests import.
    *("numpy/_core/_*_tests.*.so", "numpy/_core/_simd.*.so", "pyarrow/_pyarrow_cpp_tests.*"),
    # The readability of a text is computed for English alone.
    "pyphen/dictionaries/hyph_[!e]*",
    "pyphen/dictionaries/hyph_e[!n]*",
    # The second implementation of the same, for PyPy.
    *("zstandard/_cffi*", "zstandard/backend_cffi.py"),
)
# Descriptions of AWS's services; the lake needs S3, and what gives its keys.
AWS_SERVICES = {"s3", "signin", "sso", "sso-oidc", "sts"}
UNUSED_STDLIB = ("test", "idlelib", "tkinter", "turtledemo", "ensurepip", "lib2to3", "pydoc_data", "config-*")
UNUSED_EXTENSIONS = (
    *("_test*.so", "_xx*.so", "xx*.so", "_ctypes_test*.so", "_tkinter*.so"),
    # They bring libraries of databases and terminals with them.
    *("_dbm.*", "_gdbm.*", "nis.*", "readline.*", "_curses*.so"),
)
# The first are of gigabytes and come without symbols; after `strip`, NumPy's OpenBLAS cannot be loaded.
NOT_STRIPPED = ("/torch/", "/nvidia/", "/triton/", "/numpy.libs/")
# What programs look for besides libraries: certificates, names of users, and which system this is.
SYSTEM_FILES = (
    "/etc/ssl",
    "/usr/lib/ssl",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
)
USER = "dialwatch:x:10001:10001::/var/lib/dialwatch:/nonexistent"


def main(venv: Path, sbom: Path, root: Path) -> None:
    """Fill the folder `root`, which need not exist."""
    for name in ("lib", "lib64", "bin", "sbin"):
        if (top := Path("/", name)).is_symlink():
            root.mkdir(parents=True, exist_ok=True)
            (root / name).symlink_to(top.readlink())
    copied = copy_python(root)
    copy_tree(venv, root)
    link_interpreter(venv, root)
    remove_unused(next(in_root(root, venv).glob("lib/python*/site-packages")))
    copied += [copy_file(Path(name), root) for name in libraries(root)]
    for path in map(Path, SYSTEM_FILES):
        if path.exists():
            copied += copy_tree(path, root) if path.is_dir() else [copy_file(path, root)]
    strip(root)
    add_user(root)
    document = json.loads(sbom.read_text())
    document["metadata"]["component"]["version"] = version_of_dialwatch(venv)
    document["components"] += add_packages(debian_packages(copied), root)
    (in_root(root, venv) / "sbom.cdx.json").write_text(json.dumps(document, indent=1))
    subprocess.run(["ldconfig", "-r", root], check=True)


def in_root(root: Path, path: Path) -> Path:
    """Give the place of an absolute path below the folder `root`, where folders that are links are followed."""
    return root / path.parent.resolve().relative_to("/") / path.name


def copy_file(source: Path, root: Path) -> Path:
    """Copy what a path names, under its own name, and give the path without links."""
    target = in_root(root, source)
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy2(source, target)
    return source.resolve()


def copy_tree(source: Path, root: Path, ignored: Iterable[str] = ()) -> list[Path]:
    """Copy a folder, with links that stay inside it as they are, and give the files."""
    target = in_root(root, source)
    target.parent.mkdir(parents=True, exist_ok=True)
    skip = shutil.ignore_patterns("__pycache__", *ignored)
    shutil.copytree(source, target, ignore=skip, symlinks=source != Path("/etc/ssl"), dirs_exist_ok=True)
    return [source / path.relative_to(target) for path in target.rglob("*") if path.is_file() and not path.is_symlink()]


def copy_python(root: Path) -> list[Path]:
    """Copy the interpreter and the standard library, without packages that were installed into it."""
    library = Path(sysconfig.get_path("stdlib"))
    ignored = (*UNUSED_STDLIB, *UNUSED_EXTENSIONS, "site-packages", "dist-packages")
    return [copy_file(Path(sys.executable).resolve(), root), *copy_tree(library, root, ignored)]


def link_interpreter(venv: Path, root: Path) -> None:
    """Let the environment's interpreter be the one that was copied."""
    for link in in_root(root, venv).glob("bin/python*"):
        link.unlink()
        link.symlink_to(Path(sys.executable).resolve())


def remove_unused(packages: Path) -> None:
    """Remove from the environment's packages what is named above."""
    for pattern in UNUSED:
        for path in list(packages.glob(pattern)):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for path in (packages / "botocore/data").iterdir():
        if path.is_dir() and path.name not in AWS_SERVICES:
            shutil.rmtree(path)


def elf_files(root: Path) -> list[Path]:
    """Give the programs and libraries below a folder."""
    files = [path for path in root.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if (".so" in path.name or os.access(path, os.X_OK)) and is_elf(path)]


def is_elf(path: Path) -> bool:
    """Say whether a file is a program or a library."""
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(root: Path) -> list[str]:
    """Give the paths of this system's libraries that programs and libraries below `root` load."""
    lines = subprocess.run(["ldd", *elf_files(root)], capture_output=True, text=True).stdout.splitlines()
    words = {word for line in lines if line.startswith("\t") for word in line.split() if word.startswith("/")}
    return sorted(word for word in words if not word.startswith(f"{root}/"))


def strip(root: Path) -> None:
    """Remove the symbols that only debuggers and linkers read."""
    files = [path for path in elf_files(root) if not any(part in f"{path}" for part in NOT_STRIPPED)]
    subprocess.run(["strip", "--strip-unneeded", *files], check=True)


def add_user(root: Path) -> None:
    """Add root and the user as which the image runs, and the folders that it writes."""
    (root / "etc/passwd").write_text(f"root:x:0:0:root:/:/nonexistent\n{USER}\n")
    (root / "etc/group").write_text("root:x:0:\ndialwatch:x:10001:\n")
    for name, owner, mode in (("tmp", 0, 0o1777), ("var/lib/dialwatch", 10001, 0o755), ("var/log/dial", 10001, 0o755)):
        (root / name).mkdir(parents=True)
        (root / name).chmod(mode)
        os.chown(root / name, owner, owner)


def debian_packages(files: list[Path]) -> list[str]:
    """Give the names of Debian's packages that files are of."""
    # Debian has moved /lib into /usr/lib; its lists of files still name both.
    paths = {f"{path.resolve()}" for path in files}
    names = paths | {path.removeprefix("/usr") for path in paths}
    found = subprocess.run(["dpkg-query", "--search", *sorted(names)], capture_output=True, text=True)
    return sorted({line.split(": ")[0] for line in found.stdout.splitlines() if not line.startswith("diversion ")})


def add_packages(names: list[str], root: Path) -> list[dict[str, str]]:
    """Say where scanners of images look which packages of Debian are in, with their licences; give all for the SBOM."""
    version = platform.python_version()
    components = [component("application", "python", version, f"pkg:generic/python@{version}")]
    for name in names:
        package, version, architecture = installed(name, "${Package} ${Version} ${Architecture}").split()
        purl = f"pkg:deb/debian/{package}@{quote(version, safe='')}?arch={architecture}"
        components.append(component("library", package, version, purl))
        status = root / "var/lib/dpkg/status.d" / package
        status.parent.mkdir(parents=True, exist_ok=True)
        status.write_text(subprocess.run(["dpkg", "--status", name], capture_output=True, text=True, check=True).stdout)
        if (licence := Path("/usr/share/doc", package, "copyright")).exists():
            copy_file(licence, root)
    return components


def component(kind: str, name: str, version: str, purl: str) -> dict[str, str]:
    """Give an entry of the SBOM."""
    return {"type": kind, "name": name, "version": version, "bom-ref": purl, "purl": purl}


def installed(name: str, form: str) -> str:
    """Give what Debian's database says of an installed package, in a form of `dpkg-query`."""
    command = ["dpkg-query", "--show", f"--showformat={form}", name]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def version_of_dialwatch(venv: Path) -> str:
    """Give the version that is installed in the environment."""
    (information,) = venv.glob("lib/python*/site-packages/dialwatch-*.dist-info")
    return information.name.removesuffix(".dist-info").removeprefix("dialwatch-")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
