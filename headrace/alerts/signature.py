"""Signatures by which the receiver of a webhook knows that it comes from us, unchanged and just now."""

import hashlib
import hmac
import time

HEADER = "X-Headrace-Signature"
_VERSION = "v1"


def sign(secret: str, body: bytes, at: int) -> str:
    """Return the value of the header: the time in seconds, and HMAC-SHA256 over the time and the body."""
    return f"t={at},{_VERSION}={_digest(secret, body, at)}"


def verify(secret: str, header: str, body: bytes, *, within: float = 300.0, now: float | None = None) -> bool:
    """Whether a webhook is ours.

    Args:
        secret: What ``[alerts] secret`` says at the sender.
        header: The value of ``X-Headrace-Signature``.
        body: The body as it came, byte by byte.
        within: How many seconds old it may be: an older one may be a repeat by somebody else.
        now: The time; that of the clock unless given.

    Example:
        >>> verify("secret", sign("secret", b"{}", 1_700_000_000), b"{}", now=1_700_000_001)
        True
    """
    parts = dict(part.split("=", 1) for part in header.split(",") if "=" in part)
    told, given = parts.get("t", ""), parts.get(_VERSION, "")
    if not header.isascii() or not told.isdecimal() or len(told) > len(str(2**63)):
        return False
    fresh = abs((time.time() if now is None else now) - int(told)) <= within
    return hmac.compare_digest(_digest(secret, body, int(told)).encode(), given.encode()) and fresh


def _digest(secret: str, body: bytes, at: int) -> str:
    return hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
