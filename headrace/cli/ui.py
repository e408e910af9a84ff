"""headrace ui: the dashboard in a browser."""

import os
import signal
import sys
import threading
import webbrowser
from collections.abc import Iterator
from contextlib import closing, contextmanager
from types import FrameType
from typing import Annotated

import typer

from headrace.cli.output import FormatOption, print_json, say, wants_json
from headrace.core.settings import Settings

_LAST_PORT = 65535
_EXPOSED = (
    "It listens on {host}: whoever reaches that address and has the token can use it, and what is sent is not "
    "encrypted. Put a proxy with TLS before it where the network is not yours."
)


def ui(
    port: Annotated[int, typer.Option(min=0, max=_LAST_PORT, help="Listen there; a free one unless given.")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen on; only this machine reaches the default.")] = (
        "127.0.0.1"
    ),
    open_it: Annotated[bool, typer.Option("--open/--no-open", help="Open it in the browser.")] = False,
    report: Annotated[list[str] | None, typer.Option(help="A folder with a report; may be given again.")] = None,
    leash: Annotated[bool, typer.Option("--leash", hidden=True)] = False,
    format: FormatOption = None,
) -> None:
    """Serve the dashboard until Ctrl-C: health, topology, queries, topics, groups, tables, alerts, dead letters.

    It needs no broker to start, and finds the one that starts later. Who has the token, which lies in ui.token in the
    home folder, can see all topics, and can stop queries and replay dead letters.
    """
    from headrace.web.home import TOKEN, page_to_open  # noqa: PLC0415 - brings the server, which others do not need
    from headrace.web.serving import Serving, is_loopback  # noqa: PLC0415 - likewise

    settings = Settings.load()
    home = settings.home.absolute()
    with _until_ended(), closing(Serving(settings, host=host, port=port, reports=report or [])) as serving:
        if wants_json(format):
            print_json({"url": serving.url, "token_file": str(home / TOKEN)})
        else:
            say(f"Dashboard: {serving.link}\nCtrl-C ends it.")
        if not is_loopback(host):
            say(_EXPOSED.format(host=host))
        if open_it and not webbrowser.open(page_to_open(home, serving.link).as_uri()):
            say("No browser was found; open the address yourself.")
        if leash:
            threading.Thread(target=_end_with_input, daemon=True).start()
        serving.run()


def _end_with_input() -> None:
    """End when standard input does: whoever started us is gone."""
    sys.stdin.buffer.read()
    os.kill(os.getpid(), signal.SIGTERM)


@contextmanager
def _until_ended() -> Iterator[None]:
    """Let SIGTERM end what runs as Ctrl-C does, in order."""
    before = signal.signal(signal.SIGTERM, _end)
    try:
        yield
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)


def _end(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
