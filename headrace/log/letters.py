"""Dead letters and late events, read with their reasons and sent once more to where they came from."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from headrace.core.codec import encode
from headrace.core.errors import ReplayError, UnknownTopicError
from headrace.log.connection import connect
from headrace.log.event import Event
from headrace.log.letter import (
    RECEIVED,
    Headers,
    Ledger,
    Letter,
    Place,
    Source,
    check_ledger,
    is_ledger,
    own_headers,
    received,
    source_of,
)
from headrace.log.producer import Producer
from headrace.log.reader import Offsets, Reader
from headrace.log.replays import REPLAYS, Replays
from headrace.log.search import Found, Wanted, backward
from headrace.log.topics import Topics

REPLAYED_FROM = "headrace-replayed-from"
MOST = 1000  # letters replayed at once
_COUNTED = 1000  # offsets up to which letters are counted one by one: transactions leave markers between them
_NEAR = 100  # offsets between two letters that are read through instead of skipped
_ROOM = {"message.max.bytes": 1_048_000}  # the mark of where it came from may be more than the event had left
Shown = TypeVar("Shown")


class _Original(NamedTuple):
    """What an event had where it came from, and no letter of a program on Spark has."""

    headers: Headers
    received: int


class Letters:
    """Reads what was put aside, in ``<topic>.dlq`` and ``<app>.late``, and replays it.

    Example:
        >>> with Letters() as letters:  # doctest: +SKIP
        ...     for letter in letters.newest("orders.dlq").events:
        ...         print(letter.reason)
        ...     letters.replay("orders.dlq", [Place(0, 12)])
    """

    def __init__(self, brokers: str | None = None, config: Mapping[str, Any] | None = None) -> None:
        self._brokers: str = connect(brokers, config, start=False)["bootstrap.servers"]
        self._config = config
        self._reader = Reader(self._brokers, config)
        self._replays = Replays(self._reader, self._brokers, config)

    def ledgers(self) -> list[Ledger]:
        """Return the topics of letters, the one with the newest first."""
        with Topics(self._brokers, config=self._config) as topics:
            names = [topic.name for topic in topics.list() if is_ledger(topic.name)]
        found: list[Ledger] = []
        for name in names:
            with suppress(UnknownTopicError):  # deleted meanwhile
                found.append(self.ledger(name))
        return sorted(found, key=lambda ledger: ledger.newest.timestamp() if ledger.newest else 0.0, reverse=True)

    def ledger(self, topic: str) -> Ledger:
        """Return what a topic of letters holds; of more than some thousand, offsets are counted."""
        bounds = self._reader.bounds(check_ledger(topic))
        events = sum(held.end - held.first for held in bounds.values())
        few = events <= _COUNTED
        found = backward(self._reader, topic, Wanted(_COUNTED if few else 1), lambda event: event.timestamp)
        newest = max(found.events, default=None)
        return Ledger(topic, source_of(topic), len(found.events) if few else events, newest)

    def newest(self, topic: str, *, before: Offsets | None = None, limit: int = 50) -> "Found[Letter]":
        """Return the newest letters, or those before given offsets, oldest first."""
        return self.search(topic, lambda letter: letter, before=before, limit=limit)

    def search(
        self, topic: str, show: Callable[[Letter], Shown], *, before: Offsets | None = None, limit: int = 50
    ) -> "Found[Shown]":
        """Like `newest`, each letter as ``show`` makes it while it is read: large ones need not be kept."""
        marks = self._replays.of(check_ledger(topic))

        def shown(event: Event) -> Shown:
            return show(Letter.of(event, (event.partition, event.offset) in marks))

        return backward(self._reader, topic, Wanted(limit), shown, before)

    def waiting(self, topic: str) -> Iterator[list[Place]]:
        """Yield the places of all letters that were not replayed yet and can be, some hundred at a time."""
        marks = self._replays.of(check_ledger(topic))
        bounds = self._reader.bounds(topic)
        begin, end = ({n: held[side] for n, held in bounds.items()} for side in (0, 1))
        found = (Letter.of(event, False) for event in self._reader.between(topic, begin, end))
        places = [letter.place for letter in found if letter.place not in marks and letter.trouble is None]
        for first in range(0, len(places), MOST // 2):
            yield places[first : first + MOST // 2]

    def replay(self, topic: str, places: Iterable[Place], *, value: str | None = None, again: bool = False) -> int:
        """Send letters to the topics they came from, and note that it was done; all of them or none.

        An event has the key, the value, its own headers and the partition that it had, and the headers
        ``headrace-replayed-from`` and ``headrace-received``: when the log first had it, or when it was put aside if it
        is no longer where it was. Everybody who reads the topic gets it, also those who could handle it before.

        Args:
            topic: Where the letters lie.
            places: Which ones, at most 1,000.
            value: Send this instead of the value, where only one is replayed.
            again: Also those that were replayed before.

        Returns:
            How many were sent.

        Raises:
            ReplayError: Some were replayed already, do not exist, or cannot be sent back; nothing was sent.
        """
        wanted = _checked(topic, places, value)
        letters = [Letter.of(event, False) for event in self._at(check_ledger(topic), wanted)]
        if missing := set(wanted) - {letter.place for letter in letters}:
            raise ReplayError(f"there is no letter at {min(missing)} of {topic!r}, or it is there no more")
        for letter in letters:
            if trouble := letter.trouble:
                raise ReplayError(f"the letter at {letter.place} of {topic!r} cannot be replayed: {trouble}")
        originals = self._originals(letters)
        counts = {
            topic: len(self._reader.bounds(topic)) for topic in {one.source.topic for one in letters if one.source}
        }
        self._replays.prepare()
        name = f"headrace-replay-{topic}"  # a second one that replays the same topic waits for this one, or ends it
        config = {**_ROOM, **(self._config or {})}
        with Producer(self._brokers, transactional_id=name, config=config) as producer, producer.transaction():
            self._refuse_replayed(topic, wanted, again)
            for letter in letters:
                data = letter.event.raw_value if value is None else encode(value)
                _send(producer, letter, data, originals, counts)
            producer.send(REPLAYS, self._replays.mark(topic, wanted), key=topic)
        return len(letters)

    def close(self) -> None:
        """Let go of the connections."""
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self.close()

    def _at(self, topic: str, places: Sequence[Place]) -> Iterator[Event]:
        """Yield the events at given places, in order, as far as there are any."""
        wanted, bounds = set(places), self._reader.bounds(topic)
        held = [p for p in places if p.partition in bounds and p.offset in range(*bounds[p.partition])]
        for first, last in _runs(held):
            piece = {first.partition: first.offset}, {first.partition: last.offset + 1}
            for event in self._reader.between(topic, *piece):
                if (event.partition, event.offset) in wanted:
                    yield event

    def _originals(self, letters: Sequence[Letter]) -> dict[Source, _Original]:
        """Return what is known of events that are still where they came from.

        Raises:
            UnknownTopicError: A topic that they came from is no more.
        """
        aside = {letter.source: letter.event for letter in letters if letter.source is not None}
        found: dict[Source, _Original] = {}
        for topic in {source.topic for source in aside}:
            places = sorted(Place(source.partition, source.offset) for source in aside if source.topic == topic)
            for event in self._at(topic, places):
                source = Source(topic, event.partition, event.offset)
                same = event.raw_key == aside[source].raw_key and event.raw_value == aside[source].raw_value
                if same:  # and not an event of a topic that was created anew
                    found[source] = _Original(own_headers(event), received(event))
        return found

    def _refuse_replayed(self, topic: str, places: Sequence[Place], again: bool) -> None:
        marks = self._replays.of(topic)
        done = [place for place in places if place in marks]
        if done and not again:
            raise ReplayError(
                f"{len(done)} of {len(places)} letters were replayed already, the first at {done[0]}; nothing "
                "was sent. Choose others, or say 'again' (--again on the command line) to send them once more"
            )


def _checked(topic: str, places: Iterable[Place], value: str | None) -> list[Place]:
    wanted = sorted(set(places))
    if not wanted:
        raise ReplayError(f"no letters of {topic!r} were chosen; say which, by partition and offset")
    if len(wanted) > MOST:
        raise ReplayError(f"{len(wanted):,} letters are too many to replay at once; the most is {MOST:,}")
    if value is not None and len(wanted) > 1:
        raise ReplayError(f"one value is for one letter, not for {len(wanted):,}; replay them one by one")
    return wanted


def _send(
    producer: Producer,
    letter: Letter,
    value: bytes | None,
    originals: Mapping[Source, _Original],
    counts: Mapping[str, int],
) -> None:
    assert letter.source is not None
    topic, partition, _ = letter.source
    event = letter.event
    original = originals.get(letter.source, _Original([], received(event)))
    own = own_headers(event) or original.headers
    whence = f"{event.topic}/{event.partition}/{event.offset}"
    headers = [*own, (REPLAYED_FROM, whence), (RECEIVED, str(original.received))]
    here = partition if partition < counts[topic] else -1  # the topic may have been created again, with fewer
    producer.send(topic, value, key=event.raw_key, headers=headers, partition=here)


def _runs(places: Sequence[Place]) -> Iterator[tuple[Place, Place]]:
    """Yield the first and the last of places that lie near each other."""
    begin = 0
    for number, place in enumerate(places):
        following = places[number + 1] if number + 1 < len(places) else None
        if following is None or following.partition != place.partition or following.offset - place.offset > _NEAR:
            yield places[begin], place
            begin = number + 1
