"""The evaluator: scores what is new in the lake, and turns liked answers into ground truth.

`evaluator.metrics` is a library of its own: importing it loads nothing of the service, nor the lake.
"""

import lazy_loader

# Each name is imported when it is first used: see the stub __init__.pyi beside this file.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
