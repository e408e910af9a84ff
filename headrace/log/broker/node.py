"""One broker of a managed cluster: its folder, its ports, its configuration."""

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from headrace.core.errors import BrokerStartError
from headrace.core.java import Java
from headrace.core.settings import Durability

HOST = "127.0.0.1"
_LOGGING = """\
appender.file.type = RollingFile
appender.file.name = file
appender.file.fileName = ${sys:headrace.log}
appender.file.filePattern = ${sys:headrace.log}.%i
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d{yyyy-MM-dd HH:mm:ss.SSS} %p %c{1} %m%n
appender.file.policies.type = Policies
appender.file.policies.size.type = SizeBasedTriggeringPolicy
appender.file.policies.size.size = 10MB
appender.file.strategy.type = DefaultRolloverStrategy
appender.file.strategy.max = 3
rootLogger.level = INFO
rootLogger.appenderRef.file.ref = file
"""


@dataclass(frozen=True, slots=True)
class Node:
    """A broker that is also a controller, as every node of a managed cluster is."""

    id: int
    folder: Path
    port: int
    controller_port: int

    @property
    def address(self) -> str:
        """Return where clients reach it."""
        return f"{HOST}:{self.port}"

    @property
    def data(self) -> Path:
        """Return the folder with the partitions' segments."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """Return the broker's own log, for reading when something went wrong."""
        return self.folder / "broker.log"

    @property
    def output(self) -> Path:
        """Return what the process printed: nothing, unless Java itself failed."""
        return self.folder / "output.log"

    @property
    def properties(self) -> Path:
        """Return the configuration; its path also identifies the process."""
        return self.folder / "server.properties"

    @property
    def logging(self) -> Path:
        """Return the configuration of the log."""
        return self.folder / "log4j2.properties"

    @property
    def formatted(self) -> bool:
        """Whether the data folder belongs to a cluster already; formatting again would be refused."""
        return (self.data / "meta.properties").exists()

    def configure(self, cluster: Sequence["Node"], durability: Durability) -> None:
        """Write the configuration files for the ports of now."""
        self.data.mkdir(parents=True, exist_ok=True)
        self.logging.write_text(_LOGGING, "utf-8")
        settings = _settings(self, cluster, durability)
        self.properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()), "utf-8")

    def format(self, java: Java, classpath: str, options: Sequence[str], cluster_id: str) -> None:
        """Make the data folder part of the cluster ``cluster_id``."""
        command = [str(java.path), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", *options]
        command += self._logging_options()
        command += ["-cp", classpath, "kafka.tools.StorageTool"]
        command += ["format", "-t", cluster_id, "-c", str(self.properties)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            told = (done.stderr or done.stdout).strip().splitlines()
            raise BrokerStartError(f"the data folder {self.data} could not be formatted: {told[-1] if told else '?'}")

    def command(self, java: Java, classpath: str, options: Sequence[str]) -> list[str]:
        """Return the command that runs the broker in the foreground, with further ``options`` of Java."""
        memory = ["-Xms128m", "-Xmx512m", "-XX:+UseG1GC"]
        return [
            str(java.path),
            *memory,
            *options,
            *self._logging_options(),
            "-cp",
            classpath,
            "kafka.Kafka",
            str(self.properties),
        ]

    def topic_sizes(self) -> dict[tuple[str, int], int]:
        """Return the bytes on disk of each partition kept here."""
        sizes: dict[tuple[str, int], int] = {}
        for folder in self.data.glob("*-*"):
            topic, _, partition = folder.name.rpartition("-")
            if partition.isdecimal() and folder.is_dir():
                sizes[topic, int(partition)] = folder_size(folder)
        return sizes

    def _logging_options(self) -> list[str]:
        return [f"-Dheadrace.log={self.log}", f"-Dlog4j2.configurationFile={self.logging}", "-Djava.awt.headless=true"]


def folder_size(folder: Path) -> int:
    """Return the bytes that the files below ``folder`` occupy on disk, sparse ones counted by their blocks."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(parent, name)).st_blocks * 512
            except FileNotFoundError:  # a segment deleted meanwhile
                continue
    return total


def _settings(node: Node, cluster: Sequence[Node], durability: Durability) -> dict[str, object]:
    copies = min(len(cluster), 3)
    in_sync = 2 if copies > 2 else 1  # noqa: PLR2004 - two of three copies
    return {
        "process.roles": "broker,controller",
        "node.id": node.id,
        "controller.quorum.voters": ",".join(f"{n.id}@{HOST}:{n.controller_port}" for n in cluster),
        "listeners": f"PLAINTEXT://{HOST}:{node.port},CONTROLLER://{HOST}:{node.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{HOST}:{node.port}",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": _escaped(node.data),
        # A topic that nobody created is a typing error, not a wish.
        "auto.create.topics.enable": "false",
        # With CreateTime, retention would delete replayed history the moment it is written.
        "log.message.timestamp.type": "LogAppendTime",
        **({"log.flush.interval.messages": 1} if durability == "power" else {}),
        "default.replication.factor": copies,
        "min.insync.replicas": in_sync,
        "offsets.topic.replication.factor": copies,
        "offsets.topic.num.partitions": 8,
        "transaction.state.log.replication.factor": copies,
        "transaction.state.log.min.isr": in_sync,
        "transaction.state.log.num.partitions": 8,
        "share.coordinator.state.topic.replication.factor": copies,
        "share.coordinator.state.topic.min.isr": in_sync,
        "share.coordinator.state.topic.num.partitions": 8,
        # A local cluster has few members: let groups form and notice losses in a second, not in fifty.
        "group.initial.rebalance.delay.ms": 0,
        "group.min.session.timeout.ms": 1000,
        "group.share.min.heartbeat.interval.ms": 250,
        "group.share.heartbeat.interval.ms": 500,
        "group.share.min.session.timeout.ms": 3000,
        "group.share.session.timeout.ms": 3000,
        # Work queues choose their own time-outs and tries.
        "group.share.min.record.lock.duration.ms": 1000,
        "group.share.max.record.lock.duration.ms": 3600000,
        "group.share.max.delivery.count.limit": 25,
        # Brokers die here for tests and by Ctrl-C; notice it soon.
        "broker.session.timeout.ms": 3000,
        "broker.heartbeat.interval.ms": 500,
        "controlled.shutdown.max.retries": 1,
        # Retention and compaction are looked after every few seconds, not minutes: what one tries is seen to work.
        "log.initial.task.delay.ms": 1000,
        "log.retention.check.interval.ms": 5000,
        "log.cleaner.backoff.ms": 2000,
        # 128 MB by default, taken whole at the start; 32 MB compact more than a million keys in one pass.
        "log.cleaner.dedupe.buffer.size": 33554432,
    }


def _escaped(path: Path) -> str:
    # Java's property files read a backslash as an escape; Kafka reads a comma in log.dirs as a second folder.
    if "," in str(path):
        raise BrokerStartError(
            f"Kafka accepts no comma in its data folder, which is {path}; choose another HEADRACE_HOME"
        )
    return json.dumps(str(path))[1:-1]
