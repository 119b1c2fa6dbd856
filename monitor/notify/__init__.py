"""Notifications of alerts: signed webhooks and mail that are tried until they arrive, and Alertmanager."""

import lazy_loader

# Each name is imported when it is first used: see the stub __init__.pyi beside this file.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
