"""Write headrace/core/jars.lock: resolve the roots, then record every jar with its SHA-256.

Run it with ``make lock`` after changing a version below; it needs a network.
"""

import hashlib
from pathlib import Path

import jgo

ROOTS = {
    "broker": [
        "org.apache.kafka:kafka_2.13:4.3.1",
        "org.apache.logging.log4j:log4j-slf4j-impl:2.25.4",  # without a binding the broker keeps no log of its own
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
                sha256 = hashlib.sha256(artifact.resolve().read_bytes()).hexdigest()
                found.setdefault(f"{artifact.groupId}:{artifact.artifactId}:{artifact.version}", sha256)
        lines += ["", f"[{part}]", *(f'"{coordinates}" = "{sha256}"' for coordinates, sha256 in sorted(found.items()))]
    LOCK.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
