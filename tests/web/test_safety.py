"""Every attack of the safety list, tried on a real server; what guards needs no broker."""

import os
import socket
import stat
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import pytest
from starlette.routing import Route

from headrace.core.errors import AlreadyRunningError, ConfigError
from headrace.core.settings import Settings
from headrace.web.home import TOKEN, token_of
from headrace.web.safety import LARGEST, secret
from headrace.web.server import create
from headrace.web.serving import Serving, names

READING = ["/api/overview", "/api/programs", "/api/topics", "/api/live", "/api/stream?topics=a", "/metrics"]
DOING = ["/api/queries/a.b/stop", "/api/dead-letters/a.dlq/replay", "/api/tables/t/query"]
DOING += [f"/api/alerts/{what}" for what in ("ack", "resolve", "silence", "unsilence")]


def test_the_page_itself_needs_no_token(alone):
    answer = alone.ask("GET", "/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert alone.ask("GET", "/topics/orders").body == answer.body
    assert alone.ask("GET", "/static/js/main.js").headers["content-type"] == "text/javascript; charset=utf-8"


@pytest.mark.parametrize("path", READING)
def test_what_is_told_needs_the_token(alone, path):
    refused = alone.ask("GET", path)
    assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
    assert "token" in refused.json["error"]


@pytest.mark.parametrize("path", DOING)
def test_what_is_done_needs_the_token_in_the_header(alone, path):
    body = {"Content-Type": "application/json"}
    assert alone.ask("POST", path, b"{}", body).status == 401
    assert alone.ask("POST", f"{path}?token={alone.token}", b"{}", body).status == 401
    assert alone.ask("POST", path, b"{}", {**body, "Cookie": f"token={alone.token}"}).status == 401


def test_no_path_was_forgotten():
    app = create(Settings(), token="t", hosts=["localhost"])
    told = [route.path for route in app.routes if isinstance(route, Route) and not secret(route.path)]
    assert told == ["/reports/{name}/{path:path}", "/static/{path:path}", "/{page:path}"]


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer ",
        "Bearer wrong",
        "Bearer {token}x",
        "Bearer {short}",
        "Basic {token}",
        "{token}",
        "Bearer {token} {token}",
        "Bearer {token}, Bearer {token}",
        "Bearer \xff\xfe",
    ],
)
def test_a_wrong_token_is_refused(alone, given):
    header = given.format(token=alone.token, short=alone.token[:-1])
    answer = alone.ask("GET", "/api/overview", headers={"Authorization": header})
    assert answer.status == 401
    assert alone.token not in answer.body.decode()


def test_two_tokens_are_refused(alone):
    one = f"Authorization: Bearer {alone.token}\r\n"
    request = f"GET /api/overview HTTP/1.1\r\nHost: {alone.name}\r\n{one}{one}Connection: close\r\n\r\n"
    assert alone.raw(request.encode()).startswith(b"HTTP/1.1 401")


@pytest.mark.parametrize("path", ["/", "/api/overview", "/api/live", "/static/js/main.js", "/reports/sales/report.js"])
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1.evil.example:{port}",
        "localhost.evil.example",
        "evil.example#localhost",
        "localhost@evil.example:{port}",
        "192.168.1.1:{port}",
        "0.0.0.0:{port}",
        "[::]:{port}",
        "",
        "localhost:{port}:{port}",
        "127.1:{port}",
    ],
)
def test_a_name_that_is_not_ours_is_refused(alone, host, path):
    answer = alone.ask("GET", path, headers={**alone.authorised, "Host": host.format(port=alone.port)})
    assert answer.status in (400, 421), answer
    assert b"<!doctype" not in answer.body


def test_a_request_with_two_names_or_none_is_refused(alone):
    token = f"Authorization: Bearer {alone.token}\r\n"
    two = f"GET / HTTP/1.1\r\nHost: {alone.name}\r\nHost: evil.example\r\n{token}Connection: close\r\n\r\n"
    none = f"GET / HTTP/1.0\r\n{token}\r\n"
    for request in (two, none):
        assert alone.raw(request.encode()).split()[1] in (b"400", b"421")


@pytest.mark.parametrize(
    "host", ["localhost:{port}", "127.0.0.1:{port}", "[::1]:{port}", "LOCALHOST", "localhost:9999"]
)
def test_names_of_this_machine_are_ours(alone, host):
    given = {**alone.authorised, "Host": host.format(port=alone.port)}
    assert alone.ask("GET", "/api/overview", headers=given).status == 200


@pytest.mark.parametrize("path", ["/", "/api/overview", "/api/live", "/static/js/main.js"])
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "http://evil.example",
        "null",
        "http://localhost:1",
        "http://127.0.0.1",
        "http://127.0.0.1:{port}.evil.example",
        "file://",
        "",
        "chrome-extension://abc",
    ],
)
def test_pages_of_others_are_refused(alone, origin, path):
    given = {**alone.authorised, "Origin": origin.format(port=alone.port)}
    answer = alone.ask("GET", path, headers=given)
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


def test_a_write_from_a_page_of_others_is_refused_also_with_the_token(alone):
    given = {**alone.authorised, "Origin": "https://evil.example", "Content-Type": "application/json"}
    assert alone.ask("POST", "/api/queries/a.b/stop", b"{}", given).status == 403
    given = {**alone.authorised, "Sec-Fetch-Site": "cross-site", "Content-Type": "application/json"}
    assert alone.ask("POST", "/api/queries/a.b/stop", b"{}", given).status == 403


def test_a_form_of_a_page_of_others_does_nothing(alone):
    given = {"Content-Type": "application/x-www-form-urlencoded"}
    assert alone.ask("POST", "/api/alerts/ack", b"id=1", given).status == 401
    assert alone.ask("POST", "/api/alerts/ack", b"id=1", {**alone.authorised, **given}).status == 415
    assert alone.ask("POST", "/api/alerts/ack", b"{}", {**alone.authorised, "Content-Type": "text/plain"}).status == 415


def test_our_own_page_is_let_through(alone):
    given = {**alone.authorised, "Origin": f"http://{alone.name}", "Sec-Fetch-Site": "same-origin"}
    assert alone.ask("GET", "/api/overview", headers=given).status == 200


def test_no_other_page_may_ask_whether_it_may_ask(alone):
    given = {"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"}
    answer = alone.ask("OPTIONS", "/api/alerts/ack", headers=given)
    assert answer.status == 403
    assert not any(name.startswith("access-control") for name in answer.headers)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("GET", "/static/js/main.js", 200),
        ("GET", "/api/overview", 200),
        ("GET", "/api/nothing", 404),
        ("POST", "/api/overview", 405),
        ("GET", "/reports/none/report.js", 404),
        ("GET", "/metrics", 200),
    ],
)
def test_every_answer_forbids_what_it_can(alone, method, path, status):
    answer = alone.ask(method, path, headers=alone.authorised)
    assert answer.status == status
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "script-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy and "http" not in policy and "*" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in answer.headers
    assert "set-cookie" not in answer.headers
    if secret(path):
        assert answer.headers["cache-control"] == "no-store"


def test_refusals_forbid_it_too(alone):
    for headers in ({}, {"Host": "evil.example"}, {**alone.authorised, "Origin": "null"}):
        answer = alone.ask("GET", "/api/overview", headers=headers)
        assert answer.status in (401, 403, 421)
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_body_that_says_it_is_huge_is_refused_unread(alone):
    given = {**alone.authorised, "Content-Type": "application/json", "Content-Length": str(LARGEST + 1)}
    answer = alone.ask("POST", "/api/alerts/ack", None, given)
    assert answer.status == 413
    assert "2,000,000 bytes" in answer.json["error"]


def test_a_body_that_turns_out_to_be_huge_is_refused(alone):
    head = f"POST /api/alerts/ack HTTP/1.1\r\nHost: {alone.name}\r\nAuthorization: Bearer {alone.token}\r\n"
    head += "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
    with socket.create_connection((alone.host, alone.port), timeout=30) as connection:
        connection.sendall(head.encode())
        with suppress(BrokenPipeError, ConnectionResetError):
            for _ in range(1 + LARGEST // 0x10000):
                connection.sendall(chunk)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("length", ["-1", "ten", "1e9", "99999999999999999999999999"])
def test_a_length_that_is_none_is_refused(alone, length):
    given = {**alone.authorised, "Content-Type": "application/json", "Content-Length": length}
    assert alone.ask("POST", "/api/alerts/ack", None, given).status in (400, 413)


@pytest.mark.parametrize(
    ("path", "headers", "statuses"),
    [
        ("/", f"X: {'x' * 20_000}\r\n", (b"431",)),
        ("/", f"X: {'x' * 1_000_000}\r\n", (b"400", b"431")),
        ("/", "".join(f"X-{n}: {'y' * 100}\r\n" for n in range(1000)), (b"400", b"431")),
        (f"/{'a' * 10_000}", "", (b"414",)),
        (f"/{'a' * 1_000_000}", "", (b"400", b"414")),
        (f"/api/overview?x={'a' * 20_000}", "", (b"431",)),
    ],
)
def test_huge_headers_and_addresses_are_refused(alone, path, headers, statuses):
    request = f"GET {path} HTTP/1.1\r\nHost: {alone.name}\r\n{headers}Connection: close\r\n\r\n"
    received = b""
    with suppress(BrokenPipeError, ConnectionResetError):  # it may close while we still speak
        received = alone.raw(request.encode())
    assert not received or received.split()[1] in statuses
    assert alone.ask("GET", "/").status == 200


@pytest.mark.parametrize("root", ["/static/", "/reports/sales/"])
@pytest.mark.parametrize(
    "path",
    [
        "../secret.html",
        "..%2fsecret.html",
        "%2e%2e/secret.html",
        "%2e%2e%2fsecret.html",
        "js/../../secret.html",
        "js/%2e%2e/%2e%2e/secret.html",
        "..%5csecret.html",
        "....//secret.html",
        "%252e%252e%252fsecret.html",
        "../secret.json",
        "%2e%2e%2fsecret.json",
        "/etc/passwd",
        "%2fetc%2fpasswd",
        "out.html",
        ".hidden.js",
        "notes.py",
        "js",
        "js/",
        "",
        "index.html%00.js",
        "con\u0301",
        "a" * 300 + ".js",
    ],
)
def test_only_files_of_the_pages_are_served(alone, root, path):
    request = f"GET {root}{path} HTTP/1.1\r\nHost: {alone.name}\r\nConnection: close\r\n\r\n"
    received = alone.raw(request.encode("utf-8"))
    assert received.split()[1] in (b"400", b"404"), received
    assert b"not for everybody" not in received and b"root:" not in received and b'"secret"' not in received


def test_reports_are_served_under_their_names(alone):
    assert alone.get("/api/reports") == [{"name": "sales", "title": "Sales"}]
    answer = alone.ask("GET", "/reports/sales/report.js")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/javascript; charset=utf-8")
    assert alone.ask("GET", "/reports/other/report.js").status == 404


@pytest.mark.parametrize(("name", "status"), [("report.json", 200), ("logo.svg", 200), ("large.js", 413)])
def test_of_a_report_is_served_what_its_page_loads(alone, name, status):
    assert alone.ask("GET", f"/reports/sales/{name}").status == status


@pytest.mark.parametrize(
    "name", ["data.json", "notes.txt", "notes.md", "old.html", "data/report.json", "DATA.JSON", "link.js", "data.json/"]
)
def test_what_else_lies_beside_a_report_is_not_served(alone, name):
    answer = alone.ask("GET", f"/reports/sales/{name}")
    assert (answer.status, b"not for everybody" in answer.body) == (404, False)


def test_a_file_that_a_browser_has_is_not_sent_again(alone):
    first = alone.ask("GET", "/static/js/main.js")
    again = alone.ask("GET", "/static/js/main.js", headers={"If-None-Match": first.headers["etag"]})
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "TRACE", "CONNECT", "FOO"])
def test_other_methods_do_nothing(alone, method):
    assert alone.ask(method, "/api/overview", headers=alone.authorised).status in (400, 405)


def test_there_are_no_web_sockets(alone):
    given = {**alone.authorised, "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    answer = alone.ask("GET", "/api/nothing", headers={**given, "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="})
    assert answer.status == 404


@pytest.mark.parametrize("body", [b"", b"[]", b"nonsense", b"\xff", b'"text"', b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(alone, body):
    given = {**alone.authorised, "Content-Type": "application/json"}
    answer = alone.ask("POST", "/api/alerts/ack", body, given)
    assert answer.status == 400
    assert answer.json["error"]


def test_a_body_that_never_comes_holds_up_nobody(alone):
    head = f"POST /api/alerts/ack HTTP/1.1\r\nHost: {alone.name}\r\nAuthorization: Bearer {alone.token}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"
    hanging = [socket.create_connection((alone.host, alone.port)) for _ in range(60)]
    try:
        for connection in hanging:
            connection.sendall(head.encode())
        begun = time.monotonic()
        with ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(lambda _: alone.answer("/api/overview").status, range(16)))
        assert answers == [200] * 16
        assert time.monotonic() - begun < 8
        hanging[0].settimeout(20)
        assert hanging[0].recv(100).startswith(b"HTTP/1.1 408")
    finally:
        for connection in hanging:
            connection.close()


def test_the_token_is_this_users_alone(tmp_path):
    token = token_of(tmp_path)
    assert stat.S_IMODE((tmp_path / TOKEN).stat().st_mode) == 0o600
    assert len(token) == 43
    assert token_of(tmp_path) == token
    (tmp_path / TOKEN).chmod(0o644)  # others may have read it
    other = token_of(tmp_path)
    assert other != token
    assert stat.S_IMODE((tmp_path / TOKEN).stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", b"short", b"\xff\xfe", b"x" * 1000])
def test_a_token_that_is_none_is_made_anew(tmp_path, content):
    (tmp_path / TOKEN).write_bytes(content)
    (tmp_path / TOKEN).chmod(0o600)
    assert len(token_of(tmp_path)) == 43


def test_a_token_file_that_leads_elsewhere_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("x" * 43)
    os.symlink(tmp_path / "elsewhere", tmp_path / TOKEN)
    assert token_of(tmp_path) != "x" * 43
    assert (tmp_path / "elsewhere").read_text() == "x" * 43


def test_by_default_only_this_machine_reaches_it(alone):
    assert alone.host == "127.0.0.1"


def test_on_all_addresses_only_names_of_this_machine_count():
    known = names("0.0.0.0")
    assert {"localhost", "127.0.0.1", "[::1]", socket.gethostname()} <= known
    assert not {"0.0.0.0", "evil.example", ""} & known
    assert names("example.org") == {"localhost", "127.0.0.1", "[::1]", "example.org"}


def test_a_home_has_one_dashboard(lonely, static):
    with pytest.raises(AlreadyRunningError, match=f"runs already, at {lonely.url}"):
        Serving(Settings(home=lonely._home), static=static)


def test_a_port_that_is_taken_is_told(tmp_path, alone):
    with pytest.raises(ConfigError, match=f"cannot listen on port {alone.port}"):
        Serving(Settings(home=tmp_path), port=alone.port)
    with pytest.raises(ConfigError, match="is no address of this machine"):
        Serving(Settings(home=tmp_path), host="no such host")


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "has no report.json"),
        ({"report.json": '{"title": "A"}'}, "has no report.js"),
        ({"report.json": "{", "report.js": ""}, "cannot be read"),
        ({"report.json": "[]", "report.js": ""}, "must be like"),
        ({"report.json": '{"title": "A", "name": "../x"}', "report.js": ""}, "is no name for a report"),
    ],
)
def test_a_folder_that_is_no_report_is_told(tmp_path, files, told):
    folder = tmp_path / "r"
    folder.mkdir()
    for name, text in files.items():
        (folder / name).write_text(text)
    with pytest.raises(ConfigError, match=told):
        Serving(Settings(home=tmp_path / "home"), reports=[folder])
