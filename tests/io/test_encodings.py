"""Text in any encoding becomes UTF-8; what does not decode is said with its place."""

from __future__ import annotations

import codecs
import gzip
import io
import sys
import tracemalloc

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from setveil.core.errors import InputError, ParameterError, Problems
from setveil.io import sources
from setveil.io.sources import Source, text_lines

GERMAN = "Patient,Diagnose\nMüller,Grippe\nJäger,Übelkeit\nWeiß,Rückenschmerzen\n"
FRENCH = "id,produit\n1,café crème\n2,pâté\n3,bœuf haché\n4,œuf – 12 €\n"
SPANISH = "id,nombre\n1,niño\n2,corazón\n3,¿qué?\n"
POLISH = "id,nazwa\n1,żółty ser\n2,mąka pszenna\n3,śmietana\n4,jabłko\n5,chleb żytni\n"
CZECH = "id,název\n1,příliš žluťoučký kůň\n2,mléko čerstvé\n3,švestky sušené\n"
RUSSIAN = "код,товар\n1,молоко\n2,хлеб ржаной\n3,сыр голландский\n4,яблоки\n"
GREEK = "κωδ,προϊόν\n1,γάλα\n2,ψωμί\n3,τυρί φέτα\n"
JAPANESE = "番号,商品\n1,牛乳\n2,食パン\n3,りんごジュース\n4,チーズ\n"
CHINESE = "编号,商品\n1,牛奶\n2,全麦面包\n3,苹果汁\n4,奶酪\n"
TAIWANESE = "編號,商品\n1,牛奶\n2,全麥麵包\n3,蘋果汁\n4,乳酪\n"
KOREAN = "번호,상품\n1,우유\n2,식빵\n3,사과주스\n4,치즈\n"


@pytest.fixture
def file(tmp_path):
    def make(content, name="a.csv"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return make


def text_of(path, encoding=None):
    with Source(path, encoding=encoding) as source:
        found = source.encoding
        return b"".join(source.blocks()).decode(), found


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *[(GERMAN, each) for each in ("cp1252", "mac_roman", "cp850")],
        *[(FRENCH, each) for each in ("cp1252", "iso8859_15", "mac_roman")],
        ("a,b\ncafé\nmilk\n", "cp1252"),
        ("a,b\ncafé\nmilk\n", "mac_roman"),
        (SPANISH, "cp1252"),
        *[(text, each) for text in (POLISH, CZECH) for each in ("cp1250", "iso8859_2")],
        *[(RUSSIAN, each) for each in ("cp1251", "koi8_r")],
        (GREEK, "cp1253"),
        *[(JAPANESE, each) for each in ("cp932", "euc_jp")],
        (CHINESE, "gb18030"),
        (TAIWANESE, "big5"),
        (KOREAN, "cp949"),
    ],
)
@pytest.mark.parametrize("times", [1, 40, 3000])
def test_encodings_are_told_by_their_letters(file, text, encoding, times):
    content = (text * times).encode(encoding, "replace")
    found, _ = text_of(file(content))
    assert found == content.decode(encoding)


def test_cp1252_is_taken_where_others_read_the_same(file):
    assert text_of(file(GERMAN.encode("latin-1")))[1] == "cp1252"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
@pytest.mark.parametrize("mode", [None, sources.UNICODE, "named"])
@pytest.mark.parametrize("text", [GERMAN, JAPANESE, "a,b\n" * 50_000])
def test_byte_order_marks(file, encoding, mode, text):
    path = file(("\ufeff" + text).encode(encoding))
    found, told = text_of(path, encoding[:6].removesuffix("-") if mode == "named" else mode)
    assert found == text
    assert told == ("utf-8-sig" if encoding == "utf-8" else encoding)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("text", [GERMAN, JAPANESE, RUSSIAN, "a,b\n", "3 4\r\n" * 60_000])
def test_utf16_without_a_mark(file, encoding, text):
    assert text_of(file(text.encode(encoding))) == (text, encoding)


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress])
def test_compressed_text(file, packed):
    path = file(packed(GERMAN.encode("cp1252")), "a.csv.gz")
    assert text_of(path) == (GERMAN, "cp1252")


def test_standard_input(monkeypatch):
    data = io.TextIOWrapper(io.BytesIO(GERMAN.encode("utf-16")))
    monkeypatch.setattr(sys, "stdin", data)
    assert text_of("-") == (GERMAN, "utf-16-le")


def test_utf8_is_utf8(file):
    for text in (GERMAN, JAPANESE, "é" * 40_000, "x" + "é" * 40_000, "abc", "日"):
        with Source(file(text.encode()), encoding=None) as source:
            assert (source.encoding, source.read_all().decode()) == ("utf-8", text)
            assert source.encoding_why


def test_damaged_utf8_stays_utf8(file):
    content = (RUSSIAN * 3).encode().replace("хлеб".encode(), b"\xff", 1)
    with Source(file(content), encoding=None) as source:
        assert source.encoding == "utf-8"
        with pytest.raises(InputError, match=r"line 3, column 3: .* is not UTF-8 \(byte 0xff\)"):
            list(text_lines(source, Problems(name="a")))


def test_other_users_of_text_still_get_unicode_alone(file):
    with Source(file(GERMAN.encode("cp1252"))) as source:
        assert (source.encoding, source.encoding_why) == ("utf-8", "")
        with pytest.raises(InputError) as caught:
            list(text_lines(source, Problems(name="a")))
    assert caught.value.where == "a, line 2, column 2"
    assert "is not UTF-8 (byte 0xfc)" in caught.value.what
    assert caught.value.fix == "name the encoding, e.g. --encoding cp1252"


def test_late_letters_are_reported(file):
    path = file(b"a,b\n" * 30_000 + b"caf\xe9,x\n")
    with (
        Source(path, encoding=None) as source,
        pytest.raises(InputError, match="line 30001, column 4") as caught,
    ):
        list(text_lines(source, Problems(name="a")))
    assert "--encoding cp1252" in caught.value.fix
    assert text_of(path, "cp1252")[0].endswith("café,x\n")


@pytest.mark.parametrize(
    ("content", "encoding", "line", "column", "byte"),
    [
        (b"a,b\nc\x81d\ne\n", "cp1252", 2, 2, "0x81"),
        (b"a\n" * 50_000 + b"\xe9\nb\n", "ascii", 50_001, 1, "0xe9"),
        ("日本\n".encode("cp932") + b"a\x82\nb\n", "cp932", 2, 2, "0x82"),
        ("a\nb".encode("utf-16-le") + b"\x00\xd8c\x00\n\x00d\x00", "utf-16-le", 2, 2, "0x00"),
        ("a\n".encode("utf-16-le") + b"b", "utf-16-le", 2, 1, "0x62"),
    ],
)
def test_named_encodings_are_strict(file, content, encoding, *, line, column, byte):
    path = file(content)
    with Source(path, encoding=encoding) as source, pytest.raises(InputError) as caught:
        list(text_lines(source, Problems(name="a")))
    assert caught.value.where == f"a, line {line}, column {column}"
    assert f"is not {encoding} (byte {byte})" in caught.value.what
    assert "--encoding" in caught.value.fix
    problems = Problems(name="a", on_error="skip")
    with Source(path, encoding=encoding) as source:
        left = list(text_lines(source, problems))
    assert problems.count == 1
    assert left
    assert all(number != line for number, _ in left)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        *[("windows-1525", "windows-125"), ("utf8x", "utf-8"), ("latn-1", "latin-1")],
        *[("", "utf-8"), ("a\0b", "utf-8"), ("idna", "utf-8"), ("shiftjis2", "shift_jis")],
        ("zlib", "utf-8"),
    ],
)
def test_unknown_encodings(file, name, near):
    with pytest.raises(ParameterError, match="there is no encoding called") as caught:
        Source(file(b"a\n"), encoding=name)
    assert near in caught.value.fix


def test_text_that_fits_no_encoding(file):
    noise = bytes(range(128, 256)) * 20 + b"\n"
    with pytest.raises(InputError, match="--encoding"):
        Source(file(noise), encoding=None)
    assert text_of(file(noise), "latin-1")[0] == noise.decode("latin-1")


@pytest.mark.parametrize("encoding", [None, "cp1252", sources.UNICODE])
@pytest.mark.parametrize(
    "content",
    [
        *[b"PAR1\xe9\r...", b"PK\x03\x04\xe9\r", b"SQLite format 3\0\r\xe9", b"%PDF-\xe9\r"],
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\r",
    ],
)
def test_binary_files_stay_as_they_are(file, content, encoding):
    with Source(file(content), encoding=encoding) as source:
        assert (source.encoding, source.notes) == ("", [])
        assert source.read_all() == content


def test_zero_bytes_are_no_text(file):
    for content in (b"a\0b\n", b"\0\0\0\0", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\1\0"):
        with (
            Source(file(content), encoding=None) as source,
            pytest.raises(InputError, match="binary file"),
        ):
            source.refuse_foreign()


# --- line ends ----------------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "cp1252"])
def test_old_macs_line_ends(file, encoding):
    text = GERMAN.replace("\n", "\r") * 2000
    with Source(file(text.encode(encoding)), encoding=None) as source:
        assert b"".join(source.blocks()).decode() == text.replace("\r", "\n")
        assert len(source.notes) == 1
        assert "carriage returns" in source.notes[0]


def test_other_line_ends_stay(file, monkeypatch):
    for text in ("a\r\nb\r\n", "a\rb\nc", "a\nb", "x" * (sources.HEAD - 1) + "\r\ny"):
        with Source(file(text.encode()), encoding=None) as source:
            assert (source.read_all().decode(), source.notes) == (text, [])
    monkeypatch.setattr(sources, "HEAD", 4)
    for size in (1, 2, 3, 1 << 20):
        with Source(file(b"a\rb\rcd\r\n\r\ne\r")) as source:
            assert b"".join(source.blocks(size)) == b"a\nb\ncd\n\ne\n"


@given(st.text(alphabet=st.characters(exclude_characters="\r\0\ufeff", exclude_categories=["Cs"])))
def test_every_text_comes_back_in_every_encoding(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.txt"
    for encoding in ("utf-8", "utf-16", "utf-16-be", "utf-32", "gb18030", "utf-8-sig", "utf-7"):
        path.write_bytes(text.encode(encoding))
        if path.read_bytes().startswith((b"PAR1", *sources.FOREIGN)):
            continue
        with Source(path, encoding=encoding) as source:
            assert b"".join(source.blocks(3)).decode() == text


@given(st.binary(max_size=200), st.sampled_from([None, "cp932", "utf-16", "cp1252", "utf-8"]))
def test_any_bytes_are_text_or_refused(tmp_path_factory, data, encoding):
    path = tmp_path_factory.getbasetemp() / "any.bin"
    path.write_bytes(data)
    problems = Problems(name="a", on_error="skip")
    try:
        with Source(path, encoding=encoding) as source:
            list(text_lines(source, problems))
    except InputError as error:
        str(error).encode()  # a message can always be printed
    assert all("".join(said).encode() for said in problems.skipped)


def test_the_head_is_full_if_there_is_more(file):
    """Whoever looks at the first lines takes a head that is not full for the whole text."""
    for encoding in ("utf-16", "utf-32", "cp1252"):
        with Source(file(("é,b\n" * 40_000).encode(encoding)), encoding=None) as source:
            assert len(source.head) == sources.HEAD


# --- decompression bombs ------------------------------------------------------------------------


@pytest.mark.parametrize("packed", [gzip.compress, zstandard.compress])
def test_bombs_are_refused(file, monkeypatch, packed):
    monkeypatch.setattr(sources, "UNPACKED_LIMIT", 8 << 20)
    path = file(packed(b"1 2 3 4 5 6 7\n" * 5_000_000), "a.dat.gz")
    for read in (Source.read_all, lambda source: sum(map(len, source.blocks()))):
        tracemalloc.start()
        with Source(path) as source, pytest.raises(InputError, match="bomb") as caught:
            read(source)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 40 << 20
        assert "decompress it yourself" in caught.value.fix


def test_data_that_compresses_well_is_read(file, monkeypatch):
    monkeypatch.setattr(sources, "UNPACKED_LIMIT", 1 << 20)
    text = b"".join(b"%d %d\n" % (i, i * i) for i in range(200_000))
    with Source(file(gzip.compress(text))) as source:
        assert source.read_all() == text


def test_marks_are_what_python_says():
    assert sources.MARKS[codecs.BOM_UTF16_BE] == "utf-16-be"
    assert sources.BOM == codecs.BOM_UTF8
