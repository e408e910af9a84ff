"""Properties of operators: the machine may be busy, so no example has a deadline."""

from hypothesis import settings

settings.register_profile("operators", deadline=None, derandomize=True)
settings.load_profile("operators")
