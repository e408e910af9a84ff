"""Word count, with lines given by hand."""

from examples.word_count import COUNTS, LINES, app
from headrace.testing import TestDriver


def test_words_are_counted_and_told_whenever_their_count_changes():
    with TestDriver(app) as t:
        t.send(LINES, ["The river turns.", "", "THE mill, the river!"])
        assert sorted(t.read(COUNTS), key=lambda row: row["word"]) == [
            {"word": "mill", "times": 1},
            {"word": "river", "times": 2},
            {"word": "the", "times": 3},
            {"word": "turns", "times": 1},
        ]
        t.send(LINES, "The mill")
        assert sorted(t.read(COUNTS), key=lambda row: row["word"]) == [
            {"word": "mill", "times": 2},
            {"word": "the", "times": 4},
        ]
        assert {row["word"]: row["times"] for row in t.table(COUNTS)} == {"mill": 2, "river": 2, "the": 4, "turns": 1}
