"""The parent of Spark's Python workers, with what they need loaded before they are forked.

Spark's own loads nothing, so each new worker takes half a second of a core for it, longer than most tasks last.
"""

import gc

import numpy  # noqa: F401 - to be there when a worker asks for it, as all below
import pandas  # noqa: F401
import pyarrow  # noqa: F401
import pyspark.worker  # noqa: F401
from pyspark import daemon

import headrace.operators.alerting
import headrace.operators.changes
import headrace.operators.groups
import headrace.operators.pairs
import headrace.operators.process
import headrace.operators.sessions
import headrace.operators.sliding
import headrace.operators.versions
import headrace.operators.weights
import headrace.spark.host
import headrace.spark.python
import headrace.spark.sink  # noqa: F401

if __name__ == "__main__":
    gc.freeze()  # what is loaded stays shared between all workers
    daemon.manager()
