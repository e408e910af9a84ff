"""Whom to tell: services that apprise knows, and webhooks of our own."""

import hashlib
import re
import warnings
from collections.abc import Sequence
from typing import Any, Protocol
from urllib.parse import urlsplit

from headrace.alerts.address import refuse_private
from headrace.alerts.message import Message
from headrace.alerts.webhook import Webhook
from headrace.core.errors import ConfigError, HeadraceError, NotifyError

_HTTP = ("http://", "https://")
_SCHEME = re.compile(r"([a-z0-9][a-z0-9+.-]{0,30})://", re.IGNORECASE)
_UNSIGNED = {"json", "xml", "form"}  # webhooks of apprise
_MAIL = "mailto"  # which may go to a relay on this machine, as mail does
_PATIENCE = 60.0  # seconds for a service
_TYPES = {"critical": "failure", "warning": "warning", "info": "info"}


class Target(Protocol):
    """Somebody who takes notifications."""

    @property
    def name(self) -> str:
        """Return the target without what may be secret of it."""
        ...

    def send(self, message: Message) -> None:
        """Send a notification, or raise `NotifyError`."""
        ...


class Service:
    """A service of apprise: e-mail, chat, SMS. Redirects are not followed.

    Args:
        url: As apprise writes it, such as ``mailto://user:password@host``.
        allow_private: Whether its host may have a private address; a mail server always may.
    """

    def __init__(self, url: str, allow_private: bool) -> None:
        with warnings.catch_warnings():  # what it imports may be old
            warnings.simplefilter("ignore")
            import apprise  # noqa: PLC0415 - takes a third of a second

            plugin = apprise.Apprise.instantiate(url)  # to add the text would look for addresses anywhere in it
        if plugin is None:
            raise ConfigError(
                f"apprise does not understand the target {_scheme(url)!r} of [alerts] notify; write it as apprise "
                "documents it, such as mailto://user:password@host, or https://… for a webhook"
            )
        if plugin.protocol in _UNSIGNED:
            raise ConfigError(f"{plugin.protocol}:// is an unsigned webhook; write https://… instead, which is signed")
        plugin.redirects = False
        self._apprise = apprise.Apprise(plugin)
        self._host = plugin.host if "host" in plugin.template_tokens and plugin.protocol != _MAIL else None
        self._allow_private = allow_private
        self.name = str(plugin.url(privacy=True)).partition("?")[0]

    def send(self, message: Message) -> None:
        """Send a notification, or raise `NotifyError`."""
        if self._host and not self._allow_private:
            refuse_private(self._host)
        heard: list[str] = []
        taken = self._apprise.notify(
            message.body,
            message.title,
            notify_type=_TYPES[message.severity],
            body_format="text",
            timeout=_PATIENCE,
            log_callback=lambda entry, _: heard.append(f"{entry.level}: {entry.message}"),
        )
        if not taken:
            told = [line for line in heard if not line.startswith(("INFO", "DEBUG", "TRACE"))]
            raise NotifyError(f"{self.name} did not take it{': ' + told[-1].partition(': ')[2] if told else ''}")


def target_of(url: str, secret: str | None, allow_private: bool) -> Target:
    """Return the target that an address means."""
    if not isinstance(url, str) or not _scheme(url):
        raise ConfigError("a target of [alerts] notify must be text like 'mailto://…' or 'https://…'; one is not")
    url = url.strip()
    if url.lower().startswith(_HTTP):
        return Webhook(url, secret or "", allow_private)
    return Service(url, allow_private)


def targets_of(urls: Sequence[str], secret: str | None, allow_private: bool) -> dict[str, Target]:
    """Return targets by a text that tells them apart, gives nothing away, and stays when a password is corrected."""
    targets = [target_of(url, secret, allow_private) for url in urls]
    return {_identity(url): target for url, target in zip(urls, targets, strict=True)}


def _identity(url: str) -> str:
    return hashlib.sha256(_without_password(url.strip()).encode(errors="replace")).hexdigest()[:12]


def _without_password(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    who, at, where = parts.netloc.rpartition("@")
    asked = re.sub(r"(^|&)pass(word)?=[^&]*", "", parts.query, flags=re.IGNORECASE)
    return parts._replace(netloc=f"{who.partition(':')[0]}{at}{where}", query=asked).geturl()


def _scheme(url: str) -> str:
    """Return what stands before ``://``; empty where that is none, and may be anything, also a password."""
    found = _SCHEME.match(url.strip())
    return found[1].lower() if found else ""


def try_all(urls: Sequence[str], secret: str | None, allow_private: bool) -> list[dict[str, Any]]:
    """Send a test notification to each target, and return what happened."""
    return [_tried(url, secret, allow_private) for url in urls]


def _tried(url: str, secret: str | None, allow_private: bool) -> dict[str, Any]:
    name = _scheme(str(url)) or "…"
    try:
        target = target_of(url, secret, allow_private)
        name = target.name
        target.send(Message((), test=True))
    except HeadraceError as error:
        return {"target": name, "sent": False, "error": str(error)}
    return {"target": name, "sent": True, "error": None}
