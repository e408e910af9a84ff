"""The Java runtime that Kafka and Spark need."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headrace.core.errors import JavaNotFoundError, JavaTooOldError

OLDEST = 17
_REMEDY = (
    "Install Java 17 or 21, for example with 'apt-get install openjdk-17-jre-headless', 'brew install openjdk@21' "
    "or 'conda install openjdk=21', or set JAVA_HOME to one"
)


@dataclass(frozen=True, slots=True)
class Java:
    """A Java runtime: where it is, which major version it has, and which release of that."""

    path: Path
    version: int
    release: str


def find_java(env: Mapping[str, str] | None = None) -> Java:
    """Return the runtime of ``JAVA_HOME``, or else the one on the ``PATH``."""
    env = os.environ if env is None else env
    home = env.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home, "bin")) if home else env.get("PATH"))
    if found is None:
        where = f"JAVA_HOME is {home}, but there is no bin/java in it" if home else "there is no java on the PATH"
        raise JavaNotFoundError(f"Java was not found: {where}. {_REMEDY}.")
    release, version = _release(found)
    if version < OLDEST:
        raise JavaTooOldError(f"Java {version} at {found} is too old; Kafka needs {OLDEST} or later. {_REMEDY}.")
    return Java(Path(found), version, release)


def _release(path: str) -> tuple[str, int]:
    try:
        done = subprocess.run([path, "-version"], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise JavaNotFoundError(f"Java at {path} does not run: {error}. {_REMEDY}.") from None
    told = done.stderr.decode("utf-8", "replace")
    match = re.search(r'version "((?:1\.)?(\d+)[^"]*)"', told)
    if match is None:
        raise JavaNotFoundError(f"{path} -version did not tell a version but {told[:200]!r}. {_REMEDY}.")
    return match[1], int(match[2])
