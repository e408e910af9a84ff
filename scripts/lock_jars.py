"""Write headrace/core/jars.lock: resolve the roots, then record every jar with its SHA-256.

Run it with ``make lock`` after changing a version below; it needs a network.
"""

import hashlib
from pathlib import Path

import jgo
from jgo.maven import Artifact, MavenContext

ROOTS = {
    "broker": [
        "org.apache.kafka:kafka_2.13:4.3.1",
        "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",  # without a binding the broker keeps no log of its own
    ],
}
EXACT = {  # taken as they are, without what they ask for: Spark has the rest
    "spark": [
        "org.apache.spark:spark-sql-kafka-0-10_2.13:4.2.0",
        "org.apache.spark:spark-token-provider-kafka-0-10_2.13:4.0.0",  # later ones are not everywhere; it fits
        "org.apache.kafka:kafka-clients:3.9.2",
        "org.apache.commons:commons-pool2:2.13.1",
        "com.globalmentor:hadoop-bare-naked-local-fs:0.1.0",  # local files without a process for each chmod
    ],
}
LOCK = Path(__file__).parent.parent / "headrace" / "core" / "jars.lock"


def main() -> None:
    """Resolve every part and write the lock file."""
    lines = ["# Written by scripts/lock_jars.py (make lock): coordinates and SHA-256 of every jar."]
    for part, roots in ROOTS.items():
        found: dict[str, str] = {}
        for root in roots:
            for artifact in jgo.resolve(root):
                found.setdefault(f"{artifact.groupId}:{artifact.artifactId}:{artifact.version}", _sum(artifact))
        lines += _section(part, found)
    for part, roots in EXACT.items():
        lines += _section(part, {root: _sum(_artifact(root)) for root in roots})
    LOCK.write_text("\n".join(lines) + "\n", "utf-8")


def _artifact(coordinates: str) -> Artifact:
    group, name, version = coordinates.split(":")
    return MavenContext().project(group, name).at_version(version).artifact()


def _sum(artifact: Artifact) -> str:
    return hashlib.sha256(artifact.resolve().read_bytes()).hexdigest()


def _section(part: str, jars: dict[str, str]) -> list[str]:
    return ["", f"[{part}]", *(f'"{coordinates}" = "{sha256}"' for coordinates, sha256 in sorted(jars.items()))]


if __name__ == "__main__":
    main()
