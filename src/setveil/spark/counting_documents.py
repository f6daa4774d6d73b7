"""Reading documents where they are: folders of text, JSON lines, tables, Parquet.

What a file holds is decided as on one machine (:mod:`setveil.text.documents`): text that is HTML is
stripped of its tags, files that are no text are passed over.
"""

from __future__ import annotations

import gzip
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from setveil.core.errors import InputError, ParameterError
from setveil.engine.spark import Spark, spoken_errors
from setveil.io.delimited import checked_delimiter
from setveil.spark.batches import map_batches
from setveil.spark.counting import DOCUMENTS, FILE, PLACE, TEXT
from setveil.spark.sources import place_of, reader_of
from setveil.spark.table import quoted
from setveil.text.documents import (
    ENDINGS,
    TEXT_FIELDS,
    decode_text,
    foreign_kind,
    html_to_text,
    looks_like_html,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

PATH, BLOCK = "path", "block"
READ = f"{FILE} bigint, {PLACE} bigint, {TEXT} string"
HEAD = 1 << 16
FILES = 64
"""How many files a worker takes at a time."""


def read_documents(
    paths: Sequence[str],
    engine: Spark | None = None,
    *,
    format: str | None = None,
    text_field: str | None = None,
    delimiter: str | None = None,
    on_error: str = "raise",
) -> DataFrame:
    """Read documents for :meth:`setveil.spark.counting.DistributedCorpus.from_texts`.

    Parameters
    ----------
    paths
        Folders of text files, text files, JSON lines, tables with a header, Parquet: on a disk
        that all workers share, or addresses such as ``hdfs://...``. They stand in this order.
    engine
        The Spark that reads; all cores of this machine if not given.
    format
        ``text``, ``jsonl``, ``csv`` or ``parquet``; by the ending if not given.
    text_field
        Field or column that holds the text; ``text``, ``body`` or ``content`` if not given.
    delimiter
        What separates the columns of a table; a tab for ``.tsv``, else a comma.
    on_error
        ``"raise"`` stops at a malformed line, ``"skip"`` leaves such lines out.

    Returns
    -------
    DataFrame
        Columns ``file``, ``place`` and ``text``.

    Notes
    -----
    Spark passes over files whose names begin with ``_`` or a dot, and over empty ones.
    """
    session = (engine or Spark()).start()
    parts: list[DataFrame] = []
    files = 0
    for path in paths:
        if path == "-":
            raise ParameterError("Spark cannot read standard input", fix="name a file")
        chosen = format or _guessed(path)
        reader = {"text": _files, "jsonl": _json_lines, "csv": _table, "parquet": _parquet}[chosen]
        with spoken_errors():
            found = reader(session, path, text_field, delimiter, on_error)
        named, files = _in_order(found, files)
        clean = read_texts if chosen == "text" else strip_tags
        rows = FILES if chosen == "text" else DOCUMENTS
        parts.append(map_batches(named, clean, READ, rows=rows))
    frame = parts[0]
    for part in parts[1:]:
        frame = frame.unionByName(part)
    return frame


def _guessed(path: str) -> str:
    name = path.lower().removesuffix(".gz").removesuffix(".zst")
    ending = PurePosixPath(name).suffix
    return "parquet" if ending == ".parquet" else ENDINGS.get(ending, "text")


def _in_order(frame: DataFrame, first: int) -> tuple[DataFrame, int]:
    """Give files, and blocks of files, numbers in the order in which one machine reads them."""
    from pyspark.sql import functions as sql

    with spoken_errors():  # where rows come from: no content is read for it
        found = [tuple(row) for row in frame.select(PATH, BLOCK).distinct().collect()]
    found.sort(key=lambda key: (_walk(key[0]), key[1]))
    rows = [(*key, number) for number, key in enumerate(found, first)]
    schema = f"{PATH} string, {BLOCK} bigint, {FILE} bigint"
    numbers = frame.sparkSession.createDataFrame(rows, schema)
    named = frame.join(sql.broadcast(numbers), [PATH, BLOCK])
    return named.select(FILE, PLACE, PATH, TEXT), first + len(rows)


def _walk(path: str) -> list[tuple[int, str]]:
    """Return what sorts paths as a walk does: the files of a folder, then its folders.

    >>> sorted(["a/b/c.txt", "a/z.txt", "a/b.txt"], key=_walk)
    ['a/b.txt', 'a/z.txt', 'a/b/c.txt']
    """
    *folders, name = unquote(path).split("/")
    return [*((1, folder) for folder in folders), (0, name)]


# --- formats --------------------------------------------------------------------------------------


def _metadata(*, lines: bool = True) -> list[Column]:
    """Return where a row of a file comes from."""
    from pyspark.sql import functions as sql

    block = sql.col("_metadata.file_block_start") if lines else sql.lit(0).cast("bigint")
    return [
        sql.col("_metadata.file_path").alias(PATH),
        block.alias(BLOCK),
        sql.monotonically_increasing_id().alias(PLACE),
    ]


def _files(session: SparkSession, path: str, *_: Any) -> DataFrame:
    from pyspark.sql import functions as sql

    files = reader_of(session, path).format("binaryFile").option("recursiveFileLookup", "true")
    found = files.load(place_of(path))
    return found.select(*_metadata(lines=False), sql.col("content").alias(TEXT))


def _json_lines(
    session: SparkSession, path: str, field: str | None, _: str | None, on_error: str
) -> DataFrame:
    from pyspark.sql import functions as sql

    lines = reader_of(session, path).text(place_of(path)).select(*_metadata(), "value")
    lines = lines.where(sql.trim("value") != "")
    values = sql.from_json("value", "map<string,string>")
    fields = TEXT_FIELDS if field is None else (field,)
    there = sql.coalesce(
        *(sql.when(sql.map_contains_key("values", name), sql.lit(name)) for name in fields)
    )
    lines = lines.withColumn("values", values).withColumn("field", there)
    if on_error == "skip":
        lines = lines.where("field is not null")
    said = sql.concat(
        sql.lit(f"InputError: a line is no JSON object with a field {fields[0]!r}: "),
        sql.substring("value", 1, 60),
    )
    text = sql.when(sql.col("field").isNull(), sql.raise_error(said)).otherwise(
        sql.element_at("values", sql.col("field"))
    )
    return lines.select(PATH, BLOCK, PLACE, text.alias(TEXT))


def _table(
    session: SparkSession, path: str, field: str | None, delimiter: str | None, on_error: str
) -> DataFrame:
    tabs = PurePosixPath(path.lower().removesuffix(".gz")).suffix == ".tsv"
    found = reader_of(session, path).csv(
        place_of(path),
        header=True,
        sep=checked_delimiter(delimiter or ("tab" if tabs else "comma")),
        quote='"',
        escape='"',
        multiLine=True,
        mode="DROPMALFORMED" if on_error == "skip" else "FAILFAST",
    )
    return _column(found, path, field)


def _parquet(session: SparkSession, path: str, field: str | None, *_: Any) -> DataFrame:
    return _column(reader_of(session, path).parquet(place_of(path)), path, field)


def _column(frame: DataFrame, path: str, field: str | None) -> DataFrame:
    from pyspark.sql import functions as sql

    wanted = TEXT_FIELDS if field is None else (field.lower(),)
    by_name = {name.lower(): name for name in frame.columns}
    chosen = next((by_name[name] for name in wanted if name in by_name), None)
    if chosen is None:
        raise InputError(
            f"there is no column {wanted[0]!r}",
            where=path,
            fix=f"name the column of the text with --text-field: {', '.join(frame.columns[:10])}",
        )
    return frame.select(*_metadata(), sql.col(quoted(chosen)).cast("string").alias(TEXT))


# --- on the workers -------------------------------------------------------------------------------


def read_texts(table: pa.Table) -> pa.Table:
    """Return the files of a batch that are text, decoded; others are left out."""
    import pyarrow as pa

    texts, kept = [], []
    contents = zip(table[PATH].to_pylist(), table[TEXT].to_pylist(), strict=True)
    for place, (path, content) in enumerate(contents):
        name = path.lower()
        if name.endswith(".zst"):
            raise InputError("Spark does not unpack zstd", where=unquote(path), fix="unpack it")
        plain = gzip.decompress(content) if name.endswith(".gz") else content
        is_table = PurePosixPath(name.removesuffix(".gz")).suffix in ENDINGS
        if not is_table and not foreign_kind(plain[:HEAD]):
            texts.append(decode_text(plain))
            kept.append(place)
    found = table.select([FILE, PLACE]).take(pa.array(kept, pa.int64()))
    return strip_tags(found.append_column(TEXT, pa.array(texts, pa.string())))


def strip_tags(table: pa.Table) -> pa.Table:
    """Return the texts of a batch, those that are HTML without their tags."""
    import pyarrow as pa
    import pyarrow.compute as pc

    written = pc.fill_null(table[TEXT], "")
    texts = written.to_pylist()
    tagged = pc.indices_nonzero(pc.match_substring(written, "<"))
    for place in tagged.to_pylist():  # the few that may be HTML
        if looks_like_html(texts[place]):
            texts[place] = html_to_text(texts[place])
    found = table.select([FILE, PLACE])
    return found.append_column(TEXT, pa.array(texts, pa.string()))
