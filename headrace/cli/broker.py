"""headrace up, down, status: the managed broker."""

import time
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Any

import psutil
import typer
from confluent_kafka import KafkaException

from headrace.cli.output import FormatOption, YesOption, confirm, print_json, print_object, print_rows, say, wants_json
from headrace.core.errors import ConfigError
from headrace.core.quantities import show_size, show_span
from headrace.core.settings import Settings
from headrace.log.broker import process
from headrace.log.broker.cluster import MOST, Cluster
from headrace.log.broker.diagnosis import last_lines
from headrace.log.broker.node import Node, folder_size
from headrace.log.client import admin_client
from headrace.web.home import running


class Durability(StrEnum):
    """What an acknowledged event survives."""

    process = "process"
    power = "power"


@dataclass(frozen=True, slots=True)
class BrokerState:
    """What can be told of one managed broker."""

    id: int
    state: str
    pid: int | None
    address: str
    memory: int | None
    uptime: float | None
    data: str
    size: int
    log: str


def up(
    brokers: Annotated[
        int | None, typer.Option(min=1, max=MOST, help="How many; three show a cluster with replication.")
    ] = None,
    durability: Annotated[
        Durability | None,
        typer.Option(help="What acknowledged events survive: any process dying, or a power failure (slower)."),
    ] = None,
    format: FormatOption = None,
) -> None:
    """Start the local Kafka broker, or find the one that runs.

    It outlives this command and everything that uses it; its data stay under .headrace (or HEADRACE_HOME).
    """
    settings = Settings.load()
    _refuse_configured(settings)
    cluster = Cluster(settings)
    already = bool(cluster.nodes()) and all(process.find(node) for node in cluster.nodes())
    begun = time.monotonic()
    address = cluster.up(brokers, durability.value if durability else None, tell=say)
    if wants_json(format):
        print_json(_report(cluster))
        return
    took = f"ready in {time.monotonic() - begun:.1f} s"
    print_object(
        {
            "Kafka": f"{address} ({'already running' if already else took})",
            "data": cluster.home,
            "log": ", ".join(str(node.log) for node in cluster.nodes()),
            "next": "headrace status | headrace topic create NAME | headrace down",
        },
        format,
    )


def down(
    erase: Annotated[bool, typer.Option("--erase", help="Also delete all topics and events, for good.")] = False,
    yes: YesOption = False,
    format: FormatOption = None,
) -> None:
    """Stop the local broker; its data stay, and programs that use it wait for the next 'up'."""
    cluster = Cluster(Settings.load())
    if erase:
        confirm(f"Delete all topics and events in {cluster.home}?", yes)
    stopped = cluster.down()
    if erase:
        cluster.erase()
    if wants_json(format):
        print_json({"stopped": stopped, "erased": erase})
        return
    say(f"Stopped {len(stopped)} broker(s)." if stopped else f"No broker was running in {cluster.home}.")
    if erase:
        say("Deleted all topics and events.")


def status(format: FormatOption = None) -> None:
    """Tell which brokers run, what they take, and where the dashboard is; exit code 1 if no broker runs."""
    settings = Settings.load()
    report = _configured(settings.brokers, settings) if settings.brokers else _report(Cluster(settings))
    report["ui"] = ui = running(settings.home)
    if wants_json(format):
        print_json(report)
    elif settings.brokers:
        print_rows(report["brokers"], ("address", "state"), format, "")
    elif report["brokers"]:
        _tell(report, format)
    if ui and not wants_json(format):
        say(f"dashboard   {ui['url']}")
    if not any(broker["state"] == "running" for broker in report["brokers"]):
        say(_remedy(settings))
        raise typer.Exit(1)


def _remedy(settings: Settings) -> str:
    if settings.brokers:
        return f"No broker answers at {settings.brokers}. Correct HEADRACE_BROKERS, or unset it to use a local one."
    return f"No broker runs in {settings.home.absolute()}. Start one with 'headrace up'."


def _tell(report: dict[str, Any], format: FormatOption) -> None:
    shown = [
        {
            **broker,
            "memory": None if broker["memory"] is None else show_size(broker["memory"]),
            "uptime": None if broker["uptime"] is None else show_span(timedelta(seconds=broker["uptime"])),
            "size": show_size(broker["size"]),
            "pid": None if broker["pid"] is None else str(broker["pid"]),
        }
        for broker in report["brokers"]
    ]
    print_rows(shown, ("id", "state", "address", "pid", "memory", "uptime", "size"), format, "")
    say(f"durability  {report['durability']}")
    for broker in report["brokers"]:
        say(f"log         {broker['log']}")
    for node in Cluster(Settings.load()).nodes():
        if process.died(node):
            say(f"\nBroker {node.id} died. 'headrace up' starts it again; nothing is lost. The end of its log:")
            for line in last_lines(node):
                say(f"  {line}")


def _report(cluster: Cluster) -> dict[str, Any]:
    layout = cluster.layout()
    return {
        "home": str(cluster.home),
        "durability": layout.durability if layout else None,
        "brokers": [_as_dict(_state(node)) for node in layout.nodes] if layout else [],
    }


def _as_dict(state: BrokerState) -> dict[str, Any]:
    return {name: getattr(state, name) for name in BrokerState.__slots__}


def _state(node: Node) -> BrokerState:
    running = process.find(node)
    memory = uptime = None
    if running is not None:
        try:
            memory, uptime = running.memory_info().rss, time.time() - running.create_time()
        except psutil.NoSuchProcess:
            running = None
    gone = "died" if process.died(node) else "stopped"
    return BrokerState(
        node.id,
        "running" if running else gone,
        running.pid if running else None,
        node.address,
        memory,
        uptime,
        str(node.data),
        folder_size(node.data),
        str(node.log),
    )


def _configured(brokers: str, settings: Settings) -> dict[str, Any]:
    """Report on a cluster that is not ours: which brokers it says it has."""
    client = admin_client({"bootstrap.servers": brokers, **settings.kafka})
    try:
        found = client.list_topics(timeout=5).brokers.values()
    except KafkaException:
        rows = [{"pid": None, "address": address, "state": "unreachable"} for address in brokers.split(",")]
        return {"brokers": rows}
    return {"brokers": [{"pid": None, "address": f"{b.host}:{b.port}", "state": "running"} for b in found]}


def _refuse_configured(settings: Settings) -> None:
    if settings.brokers:
        raise ConfigError(
            f"HEADRACE_BROKERS is {settings.brokers}, so programs use that cluster and a local broker would stand "
            "idle; unset it (or brokers in headrace.toml) to use a local one"
        )
