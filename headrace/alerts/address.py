"""Where a webhook may go: to the world, but not into the network of whoever runs this, unless allowed."""

import ipaddress
import re
import socket
import threading
from contextlib import suppress
from typing import Any

from headrace.core.errors import NotifyError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_PATIENCE = 5.0  # seconds for the name of a host
_PLAIN = re.compile(r"[\w.:-]+")
_ANY = 80  # a port, since one must be asked for


class _UnknownHostError(NotifyError):
    """A host has no address."""


def resolve(host: str, port: int, allow_private: bool) -> list[tuple[str, int]]:
    """Return the addresses of a host, to one of which the connection must then go and to no other.

    Raises:
        NotifyError: It has none, or one that is private: of this machine, of its network, or of no one.
    """
    addresses = _addresses(host, port)
    if not allow_private:
        for address in addresses:
            if not is_public(address):
                raise NotifyError(
                    f"{host} is {address}, a private address; set allow_private = true in [alerts] if it may be reached"
                )
    return [(address, port) for address in addresses]


def refuse_private(host: str) -> None:
    """Refuse a host that others will look up again; what looks like one but has no address may be a name of theirs.

    Raises:
        NotifyError: One of its addresses is private.
    """
    host = host.strip("[]")
    if not _PLAIN.fullmatch(host):
        raise NotifyError("the host of a target has characters that no host has")
    with suppress(_UnknownHostError):
        resolve(host, _ANY, allow_private=False)


def is_public(text: str) -> bool:
    """Whether an address is one of the world's; addresses that wrap another are as private as that."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    return all(_is_global(one) for one in (address, *_wrapped(address)))


def _is_global(address: Address) -> bool:
    local = address.is_link_local or address.is_loopback or address.is_multicast or address.is_unspecified
    site = isinstance(address, ipaddress.IPv6Address) and address.is_site_local
    return address.is_global and not local and not site and not address.is_reserved


def _wrapped(address: Address) -> list[Address]:
    if isinstance(address, ipaddress.IPv4Address):
        return []
    found: list[Address | None] = [address.ipv4_mapped, address.sixtofour, *(address.teredo or ())]
    if address in _NAT64 or int(address) >> 32 == 0:  # also the old form that has IPv4 alone
        found.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return [one for one in found if one is not None]


def _addresses(host: str, port: int) -> list[str]:
    """Ask for the addresses of a host, but not for ever: the system's own patience may be minutes."""
    answer: list[Any] = []

    def ask() -> None:
        try:
            answer.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            answer.append(error)

    asking = threading.Thread(target=ask, name="headrace-resolve", daemon=True)
    asking.start()
    asking.join(_PATIENCE)
    if not answer:
        raise NotifyError(f"the address of {host} was not found in {_PATIENCE:g} s")
    if isinstance(answer[0], Exception):
        raise _UnknownHostError(f"{host} has no address: {getattr(answer[0], 'strerror', None) or answer[0]}")
    return list(dict.fromkeys(str(found[4][0]) for found in answer[0]))
