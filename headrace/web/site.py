"""What all requests share."""

from collections.abc import Mapping

import anyio

from headrace.core.settings import Settings
from headrace.web.alerts import Alerts
from headrace.web.ledgers import Ledgers
from headrace.web.log import Log
from headrace.web.reports import Report
from headrace.web.sampler import Sampler
from headrace.web.streams import Streams
from headrace.web.views import Views
from headrace.web.watch import LogWatch

_AT_ONCE = 24  # requests that wait for the log or for programs; more wait for these
_QUERIES = 4  # of SQL at once, which may take seconds each


class Site:
    """The server's memory and its connections, from its start to its end.

    Attributes:
        threads: Where requests are worked on: one that waits holds up no other.
        sql: Where queries of tables are, so that slow ones hold up nothing but each other.
    """

    def __init__(self, settings: Settings, reports: Mapping[str, Report]) -> None:
        self.settings = settings
        self.reports = reports
        self.log = Log(settings)
        self.watch = LogWatch(self.log)
        self.alerts = Alerts(self.log)
        self.views = Views(settings, self.log)
        self.ledgers = Ledgers(self.log)
        self.sampler = Sampler(settings, self.log, self.watch, self.alerts)
        self.streams = Streams()
        self.threads = anyio.CapacityLimiter(_AT_ONCE)
        self.sql = anyio.CapacityLimiter(_QUERIES)

    def start(self) -> None:
        """Begin to watch."""
        self.sampler.start()

    def stop(self) -> None:
        """End all streams, and let go of everything."""
        self.streams.ending.set()
        self.sampler.stop()
        self.views.close()
        self.alerts.close()
        self.watch.close()
