"""Whom to tell: services that apprise knows, and webhooks of our own."""

import hashlib
import warnings
from collections.abc import Sequence
from typing import Any, Protocol

from headrace.alerts.message import Message
from headrace.alerts.webhook import Webhook
from headrace.core.errors import ConfigError, HeadraceError, NotifyError

_HTTP = ("http://", "https://")
_UNSIGNED = ("json", "jsons", "xml", "xmls", "form", "forms")  # webhooks of apprise: neither signed nor kept from us
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
    """A service of apprise: e-mail, chat, SMS.

    Args:
        url: As apprise writes it, such as ``mailto://user:password@host``.
    """

    def __init__(self, url: str) -> None:
        with warnings.catch_warnings():  # what it imports may be old
            warnings.simplefilter("ignore")
            import apprise  # noqa: PLC0415 - takes a third of a second

            self._apprise = apprise.Apprise()
            known = self._apprise.add(url)
        if not known or len(self._apprise) != 1:
            scheme = url.partition("://")[0] if "://" in url else url[:10]
            raise ConfigError(
                f"apprise does not understand the target {scheme!r} of [alerts] notify; write it as apprise documents "
                "it, such as mailto://user:password@host, or https://… for a webhook"
            )
        self.name = str(self._apprise[0].url(privacy=True)).partition("?")[0]

    def send(self, message: Message) -> None:
        """Send a notification, or raise `NotifyError`."""
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
    if not isinstance(url, str) or not url.strip():
        raise ConfigError(f"a target of [alerts] notify must be text like 'mailto://…' or 'https://…', not {url!r}")
    url = url.strip()
    if url.lower().startswith(_HTTP):
        return Webhook(url, secret or "", allow_private)
    if (scheme := url.partition("://")[0].lower()) in _UNSIGNED:
        raise ConfigError(f"{scheme}:// is an unsigned webhook; write https://… instead, which is signed")
    return Service(url)


def targets_of(urls: Sequence[str], secret: str | None, allow_private: bool) -> dict[str, Target]:
    """Return targets by a text that tells them apart and gives nothing away."""
    return {hashlib.sha256(url.encode()).hexdigest()[:12]: target_of(url, secret, allow_private) for url in urls}


def try_all(urls: Sequence[str], secret: str | None, allow_private: bool) -> list[dict[str, Any]]:
    """Send a test notification to each target, and return what happened."""
    return [_tried(url, secret, allow_private) for url in urls]


def _tried(url: str, secret: str | None, allow_private: bool) -> dict[str, Any]:
    name = str(url).partition("://")[0]
    try:
        target = target_of(url, secret, allow_private)
        name = target.name
        target.send(Message((), test=True))
    except HeadraceError as error:
        return {"target": name, "sent": False, "error": str(error)}
    return {"target": name, "sent": True, "error": None}
