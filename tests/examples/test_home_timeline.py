"""The home timeline, against a database that is asked anew after every batch of changes."""

import random
import sqlite3
from collections.abc import Iterator

import headrace as hr
from examples.home_timeline import FOLLOWS, POSTS, TIMELINE, app, follow, post
from headrace.testing import TestDriver

PEOPLE = ("ann", "bob", "cyd", "dee")
BATCHES, PER_BATCH = 3, 50
SELECT = """
    select follower, author, post, text, at from follows join posts using (author) order by follower, author, post
"""


class Tables:
    """The two tables as they are now."""

    def __init__(self) -> None:
        self._base = sqlite3.connect(":memory:")
        self._base.execute("create table posts (post text primary key, author text, text text, at text)")
        self._base.execute("create table follows (follower text, author text, primary key (follower, author))")

    def apply(self, topic: str, change: dict[str, object] | hr.Delete) -> None:
        if topic == POSTS and isinstance(change, hr.Delete):
            self._base.execute("delete from posts where post = ?", [change.key])
        elif topic == POSTS:
            self._base.execute("insert or replace into posts values (:post, :author, :text, :at)", _plain(change))
        elif isinstance(change, hr.Delete):
            self._base.execute("delete from follows where follower = :follower and author = :author", change.key)
        else:
            self._base.execute("insert or replace into follows values (:follower, :author)", change)

    def timeline(self) -> list[tuple[str, ...]]:
        return self._base.execute(SELECT).fetchall()

    def close(self) -> None:
        self._base.close()


def _plain(row: dict[str, object]) -> dict[str, str]:
    return {name: str(value) for name, value in row.items()}


def changes(chance: random.Random) -> Iterator[tuple[str, dict[str, object] | hr.Delete]]:
    """Yield random changes: few keys, so that rows are changed, deleted, created again and told twice."""
    for step in range(PER_BATCH):
        kind = chance.choice(("post", "post", "delete", "follow", "follow", "unfollow", "again"))
        number, author, follower = chance.randrange(1, 13), chance.choice(PEOPLE), chance.choice(PEOPLE)
        if kind in ("post", "again"):  # another author too: then the key is used anew
            topic, _, row = post(number, author, f"text {step if kind == 'post' else 0}")
            yield topic, row
            if kind == "again":
                yield topic, hr.Delete(row["post"])
                yield topic, row
                yield topic, row
        elif kind == "delete":
            yield POSTS, hr.Delete(f"p{number}")
        else:
            topic, key, row = follow(follower, author)
            yield topic, row if kind == "follow" else hr.Delete(key)


def test_the_timeline_is_what_the_database_says_after_each_batch_of_random_changes():
    chance, tables, lengths = random.Random(7), Tables(), []
    with TestDriver(app) as t:
        for _ in range(BATCHES):
            batch = list(changes(chance))
            for topic, change in batch:
                tables.apply(topic, change)
            for topic in (POSTS, FOLLOWS):
                t.send(topic, [change for name, change in batch if name == topic])
            found = sorted(tuple(map(str, row.values())) for row in t.table(TIMELINE))
            assert found == tables.timeline()
            lengths.append(len(found))

        t.send(FOLLOWS, [hr.Delete({"follower": one, "author": other}) for one in PEOPLE for other in PEOPLE])
        assert t.table(TIMELINE) == []
        assert t.dead_letters() == []
    tables.close()
    assert min(lengths) > 5


def test_a_follower_sees_what_is_there_its_edits_and_its_end():
    written, edited = post(1, "ann", "Helo")[2], post(1, "ann", "Hello")[2]
    _, key, bob = follow("bob", "ann")
    with TestDriver(app) as t:
        t.send(POSTS, [written, post(2, "cyd", "Good morning")[2]])
        assert t.read(TIMELINE) == []  # nobody follows anybody
        t.send(FOLLOWS, bob)
        assert t.read(TIMELINE) == [{**bob, **written}]
        t.send(POSTS, edited)
        assert t.read(TIMELINE) == [{**bob, **edited}]
        gone = hr.Delete({**key, "post": "p1"})
        t.send(FOLLOWS, hr.Delete(key))
        assert t.read(TIMELINE) == [gone]
        t.send(FOLLOWS, bob)
        assert t.read(TIMELINE) == [{**bob, **edited}]
        t.send(POSTS, hr.Delete("p1"))
        assert t.read(TIMELINE) == [gone]
