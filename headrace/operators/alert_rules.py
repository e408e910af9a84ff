"""Rules of alerts, and the life of one rule for one key: quiet, holding for a while, firing, resolved."""

import math
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import Literal

QUIET, HOLDING, FIRING = 0, 1, 2
SLOTS = 64  # parts of the span of a change of which one sample each is kept, however many rows come
GRACE = 10 * 60 * 1000  # milliseconds for which a row of a quiet key is known although none is expected before it
State = Literal["firing", "resolved"]


@dataclass(frozen=True)
class Change:
    """How much a value may change within a time.

    Attributes:
        value: The column with the value.
        over: With what was so many milliseconds ago it is compared.
        above: A change greater than this fires.
        below: A change less than this fires.
        relative: Whether the change is a part of the earlier value.
    """

    value: str
    over: int
    above: float | None = None
    below: float | None = None
    relative: bool = False

    def fires(self, before: float, now: float) -> bool:
        """Whether the value has changed by too much."""
        change = now - before
        if self.relative and change:
            change = change / abs(before) if before else math.copysign(math.inf, change)
        return (self.above is not None and change > self.above) or (self.below is not None and change < self.below)


@dataclass(frozen=True)
class Rule:
    """When an alert fires and when it resolves; one of ``when``, ``absent`` and ``change`` says it.

    Attributes:
        name: Of the rule.
        severity: Is passed on.
        message: A template over the columns of the row.
        per: The columns of its key.
        group: By which of the keys of a row the rule goes.
        by_log: Whether the rows of a key come in their order; otherwise they are ordered by time, and one that is older
            than another before tells nothing new. The same for all rules of a group.
        when: The column that says whether the condition holds.
        until: The column that says whether it resolves, once the condition holds no more; at once unless told.
        lasting: For how many milliseconds the condition must hold.
        absent: After how many milliseconds without a row it fires.
        change: A change of a value as the condition.
        made: What the samples and times kept for it were made by; where it differs they are forgotten.
    """

    name: str
    severity: str = "warning"
    message: str = ""
    per: tuple[str, ...] = ()
    group: int = 0
    by_log: bool = False
    when: str | None = None
    until: str | None = None
    lasting: int = 0
    absent: int | None = None
    change: Change | None = None
    made: str = ""


@dataclass(frozen=True, slots=True)
class News:
    """What happened to an alert: the row that made it fire is what the message tells of."""

    state: State
    since: int
    place: int
    at: int
    row: str | None
    told: str | None


@dataclass(slots=True)
class Seen:
    """A row as the rule sees it, its time in milliseconds; ``before`` is that of the row before it in the batch."""

    at: int
    place: int
    row: str | None
    holds: bool = False
    ends: bool = False
    gone: bool = False
    value: float | None = None
    before: int = -1


@dataclass(slots=True)
class Life:
    """What is known of a rule and a key.

    A condition holds from the row that says so until the row that says otherwise. It fires where no row contradicts up
    to, and with, the last moment of the time that it must last.

    Attributes:
        rule: The rule.
        state: Quiet, holding or firing.
        began: Since when it is holding or firing.
        place: In the log, of the row since which it is: two may begin in one millisecond.
        last: The time of the newest row, -1 if there was none.
        row: The newest row; while firing, the one with which it began to.
        samples: Earlier values with their times.
        news: What happened since this was read.
    """

    rule: Rule
    state: int = QUIET
    began: int = -1
    place: int = 0
    last: int = -1
    row: str | None = None
    samples: list[tuple[int, float]] = field(default_factory=list)
    news: list[News] = field(default_factory=list)

    def see(self, seen: Seen) -> None:
        """Take the next row."""
        if seen.at < self.last:
            if not self.rule.by_log:
                return
            seen.at = self.last
        if self.last >= 0:
            self.last = max(self.last, seen.before)  # rows at which nothing happened are not shown
        self.tick(seen.at - 1)
        if seen.gone:
            self._forget(seen.at)
            return
        self.last = seen.at
        if self.rule.absent is not None:
            if self.state == FIRING:
                self._resolve(seen.at, seen.row)
            self.row, self.place = seen.row, seen.place
            return
        if self.rule.change is not None and not self._compared(self.rule.change, seen):
            return
        self._judge(seen)

    def tick(self, now: int) -> None:
        """Let time go on up to ``now``, in which no row came."""
        due = self.due
        if due is not None and due <= now:
            self._fire(self.began if self.state == HOLDING else self.last, due)

    @property
    def due(self) -> int | None:
        """Return when it fires if no row comes."""
        if self.state == HOLDING:
            return self.began + self.rule.lasting
        if self.state == QUIET and self.rule.absent is not None and self.last >= 0:
            return self.last + self.rule.absent
        return None

    def matters(self, now: int) -> bool:
        """Whether anything must be remembered, where rows up to ``now`` are no longer expected, but may come."""
        waits = self.rule.absent is not None and self.last >= 0
        recent = not self.rule.by_log and self.last > now - GRACE
        return self.state != QUIET or waits or bool(self.samples) or recent

    def _judge(self, seen: Seen) -> None:
        if self.state == FIRING:
            if seen.ends:
                self._resolve(seen.at, seen.row)
            return
        self.row = seen.row if seen.holds else None
        if not seen.holds:
            self.state = QUIET
            return
        if self.state == QUIET:
            self.state, self.began, self.place = HOLDING, seen.at, seen.place
        self.tick(seen.at)

    def _compared(self, change: Change, seen: Seen) -> bool:
        """Compare a value with the earlier one; False if there is none."""
        if seen.value is None or math.isnan(seen.value):
            return False
        slot = seen.at * SLOTS // change.over
        found = bisect_right(self.samples, slot - SLOTS, key=lambda sample: sample[0] * SLOTS // change.over) - 1
        holds = found >= 0 and change.fires(self.samples[found][1], seen.value)
        del self.samples[: max(0, found)]
        if self.samples and self.samples[-1][0] * SLOTS // change.over == slot:
            self.samples.pop()
        self.samples.append((seen.at, seen.value))
        seen.holds, seen.ends = holds, not holds and (seen.ends or self.rule.until is None)
        return True

    def _fire(self, since: int, at: int) -> None:
        self.state, self.began = FIRING, since
        self.news.append(News("firing", since, self.place, at, self.row, self.row))

    def _resolve(self, at: int, row: str | None) -> None:
        span = self.rule.lasting if self.rule.absent is None else self.rule.absent
        self.news.append(News("resolved", self.began, self.place, max(at, self.began + span), row, self.row))
        self.state, self.row = QUIET, None

    def _forget(self, at: int) -> None:
        """Take note that the row was deleted: nothing holds any more."""
        if self.state == FIRING:
            self._resolve(at, self.row)
        self.state, self.row, self.samples = QUIET, None, []
        self.last = -1
