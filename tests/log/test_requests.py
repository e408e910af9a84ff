import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from headrace.core.errors import (
    BrokerUnavailableError,
    EventTooLargeError,
    RemoteError,
    RequestError,
    RequestTimeoutError,
    UnknownTopicError,
)
from headrace.log import Consumer, Producer, Requester, Responder


@contextmanager
def serving(topic, handler, **options):
    with Responder(topic, handler, **options) as responder:
        thread = threading.Thread(target=responder.run)
        thread.start()
        try:
            yield responder
        finally:
            responder.stop()
            thread.join()


def double(request):
    return {"twice": request.value["n"] * 2}


def test_each_request_gets_its_own_reply(topic):
    with serving(topic, double), Requester(topic) as requester:
        assert requester.request({"n": 21}) == {"twice": 42}
        assert requester.request({"n": 1}, key="k") == {"twice": 2}


def test_many_requests_in_flight_from_many_threads(topic):
    with serving(topic, double), Requester(topic) as requester:
        futures = [requester.submit({"n": n}) for n in range(1000)]
        assert [future.result()["twice"] for future in futures] == [2 * n for n in range(1000)]
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda n: requester.request({"n": n})["twice"], range(100)))
        assert answers == [2 * n for n in range(100)]


def test_requesters_do_not_get_each_others_replies(topic):
    with serving(topic, double), Requester(topic) as one, Requester(topic) as two:
        ours = [(one if n % 2 else two).submit({"n": n}) for n in range(200)]
        assert [future.result()["twice"] for future in ours] == [2 * n for n in range(200)]


def test_responders_share_the_requests(topic):
    names = set()

    def handler(name):
        def answer(request):
            names.add(name)
            time.sleep(0.01)  # the work
            return name

        return answer

    with serving(topic, handler("a")), serving(topic, handler("b")), Requester(topic) as requester:
        requester.request(0)
        deadline = time.monotonic() + 20
        while len(names) < 2 and time.monotonic() < deadline:
            for future in [requester.submit(n) for n in range(20)]:
                future.result()
    assert names == {"a", "b"}


def test_what_the_handler_raises_is_told_to_the_requester_and_the_next_request_is_served(topic):
    def picky(request):
        if request.value < 0:
            raise ValueError(f"negative: {request.value}")
        return request.value

    with serving(topic, picky), Requester(topic) as requester:
        with pytest.raises(RemoteError, match="ValueError: negative: -1"):
            requester.request(-1)
        assert requester.request(1) == 1


def test_a_reply_that_cannot_be_sent_is_told(topic):
    replies = {"large": "x" * 1_100_000, "odd": object(), "none": None}
    with serving(topic, lambda request: replies[request.value]), Requester(topic) as requester:
        with pytest.raises(RemoteError, match="the reply could not be sent"):
            requester.request("large")
        with pytest.raises(RemoteError, match="cannot be written as JSON"):
            requester.request("odd")
        assert requester.request("none") is None


def test_no_reply_in_time(topic):
    with Requester(topic, timeout="200 ms") as requester:
        begun = time.monotonic()
        with pytest.raises(RequestTimeoutError, match="is a Responder for it running"):
            requester.request(1)
        assert time.monotonic() - begun < 5


def test_requests_nobody_waits_for_any_more_are_not_handled(topic):
    handled = []
    with Requester(topic) as requester:
        with pytest.raises(RequestTimeoutError):
            requester.request("late", timeout="1 ms")
        with serving(topic, lambda request: handled.append(request.value)):
            requester.request("in time")
    assert handled == ["in time"]


def test_a_message_that_is_not_a_request_becomes_a_dead_letter(topic):
    with Producer() as producer:
        producer.send(topic, "stray")
        producer.send(topic, "half", headers={"headrace-request": "1", "headrace-reply-topic": "x"})
    with serving(topic, double), Requester(topic) as requester:
        assert requester.request({"n": 1}) == {"twice": 2}
    with Consumer(f"{topic}.dlq", follow=False, format="text") as consumer:
        letters = [(event.value, event.headers["headrace-reason"]) for event in consumer]
    assert sorted(letters) == [(v, "not a request: it does not tell where to reply") for v in ("half", "stray")]


@pytest.mark.faults
def test_when_a_responder_dies_another_answers(topic):
    program = textwrap.dedent("""
        import os, signal, sys
        from headrace.log import Responder
        def die(request):
            print("got it", flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        with Responder(sys.argv[1], die) as responder:
            responder.run()
    """)
    with (
        subprocess.Popen([sys.executable, "-c", program, topic], stdout=subprocess.PIPE, text=True) as victim,
        Requester(topic) as requester,
    ):
        waiting = [requester.submit({"n": n}) for n in range(5)]
        assert victim.stdout.readline() == "got it\n"
        victim.wait()
        with serving(topic, double):
            assert [future.result(timeout=25) for future in waiting] == [{"twice": 2 * n} for n in range(5)]


def test_closing_fails_what_is_still_waited_for(topic):
    requester = Requester(topic)
    waiting = requester.submit(1)
    requester.close()
    with pytest.raises(RequestError, match="closed before the reply came"):
        waiting.result()
    with pytest.raises(RequestError, match="is closed"):
        requester.submit(2)


def test_wrong_requests(topic):
    with pytest.raises(UnknownTopicError):
        Requester(f"{topic}s")
    with Requester(topic) as requester, pytest.raises(EventTooLargeError):
        requester.request("x" * 1_100_000)
    with pytest.raises(BrokerUnavailableError):
        Requester(topic, brokers="127.0.0.1:1")


def test_a_handler_that_takes_too_long_ends_no_responder(topic):
    slow = threading.Event()

    def answer(request):
        if request.value == "slow":
            slow.wait(1.6)
        return request.value

    with serving(topic, answer, timeout="1 second"), Requester(topic) as requester:
        requester.request("quick")
        assert requester.request("slow") == "slow"
        assert requester.request("quick again") == "quick again"


def test_a_responder_may_be_closed_while_it_runs_and_twice(topic):
    responder = Responder(topic, double)
    thread = threading.Thread(target=responder.run)
    thread.start()
    responder.close()
    thread.join(10)
    assert not thread.is_alive()
    responder.close()


def test_closing_does_not_wait_for_a_broker_that_is_away(topic):
    requester = Requester(topic, config={"linger.ms": 60_000})  # what it sends stays in the buffer
    waiting = requester.submit(1)
    begun = time.monotonic()
    requester.close()
    assert time.monotonic() - begun < 10
    with pytest.raises(RequestError):
        waiting.result()
