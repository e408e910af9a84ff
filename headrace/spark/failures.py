"""What Spark says, in the user's terms."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from headrace.core.errors import HeadraceError, PlanError, QueryFailedError
from headrace.plan.stages import Stage

_NOISE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_CLASS = re.compile(r"^(?:[\w.$]+: )?\[([A-Z0-9_.]+)\]\s*")
_FRAME = ("[STREAM_FAILED]", "=== ", "Traceback", "\tat ", "  File ")
_ENDED = re.compile(r"^\[STREAM_FAILED\].* terminated with exception: (.+)", re.MULTILINE)
_JAVA = re.compile(r"^(?:Caused by)?: (?!py4j)([\w.$]+(?:Error|Exception)\b.*)", re.MULTILINE)


@contextmanager
def explained(stage: Stage) -> Iterator[None]:
    """Turn what Spark's analyser refuses into a `PlanError` that names the stage and its line."""
    from pyspark.errors import PySparkException  # noqa: PLC0415 - not before Spark is needed

    try:
        yield
    except HeadraceError:
        raise
    except PySparkException as error:
        told = PlanError(f"the stage {stage.name!r} cannot run: {reason(error)}")
        if stage.where:
            told.add_note(f"declared at {stage.where}")
        raise told from error


def failure(stage: str, error: BaseException, where: str = "") -> QueryFailedError:
    """Return why a running stage failed."""
    told = QueryFailedError(f"the stage {stage!r} failed: {reason(error)}")
    if where:
        told.add_note(f"declared at {where}")
    return told


def reason(error: BaseException) -> str:
    """Return the first cause of an error of Spark, without the stack traces of Java and Python in it."""
    text = str(error)
    if hint := next((hint for sign, hint in _HINTS.items() if sign in text), None):
        return hint
    found = _python_error(text)
    if found and not found.startswith("Py4J"):
        return found
    if causes := _JAVA.findall(text):  # what Python only passes on
        return _plain(causes[-1])
    if ended := _ENDED.search(text):
        return _plain(ended[1])
    for line in text.splitlines():
        if line.strip() and not line.startswith(_FRAME):
            return _plain(line)
    return type(error).__name__


def _plain(line: str) -> str:
    plain = _NOISE.sub("", _CLASS.sub("", line.strip()))
    for prefix in ("Job aborted due to stage failure: ", "org.apache.spark.", "java.lang."):
        plain = plain.removeprefix(prefix)
    return plain


def _python_error(text: str) -> str | None:
    """Return what was raised in a Python worker: the innermost of the tracebacks that Spark puts into each other."""
    _, found, inside = text.rpartition("Traceback (most recent call last):")
    for line in inside.splitlines() if found else ():
        if re.match(r"[A-Za-z_][\w.]*(:|$)", line):  # the first line that is not indented
            return _strip_module(line.strip())
    return None


def _strip_module(line: str) -> str:
    name, colon, rest = line.partition(":")
    return f"{name.rpartition('.')[2]}{colon}{rest}"


_HINTS = {
    "Some data may have been lost": (
        "events were deleted by the topic's retention before they were read. Raise the retention, and start the "
        "program with another version= to go on with what is left"
    ),
    "UnknownTopicOrPartition": "a topic that the stage reads is gone. Create it again, or start with another version=",
    "Multiple streaming queries are concurrently using": "another program uses the same checkpoint. Stop one of them",
    "OutOfMemoryError": (
        "Spark ran out of memory. Lower max_batch=, or give it more with spark={'spark.driver.memory': '4g'}"
    ),
}
