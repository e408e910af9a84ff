"""Python functions of the program, row by row and in Arrow batches; a row at which one raises is a dead letter."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headrace.core.errors import PlanError
from headrace.plan.rows import MapPython
from headrace.spark.columns import (
    DEAD,
    DEAD_TYPE,
    HIDDEN,
    ORIGIN,
    TIME,
    arrow_schema,
    arrow_udf,
    column,
    hidden,
    visible,
)
from headrace.spark.lowering import Context, lower

_DONE = "__done"
_ORIGIN = ("topic", "partition", "offset", "key", "value")


@lower.register(MapPython)
def _(node: MapPython, ctx: Context) -> DataFrame:
    frame = lower(node.parent, ctx)
    if ORIGIN not in frame.columns:
        frame = frame.withColumn(ORIGIN, _row_as_origin(node, frame, ctx))
    if DEAD not in frame.columns:  # a step with memory has left them behind
        frame = frame.withColumn(DEAD, F.lit(None).cast(DEAD_TYPE))
    return (_by_batch if node.batches else _by_row)(node, frame, ctx.tells(node))


def _called(node: MapPython) -> str:
    return f"{node.verb} {node.name}"


def _row_as_origin(node: MapPython, frame: DataFrame, ctx: Context) -> Column:
    """Return what stands for the event of a row that a join has made of two: the row itself, in the output's name."""
    if after := next((n for n in ctx.stage.stateful if any(earlier is node for earlier in n.walk())), None):
        raise PlanError(
            f"'{node.label}' stands between a join and '{after.label}', where rows at which it raises would be lost; "
            "write through('topic') after it"
        )
    row = F.to_json(F.struct(*map(column, visible(frame)))).cast("binary")
    nowhere = [F.lit(ctx.stage.name), F.lit(-1), F.lit(-1).cast("long"), F.lit(None).cast("binary"), row]
    return F.struct(*(part.alias(name) for part, name in zip(nowhere, _ORIGIN, strict=True)))


def _by_row(node: MapPython, frame: DataFrame, tells: bool) -> DataFrame:
    """Compute the new row beside the hidden columns, which stay in the JVM: so the row keeps its time."""
    returns = f"struct<row: struct<{node.result.ddl}>, error: string>"
    kind = arrow_schema(f"done {returns}").field("done").type
    function = arrow_udf(_rows(node.function, _called(node), kind), returns)
    row = F.when(F.col(DEAD).isNull(), F.struct(*map(column, visible(frame))))
    done = frame.withColumn(_DONE, function(row))
    failed = F.when(
        F.col(f"{_DONE}.error").isNotNull(), F.struct(F.col(f"{_DONE}.error").alias("reason"), f"{ORIGIN}.*")
    )
    marked = done.withColumn(DEAD, F.coalesce(F.col(DEAD), failed)) if tells else done
    kept = marked.filter(F.col(DEAD).isNotNull() | F.col(f"{_DONE}.row").isNotNull())
    return kept.select(f"{_DONE}.row.*", *hidden(kept))


def _rows(function: Callable[[Any], Any], called: str, kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    row_kind = kind.field("row").type

    def compute(rows: pa.Array) -> pa.Array:
        done: list[dict[str, Any]] = []
        for row in rows.to_pylist(maps_as_pydicts="lossy"):
            if row is None:
                done.append({"row": None, "error": None})
                continue
            try:
                done.append({"row": function(row), "error": None})
            except Exception as error:  # the user's function may raise anything
                done.append({"row": None, "error": _told(called, error)})
        try:
            return pa.array(done, type=kind)
        except Exception:  # Arrow raises many kinds: find the row that does not fit
            return pa.array([_fitting(item, row_kind, called) for item in done], type=kind)

    return compute


def _fitting(item: dict[str, Any], kind: pa.DataType, called: str) -> dict[str, Any]:
    try:
        pa.array([item["row"]], type=kind)
    except Exception as error:
        return {"row": None, "error": _told(f"{called}: what it returned does not fit its schema:", error)}
    return item


def _told(called: str, error: Exception) -> str:
    return f"{called} raised {type(error).__name__}: {error}"[:1000]


def _by_batch(node: MapPython, frame: DataFrame, tells: bool) -> DataFrame:
    frame = frame.drop(TIME) if TIME in frame.columns else frame
    result = f"{node.result.ddl}, {DEAD} {DEAD_TYPE}"
    schema = arrow_schema(result)
    return frame.mapInArrow(_batches(node.function, _called(node), schema, tells), result)


def _batches(
    function: Callable[[Any], Any], called: str, schema: pa.Schema, tells: bool
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    plain = pa.schema([field for field in schema if field.name != DEAD])

    def apply(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
        given = function(batch)
        parts = given.to_batches() if isinstance(given, pa.Table) else given
        return [_cast(part, plain) for part in ([parts] if isinstance(parts, pa.RecordBatch) else parts)]

    def compute(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            alive = batch.column(DEAD).is_null()
            dead = batch.filter(pc.invert(alive))
            if dead.num_rows:
                yield _dead_rows(dead.column(DEAD), schema)
            living = batch.filter(alive)
            if not living.num_rows:
                continue
            rows = living.select([name for name in living.schema.names if name not in HIDDEN])
            try:
                parts = apply(rows)
            except Exception:  # one row may have spoilt the batch: find it
                yield from _one_by_one(rows, living)
                continue
            yield from (_alive(part, schema) for part in parts)

    def _one_by_one(rows: pa.RecordBatch, living: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        for number in range(rows.num_rows):
            try:
                parts = apply(rows.slice(number, 1))
            except Exception as error:  # the user's function may raise anything
                letter = {"reason": _told(called, error), **living.column(ORIGIN)[number].as_py()}
                if tells:
                    yield _dead_rows(pa.array([letter], type=schema.field(DEAD).type), schema)
                continue
            yield from (_alive(part, schema) for part in parts)

    return compute


def _cast(part: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([part.column(field.name).cast(field.type) for field in schema], schema=schema)


def _alive(part: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([*part.columns, pa.nulls(part.num_rows, schema.field(DEAD).type)], schema=schema)


def _dead_rows(letters: pa.Array, schema: pa.Schema) -> pa.RecordBatch:
    plain = [pa.nulls(len(letters), field.type) for field in schema if field.name != DEAD]
    return pa.RecordBatch.from_arrays([*plain, letters.cast(schema.field(DEAD).type)], schema=schema)
