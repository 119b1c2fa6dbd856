"""The tables where collector, evaluator and monitor meet; this package knows nothing of the three.

What programs of users need stands here; the project's own modules import each other.
"""

import lazy_loader

# Each name is imported when it is first used: see the stub __init__.pyi beside this file.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
