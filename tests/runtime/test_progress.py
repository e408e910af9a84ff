from headrace.runtime.progress import distance, merged, parse, to_millis

ENTRY = {
    "batchId": 3,
    "numInputRows": 7,
    "durationMs": {"addBatch": 10, "triggerExecution": 250},
    "eventTime": {"watermark": "2024-05-01T10:00:00.500Z"},
    "stateOperators": [
        {"numRowsTotal": 2, "numRowsDroppedByWatermark": 1},
        {"numRowsTotal": 5, "numRowsDroppedByWatermark": 0},
    ],
    "observedMetrics": {"dead-0": {"dead": 4}},
    "sources": [
        {"startOffset": {"a": {"0": 1}}, "endOffset": {"a": {"0": 5}}, "latestOffset": {"a": {"0": 9}}},
        {"startOffset": None, "endOffset": {"b": {"0": 2, "1": 3}}, "latestOffset": {"b": {"0": 2, "1": 4}}},
    ],
}


def test_an_entry_of_spark_in_our_terms():
    entry = parse(ENTRY)
    assert (entry.batch, entry.rows, entry.seconds, entry.state) == (3, 7, 0.25, 7)
    assert (entry.dropped, entry.dead, entry.lag) == (1, 4, 5)
    assert entry.watermark == 1714557600500
    assert entry.begin == {"a": {"0": 1}}
    assert entry.end == {"a": {"0": 5}, "b": {"0": 2, "1": 3}}


def test_two_sources_on_one_topic_span_what_either_has_read():
    sources = [{"startOffset": {"a": {"0": 5}}}, {"startOffset": {"a": {"0": 3}}}]
    assert merged(sources, "startOffset") == {"a": {"0": 3}}
    assert merged([{"endOffset": s["startOffset"]} for s in sources], "endOffset") == {"a": {"0": 5}}


def test_the_distance_counts_new_partitions_whole_and_never_below_zero():
    assert distance({"a": {"0": 5}}, {"a": {"0": 7, "1": 4}}) == 6
    assert distance({"a": {"0": 5}}, {"a": {"0": 3}}) == 0


def test_no_time_is_zero():
    assert to_millis(None) == 0
    assert to_millis("1969-12-31T23:59:59.000Z") == 0
