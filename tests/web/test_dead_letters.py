import pytest

from headrace.log import Consumer, Producer
from headrace.log.dead_letters import DeadLetters
from tests.web.conftest import until


@pytest.fixture
def dead(topic, brokers):
    """A hundred letters, put aside with reasons; the topic of letters."""
    with Producer() as producer:
        for n in range(100):
            producer.send(topic, {"n": n}, key=str(n), headers={"trace": "a"}, partition=0)
    aside = DeadLetters(topic, brokers)
    with Consumer(topic, follow=False) as consumer:
        for event in consumer:
            aside.put(event, f"<b>reason</b> {event.value['n']}")
    aside.close()
    return aside.topic


def replayed(topic):
    with Consumer(topic, follow=False) as consumer:
        return [event for event in consumer if "headrace-replayed-from" in event.headers]


def listed(ui, dead):
    return next((one for one in ui.get("/api/dead-letters") if one["topic"] == dead), None)


def test_letters_are_listed_with_reason_and_source(ui, dead, topic):
    until(lambda: (found := listed(ui, dead)) is not None and found["events"] == 100)
    assert listed(ui, dead)["source"] == topic
    answer = ui.get(f"/api/dead-letters/{dead}", limit=10)
    first = answer["letters"][0]
    assert (first["offset"], first["reason"], first["replayed"]) == (99, "<b>reason</b> 99", False)
    assert first["source"] == {"topic": topic, "partition": 0, "offset": 99}
    assert (first["value"], first["key"], first["headers"]["trace"]) == ({"n": 99}, "99", "a")
    assert listed(ui, dead)["newest"] == first["time"]


def test_older_letters_come_page_by_page(ui, dead):
    seen, before = [], {}
    while True:
        answer = ui.get(f"/api/dead-letters/{dead}", limit=40, **before)
        seen += [letter["offset"] for letter in answer["letters"]]
        if not answer["more"]:
            break
        before = {"before": str(answer["before"]).replace("'", '"')}
    assert seen == list(range(99, -1, -1))


def test_letters_are_replayed_once(ui, dead, topic):
    places = [{"partition": 0, "offset": n} for n in (3, 4, 99)]
    answer = ui.post(f"/api/dead-letters/{dead}/replay", {"places": places})
    assert (answer.status, answer.json) == (200, {"replayed": 3})
    assert sorted(event.value["n"] for event in replayed(topic)) == [3, 4, 99]
    marked = [one["offset"] for one in ui.get(f"/api/dead-letters/{dead}", limit=100)["letters"] if one["replayed"]]
    assert marked == [99, 4, 3]
    again = ui.post(f"/api/dead-letters/{dead}/replay", {"places": places[:1]})
    assert (again.status, "replayed already" in again.json["error"]) == (409, True)
    asked = ui.post(f"/api/dead-letters/{dead}/replay", {"places": places[:1], "again": True})
    assert asked.json == {"replayed": 1}


def test_a_letter_is_mended_and_replayed(ui, dead, topic):
    body = {"places": [{"partition": 0, "offset": 5}], "value": '{"n": -5}'}
    assert ui.post(f"/api/dead-letters/{dead}/replay", body).json == {"replayed": 1}
    assert [(event.value, event.key) for event in replayed(topic)] == [({"n": -5}, "5")]
    large = {"places": [{"partition": 0, "offset": 6}], "value": "x" * 1_100_000}
    answer = ui.post(f"/api/dead-letters/{dead}/replay", large)
    assert (answer.status, "too large" in answer.json["error"]) == (413, True)
    assert len(replayed(topic)) == 1


def test_what_cannot_be_replayed_is_told(ui, dead, topic):
    places = [{"partition": 0, "offset": 12345}]
    answer = ui.post(f"/api/dead-letters/{dead}/replay", {"places": places})
    assert (answer.status, "there is no letter at offset 12345" in answer.json["error"]) == (409, True)
    assert ui.post(f"/api/dead-letters/{topic}/replay", {"places": places}).status == 400
    assert ui.answer(f"/api/dead-letters/{topic}").status == 400
    assert ui.answer("/api/dead-letters/nothing.dlq").status == 404


def test_what_was_put_aside_of_late_is_a_problem_on_the_overview(ui, dead):
    def told():
        return [problem["name"] for problem in ui.get("/api/overview")["problems"]]

    ui.get("/api/topics")
    with Producer() as producer:
        producer.send(dead, {"n": 100})
    until(lambda: dead in told())
