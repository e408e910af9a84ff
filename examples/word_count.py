"""Word count: lines of text become words, and words become counts.

Shows a text topic, `explode`, and an aggregation over all time whose rows are sent whenever they change. The counts are
kept between runs: run it twice, and they double.

Run it: ``python examples/word_count.py``
"""

import headrace as hr
from headrace.log import Consumer, Producer, Topics

LINES = "example-lines"
COUNTS = "example-word-counts"

app = hr.App("example-word-count")

lines = app.stream(LINES, format="text")
words = lines.select(word="split(lower(value), '[^a-z]+')").explode("word").filter("word != ''")
words.group_by("word").agg(times="count(*)").to(COUNTS)


def sample_lines() -> list[str]:
    """Return a few lines, always the same."""
    subjects = ("The river", "The mill", "The old miller")
    verbs = ("turns the wheel", "waits for the rain", "hears the river")
    return [f"{subject} {verb}." for subject in subjects for verb in verbs]


def send(texts: list[str]) -> None:
    with Topics() as topics:
        topics.create(LINES, partitions=2, exist_ok=True)
    with Producer() as producer:
        for text in texts:
            producer.send(LINES, text)


def counts() -> dict[str, int]:
    """Return the latest count of each word: of the rows of one key, the last one holds."""
    with Consumer(COUNTS, follow=False) as rows:
        return {row.key: row.value["times"] for row in rows if row.key is not None}


def main() -> None:
    texts = sample_lines()
    send(texts)
    app.run(drain=True)  # process all that is there, then end

    found = counts()
    print(f"sent {len(texts)} lines; {len(found)} different words so far")
    for word, times in sorted(found.items(), key=lambda item: (-item[1], item[0]))[:5]:
        print(f"{word:<8}{times:>4}")


if __name__ == "__main__":
    main()
