"""Imports every module of dialwatch, and stores the bytecode of all that this imports.

It runs inside of the image's root, so it fails if something that is needed was left out. Modules that need an extra
which is not installed are passed over, and named. The root is read only later: what is not compiled here is compiled at
each start. The bytecode says nothing of times, so that the same sources give the same image.

Bytecode of other packages takes the place of their source, which is as large: a traceback has their lines as numbers
alone.
"""

import importlib
import pkgutil
import py_compile
import sys
import sysconfig
from pathlib import Path

OURS = ("dialwatch", "collector", "evaluator", "monitor", "lake", "runtime")
# Uvicorn imports them when it starts.
OF_UVICORN = ("uvicorn.lifespan.on", "uvicorn.protocols.http.auto", "uvicorn.loops.auto")
OF_EXTRAS = {"torch", "transformers", "huggingface_hub", "ray", "presidio_analyzer", "spacy"}
SITE = Path(sysconfig.get_path("purelib"))


def import_all() -> None:
    """Import every module; raise what one of them raises."""
    for package in OURS:
        for module in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    for name in OF_UVICORN:
        importlib.import_module(name)


def import_module(name: str) -> None:
    """Import a module, unless it needs an extra that is not installed."""
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name not in OF_EXTRAS:
            raise
        print(f"{name} needs {missing.name}, which is not in this image")


def store_bytecode(source: Path) -> None:
    """Compile a module; of other packages its bytecode stays alone."""
    form = py_compile.PycInvalidationMode.UNCHECKED_HASH
    if SITE in source.parents and source.relative_to(SITE).parts[0] not in OURS:
        py_compile.compile(str(source), cfile=f"{source}c", doraise=True, invalidation_mode=form)
        source.unlink()
    else:
        py_compile.compile(str(source), doraise=True, invalidation_mode=form)


import_all()
for path in {getattr(module, "__file__", None) for module in list(sys.modules.values())}:
    if path and path.endswith(".py"):
        store_bytecode(Path(path))
