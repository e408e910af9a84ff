import pytest

from headrace.spark.failures import reason

NESTED = """[STREAM_FAILED] Query [id = 1, runId = 2] terminated with exception: An exception was raised SQLSTATE: XXKST
=== Streaming Query ===
Traceback (most recent call last):
  File "query.py", line 1, in write
pyspark.errors.exceptions.captured.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 9, in main
ZeroDivisionError: division by zero

\tat org.apache.spark.api.python.BasePythonRunner.handle(PythonRunner.scala:1)
Caused by: java.lang.RuntimeException: other
"""

PASSED_ON = """[STREAM_FAILED] Query [id = 1] terminated with exception: An exception was raised SQLSTATE: XXKST
Traceback (most recent call last):
  File "sink.py", line 1, in write
py4j.protocol.Py4JJavaError: An error occurred while calling o24019.getResult.
: org.apache.spark.SparkException: Exception thrown in awaitResult: \n\tat org.apache.spark.util.Thread.await(Thread:1)
Caused by: org.apache.spark.SparkException: [CANNOT_COMMIT] Error writing state store files. SQLSTATE: 58030
\tat org.apache.spark.State.commit(State.scala:1)
Caused by: java.lang.IllegalStateException: the disk is full
\tat java.lang.Thread.run(Thread.java:1)
"""

PLAN_ONLY = """[STREAM_FAILED] Query [id = 1] terminated with exception: A worker did not start. SQLSTATE: XXKST
=== Streaming Query ===
Identifier: [id = 1, runId = 2]
Current State: ACTIVE
"""

OTHERWISE_CALLED = """Reason: An exception was raised by the Python Proxy: Traceback (most recent call last):
  File "table.pxi", line 1, in cast
    return call_function("cast", [arr])
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^
pyarrow.lib.ArrowInvalid: nulls in input
 SQLSTATE: 39000
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (NESTED, "ZeroDivisionError: division by zero"),
        (OTHERWISE_CALLED, "ArrowInvalid: nulls in input"),
        (PASSED_ON, "IllegalStateException: the disk is full"),
        (PASSED_ON.rpartition("Caused by")[0], "Error writing state store files."),
        (PLAN_ONLY, "A worker did not start."),
        ("[UNRESOLVED_COLUMN] No column `x`. SQLSTATE: 42703; line 1", "No column `x`."),
        ("Job aborted due to stage failure: Task 0 failed\n\tat java.lang.Thread", "Task 0 failed"),
        ("Partition gone. Some data may have been lost because", "events were deleted by the topic's retention"),
        ("", "RuntimeError"),
    ],
)
def test_the_first_cause_without_stack_traces(text, told):
    assert reason(RuntimeError(text)).startswith(told)
    assert "\tat " not in reason(RuntimeError(text))
