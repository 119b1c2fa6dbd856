"""Collector: turns log lines of DIAL and signals of people into rows of the lake."""

import lazy_loader

# Each name is imported when it is first used: see the stub __init__.pyi beside this file.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
