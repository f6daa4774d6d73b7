"""A corpus that is distributed: documents are read where they are, and an index is built of them.

What a file holds is decided as on one machine (:mod:`setveil.text.documents`): text that is HTML is
stripped of its tags, files that are no text are passed over. The words of documents are found on
the workers and sorted there. What comes here is the list of different spellings, one number per
document, and the lists of the index itself, piece by piece into its file: it is the file that
:func:`setveil.relatedness.build_index` writes.
"""

from __future__ import annotations

import gzip
import tempfile
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import unquote

import numpy as np

from setveil.core.arrays import Int64Array, offsets_of
from setveil.core.errors import InputError, ParameterError
from setveil.core.files import output_file, shown_name
from setveil.core.table import Vocabulary
from setveil.engine.spark import Spark, spoken_errors, unwarned
from setveil.io.delimited import checked_delimiter
from setveil.relatedness.index import (
    END,
    NARROW,
    CorpusIndex,
    file_array,
    word_forms,
    words_of_many,
    write_sections,
)
from setveil.spark.batches import lists_of, map_batches
from setveil.spark.reading import place_of, reader_of
from setveil.spark.table import DistributedTable, count_items, quoted, sorted_rows
from setveil.text.documents import (
    ENDINGS,
    TEXT_FIELDS,
    decode_text,
    foreign_kind,
    html_to_text,
    looks_like_html,
)

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Iterator, Sequence

    import numpy.typing as npt
    import pyarrow as pa
    from pyspark import Broadcast
    from pyspark.sql import Column, DataFrame, SparkSession


FILE, PLACE, TEXT, WORDS, DOCUMENT = "file", "place", "text", "words", "document"
SORTED = "words binary, occurrences binary, held binary, postings binary, places binary"
DOCUMENTS = 4096
"""How many documents a worker takes at a time."""
PATH, BLOCK = "path", "block"
READ = f"{FILE} bigint, {PLACE} bigint, {TEXT} string"
HEAD = 1 << 16
FILES = 64
"""How many files a worker takes at a time."""


# --- the index ------------------------------------------------------------------------------------


class Spellings(NamedTuple):
    """The different spellings of a corpus, and for each the number of its word."""

    forms: tuple[str, ...]
    word_of: npt.NDArray[np.int32]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class DistributedCorpus:
    """The words of documents over many machines: one row per document.

    Parameters
    ----------
    frame
        Columns ``file`` (files, or blocks of files, stand in the order of these numbers),
        ``place`` (numbers that rise within a file) and ``words`` (``array<string>``, in the order
        of the text).
    singulars
        Whether English plurals are put under their singulars; needs ``setveil[text]``.
    """

    frame: DataFrame
    singulars: bool = True

    def __repr__(self) -> str:
        return f"<DistributedCorpus: {self.frame.count():,} documents>"

    @classmethod
    def from_texts(
        cls, frame: DataFrame, text: str = TEXT, *, singulars: bool = True
    ) -> DistributedCorpus:
        """Find the words of texts.

        Parameters
        ----------
        frame
            A column of texts; and, where documents have an order, ``file`` and ``place``.
        text
            Name of the column; a null is a document without words.
        singulars
            As the index is to be built.

        Notes
        -----
        Spark keeps the words, in memory and on disk, until ``corpus.frame.unpersist()``.
        """
        from pyspark.sql import functions as sql

        if text not in frame.columns:
            raise InputError(
                f"there is no column {text!r}", fix=f"use one of {', '.join(frame.columns)}"
            )
        order = {FILE: sql.spark_partition_id(), PLACE: sql.monotonically_increasing_id()}
        chosen = frame.select(
            *(
                (sql.col(name) if name in frame.columns else made).cast("bigint").alias(name)
                for name, made in order.items()
            ),
            sql.coalesce(sql.col(text).cast("string"), sql.lit("")).alias(TEXT),
        )
        schema = f"{FILE} bigint, {PLACE} bigint, {WORDS} array<string>"
        found = map_batches(chosen, find_words, schema, rows=DOCUMENTS)
        return cls(frame=found.persist(), singulars=singulars)

    @property
    def silent(self) -> int:
        """Number of documents without words."""
        from pyspark.sql import functions as sql

        with spoken_errors():
            return self.frame.where(sql.size(WORDS) == 0).count()

    def spellings(self) -> tuple[Spellings, dict[str, npt.NDArray[Any]]]:
        """Return the different spellings, and the arrays of an index that tell about them."""
        from pyspark.sql import functions as sql

        with spoken_errors():
            each = self.frame.select(sql.explode(sql.array_distinct(WORDS)).alias("form"))
            forms = sorted(each.distinct().toArrow()["form"].to_pylist())
        if not forms:
            raise InputError("there are no words in the corpus", fix="give it texts")
        arrays, word_of = word_forms(forms, singulars=self.singulars)
        return Spellings(tuple(forms), word_of), arrays

    def table(self) -> DistributedTable:
        """Return the documents as records of words.

        Its supports are the document counts of an index, and
        :meth:`~setveil.spark.DistributedTable.pair_counts` counts the documents that hold two
        words: for a corpus whose index would not fit a disk.
        """
        known, arrays = self.spellings()
        context = self.frame.sparkSession.sparkContext
        frame = map_batches(
            self.frame.select(WORDS),
            partial(number_words, known=context.broadcast(known)),
            "items array<int>",
            rows=DOCUMENTS,
        )
        names = _names(arrays)
        supports = count_items(frame, len(names))
        return DistributedTable(
            frame=frame, vocabulary=Vocabulary(names=names), item_supports=supports
        )

    def write_index(self, path: str | os.PathLike[str]) -> CorpusIndex:
        """Write the index over the corpus, and open it.

        Byte for byte what :func:`setveil.relatedness.build_index` writes for the same documents
        in the same order. The file appears whole or not at all.

        Raises
        ------
        InputError
            There is no word in any document, or the file cannot be written.
        """
        known, arrays = self.spellings()
        documents = self._numbered()
        arrays["document_starts"] = starts = _document_starts(documents)
        context = self.frame.sparkSession.sparkContext
        tokens = map_batches(
            documents,
            partial(place_tokens, known=context.broadcast(known), starts=context.broadcast(starts)),
            "word int, document bigint, place bigint",
            rows=DOCUMENTS,
        )
        # One word of one document is never cut apart: it is listed once.
        ordered = tokens.repartitionByRange("word", DOCUMENT).sortWithinPartitions("word", PLACE)
        with unwarned():
            packed = ordered.mapInArrow(Packed(wide=bool(starts[-1] > NARROW)), SORTED)
        try:
            _write(path, packed, arrays, singulars=self.singulars)
        except OSError as error:
            raise InputError(
                f"the index cannot be written: {error.strerror or error}",
                where=shown_name(path),
                fix="check that the directory exists, can be written to and has room",
            ) from None
        return CorpusIndex.open(path)

    def _numbered(self) -> DataFrame:
        """Give documents numbers: file after file, in each by place."""
        from pyspark.sql import Window
        from pyspark.sql import functions as sql

        within = sql.row_number().over(Window.partitionBy(FILE).orderBy(PLACE)) - 1
        with spoken_errors():
            sizes = self.frame.groupBy(FILE).count().orderBy(FILE).toArrow()
        begins = offsets_of(sizes["count"].to_numpy())[:-1]
        offsets = self.frame.sparkSession.createDataFrame(
            sizes.select([FILE]).append_column("begin", [begins.astype(np.int64)])
        )
        named = self.frame.withColumn("within", within).join(sql.broadcast(offsets), FILE)
        number = (sql.col("begin") + sql.col("within")).cast("bigint")
        return named.select(number.alias(DOCUMENT), WORDS)


def _document_starts(documents: DataFrame) -> Int64Array:
    """Return where documents begin: one place stays empty after each."""
    from pyspark.sql import functions as sql

    with spoken_errors():
        found = documents.select(DOCUMENT, sql.size(WORDS).alias("length")).toArrow()
    lengths = np.zeros(len(found), dtype=np.int64)
    lengths[found[DOCUMENT].to_numpy()] = found["length"].to_numpy()
    return offsets_of(lengths + 1)


def _names(arrays: dict[str, npt.NDArray[Any]]) -> tuple[str, ...]:
    """Return the words, by number."""
    starts, text = arrays["form_starts"].tolist(), arrays["form_text"].tobytes()
    places = arrays["word_forms"].tolist()
    return tuple(text[starts[place] : starts[place + 1]].decode() for place in places)


# --- documents ------------------------------------------------------------------------------------


def read_documents(
    paths: Sequence[str],
    engine: Spark | None = None,
    *,
    format: str | None = None,
    text_field: str | None = None,
    delimiter: str | None = None,
    on_error: str = "raise",
) -> DataFrame:
    """Read documents for :meth:`DistributedCorpus.from_texts`.

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


def find_words(table: pa.Table) -> pa.Table:
    """Find the words of texts, all of a batch at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    words = pa.array(words_of_many(table[TEXT].to_pylist()), pa.string())
    is_end = pc.equal(words, END)
    ends = np.flatnonzero(is_end.to_numpy(zero_copy_only=False))
    offsets = np.concatenate([[0], ends - np.arange(len(ends))]).astype(np.int32)
    lists = pa.ListArray.from_arrays(pa.array(offsets), words.filter(pc.invert(is_end)))
    return pa.table({FILE: table[FILE], PLACE: table[PLACE], WORDS: lists})


def _word_rows(table: pa.Table, known: Spellings) -> tuple[Int64Array, npt.NDArray[np.int32]]:
    """Return the documents of a batch as compressed rows of numbers of words."""
    import pyarrow as pa
    import pyarrow.compute as pc

    lists = table[WORDS].combine_chunks()
    offsets = lists.offsets.to_numpy().astype(np.int64)
    texts = lists.values.slice(offsets[0], offsets[-1] - offsets[0])
    forms = pc.index_in(texts, value_set=pa.array(known.forms, texts.type)).to_numpy()
    return offsets - offsets[0], known.word_of[forms]


def number_words(table: pa.Table, known: Broadcast[Spellings]) -> pa.Table:
    """Return documents as sets of numbers of words."""
    import pyarrow as pa

    width = int(known.value.word_of.max()) + 1
    return pa.table({"items": lists_of(*sorted_rows(*_word_rows(table, known.value), width))})


def place_tokens(
    table: pa.Table, known: Broadcast[Spellings], starts: Broadcast[Int64Array]
) -> pa.Table:
    """Return each word of documents with its document and its place in the corpus."""
    import pyarrow as pa

    offsets, words = _word_rows(table, known.value)
    document = table[DOCUMENT].to_numpy()
    lengths = np.diff(offsets)
    begins = np.repeat(starts.value[document] - offsets[:-1], lengths)
    return pa.table(
        {
            "word": words.astype(np.int32),
            DOCUMENT: np.repeat(document, lengths),
            PLACE: begins + np.arange(len(words)),
        }
    )


@dataclass(frozen=True)
class Packed:
    """Sorted words of a partition as pieces of the lists of an index, in its own types."""

    wide: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Yield a row for each batch: bytes, as they stand in the file."""
        import pyarrow as pa

        before = (-1, -1)
        for batch in batches:
            if not len(batch):
                continue
            word, document, place = (batch.column(i).to_numpy() for i in range(3))
            fresh = np.ones(len(word), dtype=bool)
            fresh[1:] = (np.diff(word) != 0) | (np.diff(document) != 0)
            fresh[0] = (word[0], document[0]) != before
            before = (word[-1], document[-1])
            words, first = np.unique(word, return_index=True)
            parts = (
                words.astype("<i8"),
                np.diff(np.append(first, len(word))).astype("<i8"),
                np.add.reduceat(fresh.astype("<i8"), first),
                document[fresh].astype("<u4"),
                place.astype("<i8" if self.wide else "<u4"),
            )
            yield pa.RecordBatch.from_arrays(
                [pa.array([part.tobytes()], pa.binary()) for part in parts],
                ["words", "occurrences", "held", "postings", "places"],
            )


# --- the file -------------------------------------------------------------------------------------


def _write(
    path: str | os.PathLike[str],
    packed: DataFrame,
    arrays: dict[str, npt.NDArray[Any]],
    *,
    singulars: bool,
) -> None:
    """Bring the sorted pieces here one after the other, and write the file."""
    from pyspark import StorageLevel

    n_words = len(arrays["word_forms"])
    counts = {name: np.zeros(n_words, dtype=np.int64) for name in ("occurrences", "held")}
    folder = Path(path).parent
    with tempfile.TemporaryFile(dir=folder) as spots, tempfile.TemporaryFile(dir=folder) as lists:
        with spoken_errors():
            # All partitions are sorted side by side first; then they come in their order.
            kept = packed.persist(StorageLevel.DISK_ONLY)
            kept.count()
            for row in kept.toLocalIterator():
                words = np.frombuffer(row["words"], dtype="<i8")
                for name, total in counts.items():
                    total[words] += np.frombuffer(row[name], dtype="<i8")
                lists.write(row["postings"])
                spots.write(row["places"])
            kept.unpersist()
        for name, of in (("place_starts", "occurrences"), ("posting_starts", "held")):
            arrays[name] = offsets_of(counts[of])
        wide = bool(arrays["document_starts"][-1] > NARROW)
        spots.flush()
        lists.flush()
        arrays["places"] = file_array(
            spots, "<i8" if wide else "<u4", int(arrays["place_starts"][-1])
        )
        arrays["postings"] = file_array(lists, "<u4", int(arrays["posting_starts"][-1]))
        with output_file(path) as out:
            write_sections(out, arrays, singulars=singulars)
