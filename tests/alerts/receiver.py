"""Real servers on loopback that take notifications: one for mail, one for HTTP."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from aiosmtpd.controller import Controller


@dataclass
class Request:
    """What came by HTTP."""

    path: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Hook:
    """An HTTP server: it answers as it is told, and notes what came."""

    port: int = 0
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    answer: bytes = b"ok"
    came: list[Request] = field(default_factory=list)
    news: threading.Condition = field(default_factory=threading.Condition)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hook?a=1"

    def wait(self, count: int, seconds: float = 60) -> list[Request]:
        """Return what came, once there are so many."""
        with self.news:
            assert self.news.wait_for(lambda: len(self.came) >= count, seconds), f"only {len(self.came)} came"
            return list(self.came)


@contextmanager
def listening(hook: Hook) -> Iterator[Hook]:
    """Run the server, on the port that it had before if it had one."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            with hook.news:
                hook.came.append(Request(self.path, dict(self.headers), body))
                hook.news.notify_all()
            self.send_response(hook.status)
            for name, value in hook.headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(hook.answer)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, request: Any, client_address: Any) -> None:
            pass  # the other side has left, as it may

    server = Server(("127.0.0.1", hook.port), Handler)
    hook.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield hook
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Mail:
    """A mail server that notes what came."""

    def __init__(self, port: int = 0) -> None:
        self.port = port
        self.came: list[Any] = []
        self.news = threading.Condition()

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        with self.news:
            self.came.append(message_from_bytes(envelope.content, policy=policy.default))
            self.news.notify_all()
        return "250 taken"

    @property
    def url(self) -> str:
        return f"mailto://127.0.0.1:{self.port}?from=headrace@example.org&to=ops@example.org"

    def wait(self, count: int, seconds: float = 60) -> list[Any]:
        """Return the messages, once there are so many."""
        with self.news:
            assert self.news.wait_for(lambda: len(self.came) >= count, seconds), f"only {len(self.came)} came"
            return list(self.came)


@contextmanager
def receiving(mail: Mail) -> Iterator[Mail]:
    """Run the mail server, on the port that it had before if it had one."""
    controller = _Controller(mail, hostname="127.0.0.1", port=mail.port)
    controller.start()
    mail.port = controller.server.sockets[0].getsockname()[1]
    try:
        yield mail
    finally:
        controller.stop()


class _Controller(Controller):
    """A controller that may choose its port."""

    def _trigger_server(self) -> None:
        self.port = self.server.sockets[0].getsockname()[1]
        super()._trigger_server()


def text_of(message: Any) -> str:
    """Return the text of a mail, whatever its parts."""
    return "\n".join(part.get_content() for part in message.walk() if part.get_content_maintype() == "text")
