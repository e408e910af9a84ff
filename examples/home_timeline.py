"""Home timeline: for everybody, the posts of those whom they follow, kept right while both change.

Shows two tables and the join that is maintained of them. Whoever follows an author sees what is there already, and sees
it no more after unfollowing; a post that is edited changes for all its readers, and one that is deleted vanishes for
them. Many rows join with many, by a column that is the key of neither table.

A row of a table is deleted by an event without a value. Every run tells the same changes: a table to which a row is
written twice has it once.

Run it: ``python examples/home_timeline.py``
"""

from collections import defaultdict
from datetime import UTC, datetime
from typing import Any

import headrace as hr
from headrace.log import Consumer, Producer, Topics

POSTS = "example-posts"
FOLLOWS = "example-follows"
TIMELINE = "example-home-timeline"

app = hr.App("example-home-timeline")

posts = app.table(POSTS, schema="post string, author string, text string, at timestamp", key="post")
follows = app.table(FOLLOWS, schema="follower string, author string", key=("follower", "author"))
follows.join(posts, on="author").to(TIMELINE)  # the key is that of both: follower, author and post

Change = tuple[str, Any, dict[str, Any] | None]  # topic, key, row


def post(number: int, author: str, text: str) -> Change:
    at = datetime(2024, 5, 1, 9, number, tzinfo=UTC)
    return POSTS, f"p{number}", {"post": f"p{number}", "author": author, "text": text, "at": at}


def follow(follower: str, author: str) -> Change:
    row = {"follower": follower, "author": author}
    return FOLLOWS, row, row


def delete(number: int) -> Change:
    return POSTS, f"p{number}", None


def unfollow(follower: str, author: str) -> Change:
    return FOLLOWS, {"follower": follower, "author": author}, None


MORNING = [
    post(1, "ann", "The mill stands still."),
    post(2, "bob", "Rain at last!"),
    post(3, "ann", "The wheel turns again."),
    post(4, "cyd", "Bread is redy."),
    *(follow("bob", author) for author in ("ann", "cyd")),
    *(follow("dee", author) for author in ("ann", "bob", "cyd")),
]
NOON = [post(4, "cyd", "Bread is ready."), delete(1), unfollow("dee", "bob")]


def create_topics() -> None:
    with Topics() as topics:
        for topic in (POSTS, FOLLOWS):
            topics.create(topic, partitions=2, compact=True, exist_ok=True)


def timelines() -> dict[str, list[dict[str, Any]]]:
    """Return the current rows of each follower, the newest post first: of the rows of one key, the last one holds."""
    latest: dict[str | None, dict[str, Any] | None] = {}
    with Consumer(TIMELINE, follow=False) as rows:
        for row in rows:
            latest[row.key] = row.value  # None where the row was deleted
    found = defaultdict(list)
    for value in sorted((row for row in latest.values() if row), key=lambda row: row["at"], reverse=True):
        found[value["follower"]].append(value)
    return found


def main() -> None:
    create_topics()
    with Producer() as producer, app.start() as run:
        for told, changes in (("in the morning", MORNING), ("at noon", NOON)):
            for topic, key, row in changes:
                producer.send(topic, row, key=key)
            producer.flush()
            run.drain()  # wait until all that is there has been processed
            for follower, rows in sorted(timelines().items()):
                shown = " | ".join(f"{row['author']}: {row['text']}" for row in rows)
                print(f"{follower} {told}: {shown}")


if __name__ == "__main__":
    main()
