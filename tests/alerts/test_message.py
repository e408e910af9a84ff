"""What people read."""

from headrace.alerts.message import Message, plain
from tests.alerts.samples import alert


def test_a_message_tells_the_worst_first_and_resolved_ones_last():
    message = Message(
        (
            alert("a", state="resolved"),
            alert("b", severity="info"),
            alert("c", severity="critical", message="the till burns"),
        )
    )
    assert message.title == "Headrace: 2 firing, 1 resolved: c, b, a"
    lines = message.body.splitlines()
    assert lines[0] == "[CRITICAL] the till burns (retail/c/S01, since 2024-05-01 10:00:00 UTC)"
    assert [line.split()[0] for line in lines] == ["[CRITICAL]", "[INFO]", "[resolved]"]
    assert message.severity == "critical"


def test_a_message_is_never_longer_than_can_be_read():
    message = Message(tuple(alert(key=f"S{n}", message="x" * 9999) for n in range(500)), more=7)
    lines = message.body.splitlines()
    assert len(lines) == 31 and len(message.body) < 40_000
    assert lines[-1] == "and 477 more; 'headrace alert list' shows them all"
    assert message.title == "Headrace: 500 firing, 7 more: low"
    told = message.payload()
    assert (len(told["alerts"]), told["more"], told["firing"]) == (100, 407, 500)


def test_a_large_row_is_left_out_of_what_programs_get():
    small, large = alert(), alert(key="S02", row={"text": "x" * 5000})
    told = Message((small, large)).payload()["alerts"]
    assert ["row" in one for one in told] == [True, False]


def test_what_terminals_and_headers_take_for_orders_is_gone():
    assert plain("a\r\nBcc: x\x1b[2J") == "a  Bcc: x [2J"
    message = Message((alert(rule="x\r\nBcc: you", message="two\nlines"),))
    assert "\n" not in message.title and "\r" not in message.title
    assert len(message.body.splitlines()) == 1
