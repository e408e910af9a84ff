"""Settings: arguments over ``HEADRACE_*`` over ``headrace.toml`` over defaults."""

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, Self, get_args

from headrace.core.errors import ConfigError
from headrace.core.quantities import parse_span

Durability = Literal["process", "power"]
FILE = "headrace.toml"
_PORTS = 65536
_ALERTS = {"notify": "HEADRACE_ALERTS_NOTIFY", "secret": "HEADRACE_ALERTS_SECRET"}


@dataclass(frozen=True, slots=True)
class AlertSettings:
    """Who is told of alerts, and how.

    Attributes:
        notify: Addresses of apprise such as ``mailto://…``, and of webhooks, ``https://…``.
        secret: Signs webhooks.
        allow_private: Whether webhooks and services other than mail may go to private addresses.
        gather: How long to wait for further alerts before telling of the first.
        every: How long at least between two messages to a target.
    """

    notify: tuple[str, ...] = field(default=(), repr=False)  # they hold passwords
    secret: str | None = field(default=None, repr=False)
    allow_private: bool = False
    gather: str = "5 seconds"
    every: str = "30 seconds"


@dataclass(frozen=True, slots=True)
class Settings:
    """What a program can be told about its surroundings.

    Attributes:
        home: Folder of the managed broker's data.
        brokers: ``host:port,…`` of a Kafka cluster to use instead of the managed broker.
        jars: Folder with jars already on disk, for machines without a network.
        durability: ``process`` survives any process dying, ``power`` also the machine.
        checkpoints: Folder, or address of a folder, for what programs remember; beside the broker's data unless told.
        alerts: Who is told of alerts, and how.
        kafka: Settings handed to every Kafka client as they are, such as ``security.protocol``.
    """

    home: Path = Path(".headrace")
    brokers: str | None = None
    jars: Path | None = None
    durability: Durability | None = None
    checkpoints: str | None = None
    alerts: AlertSettings = AlertSettings()
    kafka: Mapping[str, str | int | float | bool] = field(default_factory=dict, repr=False)  # it holds passwords

    @classmethod
    def load(cls, folder: Path | None = None, env: Mapping[str, str] | None = None, **arguments: Any) -> Self:
        """Read the settings that hold in ``folder``, the current one unless told.

        Example:
            >>> Settings.load(env={"HEADRACE_BROKERS": "kafka:9092"}).brokers
            'kafka:9092'
        """
        folder = folder or Path.cwd()
        env = os.environ if env is None else env
        given = _from_file(folder / FILE)
        given |= {name: env[variable] for name, variable in _variables().items() if env.get(variable)}
        if told := {name: env[variable] for name, variable in _ALERTS.items() if env.get(variable)}:
            given["alerts"] = {**_table(given.get("alerts", {}), "alerts"), **told}
        given |= {name: value for name, value in arguments.items() if value is not None}
        return cls(**{name: _checked(name, value, folder) for name, value in given.items()})


def _variables() -> dict[str, str]:
    return {f.name: f"HEADRACE_{f.name.upper()}" for f in fields(Settings) if f.name not in ("kafka", "alerts")}


def _from_file(path: Path) -> dict[str, Any]:
    try:
        given = tomllib.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}; correct it or remove the file") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    known = [f.name for f in fields(Settings)]
    if unknown := sorted(set(given) - set(known)):
        raise ConfigError(f"{path} has unknown settings {', '.join(unknown)}; known are {', '.join(known)}")
    return given


def _checked(name: str, value: Any, folder: Path) -> Any:
    if name == "kafka":
        return _client_settings(value)
    if name == "alerts":
        return value if isinstance(value, AlertSettings) else _alert_settings(_table(value, name))
    if not isinstance(value, str | os.PathLike):
        raise ConfigError(f"the setting {name} must be text, not {value!r}; put it into quotes")
    if name in ("home", "jars"):
        return _folder(name, value, folder)
    if name == "durability" and value not in get_args(Durability):
        raise ConfigError(f"durability must be 'process' or 'power', not {value!r}")
    return _addresses(str(value)) if name == "brokers" else value


def _folder(name: str, value: str | os.PathLike[str], folder: Path) -> Path:
    try:
        return folder / Path(value).expanduser()
    except RuntimeError:
        raise ConfigError(f"the setting {name} is {value}, but there is no such user; write the whole path") from None


def _client_settings(value: Any) -> dict[str, Any]:
    wanted = 'kafka must be a table of client settings like "security.protocol" = "SSL"'
    if not isinstance(value, Mapping):
        raise ConfigError(f"{wanted}, not {type(value).__name__}")
    if wrong := sorted(name for name, item in value.items() if not isinstance(item, str | int | float | bool)):
        raise ConfigError(  # only names are told: there are passwords in it
            f"{wanted}; {', '.join(wrong)} in it is not text, a number, true or false; put names with dots into quotes"
        )
    return dict(value)


def _table(value: Any, name: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ConfigError(f"{name} must be a table, [{name}], not {type(value).__name__}")
    return value


def _alert_settings(given: Mapping[str, Any]) -> AlertSettings:
    known = [f.name for f in fields(AlertSettings)]
    if unknown := sorted(set(given) - set(known)):
        raise ConfigError(f"[alerts] has unknown settings {', '.join(unknown)}; known are {', '.join(known)}")
    notify = given.get("notify", ())
    urls = notify.split() if isinstance(notify, str) else notify
    if not isinstance(urls, list | tuple) or not all(isinstance(url, str) for url in urls):
        raise ConfigError('notify in [alerts] must be a list of addresses like ["mailto://…", "https://…"]')
    if not isinstance(given.get("allow_private", False), bool):
        raise ConfigError(f"allow_private in [alerts] must be true or false, not {given['allow_private']!r}")
    for name in ("secret", "gather", "every"):
        if not isinstance(given.get(name, ""), str):
            raise ConfigError(f"{name} in [alerts] must be text; put it into quotes")
    for name in ("gather", "every"):
        parse_span(given.get(name, "0 seconds"))
    return AlertSettings(**{**given, "notify": tuple(dict.fromkeys(urls))})


def _addresses(value: str) -> str:
    addresses = [part.strip() for part in value.split(",")]
    for address in addresses:
        host, _, port = address.rpartition(":")
        if not host or not re.fullmatch(r"[0-9]{1,5}", port) or not 0 < int(port) < _PORTS:
            raise ConfigError(
                f"{address!r} is not a broker address; write HEADRACE_BROKERS, or brokers in {FILE}, "
                "as host:port,host:port"
            )
    return ",".join(addresses)
