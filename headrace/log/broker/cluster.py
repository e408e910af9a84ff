"""The managed cluster: one real Kafka broker, or three, kept in the home folder."""

import base64
import fcntl
import itertools
import json
import os
import random
import shutil
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from headrace.core.errors import BrokerStartError, ConfigError
from headrace.core.jars import locked, provide
from headrace.core.java import find_java
from headrace.core.settings import Durability, Settings
from headrace.log.broker import archive, process
from headrace.log.broker.diagnosis import PortTakenError, diagnose
from headrace.log.broker.node import HOST, Node
from headrace.log.broker.readiness import wait_until_ready

_ROOM = 256 * 1024 * 1024  # free bytes that a broker needs before it is started
_PORT_TRIES = 3
_PORTS = range(20_000, 32_000)  # systems give connections their ports from 32,768 on
MOST = 9


@dataclass(frozen=True, slots=True)
class Layout:
    """What is remembered of a cluster between its runs."""

    cluster_id: str
    durability: Durability
    nodes: tuple[Node, ...]


class Cluster:
    """Starts, finds and stops the brokers whose data lie in one home folder.

    Example:
        >>> cluster = Cluster(Settings.load())
        >>> cluster.up()
        '127.0.0.1:41233'
        >>> cluster.down()
        [1]
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.home = settings.home.absolute()

    def up(
        self,
        brokers: int | None = None,
        durability: Durability | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> str:
        """Start every broker that is not running and return the addresses for clients.

        Two programs that call this at once get the same cluster: the second waits for the first. What an earlier
        start or an unclean end left behind is put in order; data are never touched.

        Args:
            brokers: How many; remembered from the first start, one unless told then.
            durability: Remembered likewise; changing it takes effect at the next start of stopped brokers.
            tell: Called with one line for each step that takes time.
        """
        with self._locked():
            layout = self._planned(brokers, durability or self.settings.durability)
            for _ in range(_PORT_TRIES):
                missing = [node for node in layout.nodes if process.find(node) is None]
                if not missing:
                    self._await(layout)
                    return _addresses(layout)
                layout = self._with_free_ports(layout, missing)
                self._save(layout)
                try:
                    self._start(layout, tell)
                except PortTakenError:
                    continue  # somebody took a port between our look and the broker's
                return _addresses(layout)
        raise BrokerStartError(f"no free port was found in {_PORT_TRIES} tries; the last log is {layout.nodes[0].log}")

    def down(self) -> list[int]:
        """Stop the brokers and return the ids of those that ran; connected programs wait for the next `up`."""
        if not self._file.exists():
            return []
        with self._locked():
            return [node.id for node in self._stop()]

    def erase(self) -> None:
        """Stop the brokers and delete all their topics and events, for good."""
        with self._locked():
            self._stop()
            for node in self.nodes():
                shutil.rmtree(node.folder, ignore_errors=True)
            self._file.unlink(missing_ok=True)

    def running(self) -> str | None:
        """Return the addresses for clients if any broker runs."""
        layout = self.layout()
        return _addresses(layout) if layout and any(process.find(node) for node in layout.nodes) else None

    def ready(self) -> str | None:
        """Return the addresses for clients if any broker runs and was seen to answer."""
        layout = self.layout()
        return _addresses(layout) if layout and any(process.is_ready(node) for node in layout.nodes) else None

    def nodes(self) -> tuple[Node, ...]:
        """Return the brokers that this home has, running or not."""
        layout = self.layout()
        return layout.nodes if layout else ()

    def layout(self) -> Layout | None:
        """Return what is remembered of the cluster, or None where there never was one."""
        try:
            told = json.loads(self._file.read_text("utf-8"))
            nodes = tuple(
                Node(n["id"], self.home / f"broker-{n['id']}", n["port"], n["controller_port"]) for n in told["brokers"]
            )
            return Layout(told["cluster_id"], told["durability"], nodes)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ConfigError(
                f"{self._file} cannot be understood ({error}); restore it, or move {self.home} away and start anew"
            ) from None

    @property
    def _file(self) -> Path:
        return self.home / "cluster.json"

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.home.mkdir(parents=True, exist_ok=True)
            lock = (self.home / "cluster.lock").open("w")
        except OSError as error:
            raise _cannot_write(self.home, error) from None
        with lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _planned(self, brokers: int | None, durability: Durability | None) -> Layout:
        layout = self.layout()
        if layout is None:
            return Layout(_new_id(), durability or "process", self._new_nodes(1 if brokers is None else brokers))
        if brokers not in (None, len(layout.nodes)):
            raise ConfigError(
                f"{self.home} holds a cluster of {len(layout.nodes)} broker(s), not {brokers}; use another "
                "HEADRACE_HOME for the other size, or delete this cluster's data with 'headrace down --erase'"
            )
        if durability in (None, layout.durability):
            return layout
        if any(process.find(node) for node in layout.nodes):
            raise ConfigError(
                f"the broker runs with durability {layout.durability!r}; to change it to {durability!r}, "
                f"'headrace down' first, then 'headrace up --durability {durability}'"
            )
        return replace(layout, durability=durability)

    def _new_nodes(self, count: int) -> tuple[Node, ...]:
        if not 1 <= count <= MOST:
            raise ConfigError(f"a managed cluster has 1 to {MOST} brokers, not {count}")
        ports = _free_ports(2 * count)
        return tuple(
            Node(number, self.home / f"broker-{number}", ports.pop(), ports.pop()) for number in range(1, count + 1)
        )

    def _with_free_ports(self, layout: Layout, missing: Sequence[Node]) -> Layout:
        """Keep the remembered ports where they are free; clients that wait for the broker then find it again."""
        if any(_taken(node.controller_port) for node in missing):
            process.stop(layout.nodes)  # the voters know each other by these ports: all change or none
            missing = layout.nodes
        moved = {node.id: self._moved(node) for node in missing}
        return replace(layout, nodes=tuple(moved.get(node.id, node) for node in layout.nodes))

    def _moved(self, node: Node) -> Node:
        port, controller_port = _free_ports(2)
        return replace(
            node,
            port=port if _taken(node.port) else node.port,
            controller_port=controller_port if _taken(node.controller_port) else node.controller_port,
        )

    def _save(self, layout: Layout) -> None:
        told = {
            "cluster_id": layout.cluster_id,
            "durability": layout.durability,
            "brokers": [{"id": n.id, "port": n.port, "controller_port": n.controller_port} for n in layout.nodes],
        }
        draft = self._file.with_suffix(".new")
        try:
            draft.write_text(json.dumps(told, indent=2), "utf-8")
            draft.replace(self._file)
        except OSError as error:
            raise _cannot_write(self.home, error) from None

    def _start(self, layout: Layout, tell: Callable[[str], None]) -> None:
        java = find_java()
        classpath = os.pathsep.join(map(str, provide(locked("broker"), self.settings.jars)))
        self._check_room()
        try:
            for node in layout.nodes:
                node.configure(layout.nodes, layout.durability)
        except OSError as error:
            raise _cannot_write(self.home, error) from None
        quick = archive.reading(java, classpath)
        if fresh := [node for node in layout.nodes if not node.formatted]:
            tell("Preparing the data folder…")
            with ThreadPoolExecutor(len(fresh)) as pool:
                list(pool.map(lambda node: node.format(java, classpath, quick, layout.cluster_id), fresh))
        tell("Starting Kafka…")
        started: dict[Node, process.Process] = {}
        try:
            for node in layout.nodes:
                if process.find(node) is None:
                    slow = [] if quick or node != layout.nodes[0] else archive.writing(java, classpath, node)
                    started[node] = process.start(node, node.command(java, classpath, [*quick, *slow]))
            self._await(layout, started)
        except BaseException:
            failure = diagnose(started)
            process.stop(list(started))
            if failure:
                raise failure from None
            raise

    def _stop(self) -> list[Node]:
        stopped = process.stop(self.nodes())
        for node in stopped:
            archive.adopt(node)
        return stopped

    def _await(self, layout: Layout, started: Mapping[Node, process.Process] | None = None) -> None:
        """Wait until all brokers answer: ours, and those whose starter died before it could see that."""
        if not all(process.is_ready(node) for node in layout.nodes):
            wait_until_ready(layout.nodes, started or {})
            for node in layout.nodes:
                process.mark_ready(node)

    def _check_room(self) -> None:
        free = shutil.disk_usage(self.home).free
        if free < _ROOM:
            raise BrokerStartError(
                f"the disk of {self.home} has {free // 1_000_000} MB free, a broker needs {_ROOM // 1_000_000} MB; "
                "free some room, or set HEADRACE_HOME to a folder on another disk"
            )


def _addresses(layout: Layout) -> str:
    return ",".join(node.address for node in layout.nodes)


def _new_id() -> str:
    drawn = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
    return _new_id() if drawn.startswith("-") else drawn  # Kafka's tool takes it for an option


def _cannot_write(home: Path, error: OSError) -> BrokerStartError:
    return BrokerStartError(
        f"the home folder {home} cannot be written: {error.strerror}; make room or correct its permissions, "
        "or set HEADRACE_HOME to another folder"
    )


def _free_ports(count: int) -> list[int]:
    """Return free ports that no outgoing connection is ever given: those could take them before the broker is up."""
    drawn = random.sample(_PORTS, len(_PORTS))
    free = list(itertools.islice((port for port in drawn if not _taken(port)), count))
    if len(free) < count:
        raise BrokerStartError(f"the ports {_PORTS.start} to {_PORTS.stop - 1} are all taken; end some other programs")
    return free


def _taken(port: int) -> bool:
    try:
        socket.create_server((HOST, port)).close()
    except OSError:
        return True
    return False
