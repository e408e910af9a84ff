"""What will happen, and what will be sent, each at its time."""

from collections.abc import Callable
from datetime import datetime
from heapq import heappop, heappush

from examples.retail.simulator.sent import Sent

Action = Callable[[datetime], None]


class Agenda:
    """Actions and events by time; those of the same time in the order in which they were noted."""

    def __init__(self, now: datetime) -> None:
        self.now = now
        self._count = 0
        self._actions: list[tuple[datetime, int, Action]] = []
        self._outbox: list[tuple[datetime, int, Sent]] = []

    def at(self, time: datetime, action: Action) -> None:
        """Have something done at a time, with that time as its argument."""
        self._count += 1
        heappush(self._actions, (time, self._count, action))

    def send(self, *events: Sent) -> None:
        """Have events sent when they are due."""
        for event in events:
            self._count += 1
            heappush(self._outbox, (event.due, self._count, event))

    @property
    def next(self) -> datetime:
        """Return when the next action is due; there always is one."""
        return self._actions[0][0]

    def act(self) -> None:
        """Do what is next."""
        self.now, _, action = heappop(self._actions)
        action(self.now)

    def sent(self, until: datetime) -> list[Sent]:
        """Take out the events that are sent up to a time, in their order."""
        found = []
        while self._outbox and self._outbox[0][0] <= until:
            found.append(heappop(self._outbox)[2])
        return found
