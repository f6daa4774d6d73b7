"""Layouts: written, read back, applied and refused; options are used or refused."""

import tomllib

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import setveil
from setveil.core.errors import InputError, ParameterError, SetveilError
from setveil.io.layout import FORMATS, ROLES, TABLES, Column, Layout, ReadOptions, read_layout

HOSPITAL = (
    "PatientID,Name,Age,Sex,Dx1,Dx2,Dx3\n"
    "P001,Ada Roe,71,F,flu,asthma,\n"
    "P002,Bo Lee,64,M,gout,,\n"
    "P003,Cy Poe,45,F,flu,gout,asthma\n"
)


TEXTS = st.text(max_size=8)
COLUMNS = st.lists(
    st.builds(
        Column,
        name=TEXTS,
        role=st.sampled_from([role for role in ROLES if role != "record id"]),
        separator=st.sampled_from([";", "|", "\n"]),
    ),
    max_size=4,
).map(tuple)
LAYOUTS = st.builds(
    Layout,
    format=st.sampled_from([name for name in FORMATS if name not in TABLES]),
    encoding=st.sampled_from(["utf-8", "cp1252"]),
    delimiter=st.sampled_from(["", ",", "\t", "::"]),
    quote=st.sampled_from(['"', ""]),
    header=st.booleans(),
    skip=st.integers(0, 3),
    columns=COLUMNS,
    field=TEXTS,
    table=TEXTS,
    query=TEXTS,
)


@given(LAYOUTS)
def test_a_layout_survives_a_file(layout):
    assert Layout.from_dict(tomllib.loads(layout.as_toml())) == layout
    assert Layout.from_dict(layout.as_dict()) == layout


def test_a_saved_layout_reads_the_same(file, tmp_path):
    path = file("clinic.csv", HOSPITAL)
    table = setveil.read(path)
    saved = tmp_path / "layout.toml"
    saved.write_text(table.reading.layout.as_toml())
    again = setveil.read(path, layout=saved)
    assert (
        again.to_rows()
        == table.to_rows()
        == setveil.read(path, layout=read_layout(saved)).to_rows()
    )
    assert again.reading.layout == table.reading.layout
    assert not again.reading.guessed
    assert table.reading.guessed


def test_a_layout_of_another_file_is_refused(file):
    layout = setveil.read(file("clinic.csv", HOSPITAL)).reading.layout
    other = file("other.csv", HOSPITAL.replace("Dx3", "Dx4"))
    with pytest.raises(InputError, match=r"it lacks 'Dx3'; it also has 'Dx4'"):
        setveil.read(other, layout=layout)
    swapped = file("swapped.csv", HOSPITAL.replace("Dx2,Dx3", "Dx3,Dx2"))
    with pytest.raises(InputError, match="another order"):
        setveil.read(swapped, layout=layout)
    frame = pl.DataFrame({"PatientID": ["P1"], "Dx1": ["flu"]})
    frame.write_parquet(other)
    with pytest.raises(InputError, match="it lacks"):
        setveil.read(other, layout=layout)


def test_a_layout_and_options_exclude_each_other(file):
    path = file("clinic.csv", HOSPITAL)
    layout = setveil.read(path).reading.layout
    with pytest.raises(ParameterError, match="a layout and id are given"):
        setveil.read(path, layout=layout, id="PatientID")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('form = "long"', "a layout has no 'form'"),
        ('format = "lang"', "no format called 'lang'"),
        ('format = "basket"\nskip = "2"', "skip is"),
        ('format = "basket"\ncolumns = ["a"]', "is not a column"),
        ('format = "wide"\ncolumns = [{name = "a", role = "itme"}]', "has the role 'itme'"),
        ('format = "wide"\ncolumns = [{name = "a", role = "ignore"}]', "no column .* holds items"),
        ('format = "wide"\ncolumns = [{name = "a", role = "items"}]', "nothing separates"),
        ("format = ", "not TOML"),
        ('delimiter = ","', "names no format"),
    ],
)
def test_layouts_that_cannot_be(file, text, message):
    with pytest.raises(InputError, match=message) as caught:
        read_layout(file("layout.toml", text))
    assert "layout.toml" in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"id": "patientid"}, "did you mean 'PatientID'"),
        ({"item": "dx1"}, "did you mean 'Dx1'"),
        ({"items": "Dx1,Dx9"}, "no column 'Dx9'"),
        ({"items": "Diag*"}, r"no column fits 'Diag\*'"),
        ({"ignore": "Agee"}, "did you mean 'Age'"),
        ({"id": "Dx1", "items": ["Dx1"]}, "another option"),
        ({"id": "PatientID", "ignore": "PatientID"}, "another option"),
        ({"item": "Dx1", "items": "Dx*"}, "both say where the items are"),
        ({"table": "visits"}, "--table is for workbooks"),
        ({"format": "fimi", "id": "PatientID"}, "--id is not for fimi"),
        ({"format": "jsonl", "separator": ";"}, "--separator is not for jsonl"),
        ({"encoding": "utf8000"}, "utf8000"),
    ],
)
def test_options_that_do_not_fit_are_refused(file, options, message):
    path = file("clinic.csv", HOSPITAL)
    with pytest.raises(SetveilError, match=message) as caught:
        setveil.read(path, **options)
    assert caught.value.fix


def test_given_options_are_used(file):
    path = file("clinic.csv", HOSPITAL)
    assert setveil.read(path, items="Dx1,Dx2").to_rows() == [
        ["asthma", "flu"],
        ["gout"],
        ["flu", "gout"],
    ]
    assert setveil.read(path, id="Sex", items="Dx*").to_rows() == [
        ["asthma", "flu", "gout"],
        ["gout"],
    ]
    assert setveil.read(path, ignore=["Dx3"]).reading.layout.names("item") == ["Dx1", "Dx2"]
    assert setveil.read(path, id="PatientID", item="Sex").to_rows() == [["F"], ["M"], ["F"]]


def test_the_order_of_records_is_that_of_their_first_rows(file):
    """An id that occurs as an item before its own first row keeps its place."""
    text = "id,item\nz,a\na,z\nb,a\nz,b\n"
    assert setveil.read(file("a.csv", text)).to_rows() == [["a", "b"], ["z"], ["a"]]


def test_two_meanings_are_a_question(file):
    text = "PatientID,VisitID,ICD\n1,11,J45\n1,12,E11\n2,13,J45\n2,13,I10\n"
    with pytest.raises(InputError) as caught:
        setveil.read(file("visits.csv", text))
    message = str(caught.value)
    assert "--id PatientID --item ICD" in message
    assert "--id VisitID --item ICD" in message
    assert "{J45, E11}" in message
    assert setveil.read(file("visits.csv", text), id="PatientID").to_rows() == [
        ["E11", "J45"],
        ["I10", "J45"],
    ]


def test_every_choice_of_a_question_can_be_taken(file):
    """What the question says to add does read the file, as its preview shows."""
    text = "1,milk\n1,bread\n2,beer\n3,milk\n"
    path = file("pairs.csv", text)
    found = setveil.detect_layout(path)
    with pytest.raises(InputError, match="can be read in two ways"):
        found.layout  # noqa: B018
    assert len(found.candidates) == 2
    for candidate in found.candidates:
        words = candidate.option.split()
        options = {"header": False} if "--no-header" in words else {}
        words = [word for word in words if word != "--no-header"]
        options |= {a.removeprefix("--"): b for a, b in zip(words[::2], words[1::2], strict=True)}
        table = setveil.read(path, **options)
        assert [set(row) for row in table.to_rows()][:3] == [set(r) for r in candidate.records][:3]


def test_detection_ranks_and_gives_reasons(file):
    found = setveil.detect_layout(file("clinic.csv", HOSPITAL))
    assert [c.score for c in found.candidates] == sorted(
        (c.score for c in found.candidates), reverse=True
    )
    assert all(candidate.reasons for candidate in found.candidates)
    assert found.layout.names("identifier") == ["Name"]
    assert found.best.samples[0] == ("P001", "P002", "P003")
    assert "Name" in " ".join(found.identities)


def test_options_know_what_is_given():
    assert ReadOptions().given() == {}
    assert ReadOptions(header=False, delimiter="tab").given() == {
        "delimiter": "\t",
        "header": False,
    }


def test_cleaning_is_said(file):
    path = file("a.csv", "Flu,gout\nflu\nflu.,rare\n\n")
    table = setveil.read(path)
    assert table.reading.near_duplicates == (("Flu", "flu", "flu."),)
    assert any("--normalize joins them" in sentence for sentence in table.reading.sentences())
    cleaned = setveil.read(path, normalize=True, min_support=2, empty="drop")
    assert cleaned.to_rows() == [["Flu"]] * 3
    assert len(cleaned.reading.cleaned) == 3
    assert cleaned.reading.as_dict()["cleaned"] == list(cleaned.reading.cleaned)
    with pytest.raises(InputError, match="1 of 4 records hold no item"):
        setveil.read(path, empty="error")
    for wrong in ({"empty": "no"}, {"min_support": 0}):
        with pytest.raises(ParameterError):
            setveil.read(path, **wrong)
    with pytest.raises(InputError, match="no record is left"):
        setveil.read(path, min_support=9, empty="drop")


def test_blank_files(file):
    with pytest.raises(InputError, match="only blank lines"):
        setveil.read(file("a.csv", "\n\n  \n"))


def test_words_for_missing_values_are_counted(file):
    text = "PatientID,Diagnosis\nP1,flu\nP1,NA\nP2,NULL\nP3,flu\n"
    table = setveil.read(file("a.csv", text))
    assert table.to_rows() == [["flu"], [], ["flu"]]
    assert "2 cells with 'NA' or 'NULL' were taken as empty." in table.reading.notes
    text = "PatientID,Dx1,Dx2\nP1,flu,nan\nP2,gout,flu\n"
    table = setveil.read(file("b.csv", text))
    assert table.to_rows() == [["flu"], ["flu", "gout"]]
    assert "1 cell with 'nan' was taken as empty." in table.reading.notes


def test_doubts_about_later_rows_are_said(file):
    rows = [f"P{n},flu" for n in range(1200)]
    rows += ["P1300,flu;gout", "PatientID,Diagnosis"]
    table = setveil.read(file("a.csv", "PatientID,Diagnosis\n" + "\n".join(rows) + "\n"))
    said = " ".join(table.reading.notes)
    assert "1 item holds ';'" in said
    assert "the header may stand twice" in said


@pytest.mark.parametrize(
    ("quote", "rows"),
    [
        ("single", [["a, b", "c"], ["d"]]),
        ("none", [["'a", "b'", "c"], ["'d'"]]),
    ],
)
def test_quotes(file, quote, rows):
    path = file("a.csv", "'a, b',c\n'd'\n")
    table = setveil.read(path, "basket", delimiter=",", quote=quote)
    assert table.to_rows() == rows
    assert setveil.read(path, layout=table.reading.layout).to_rows() == rows
    with pytest.raises(ParameterError, match="the quote is"):
        setveil.read(path, quote="~")


def test_pairs_of_numbers_are_a_question(file):
    with pytest.raises(InputError) as caught:
        setveil.read(file("pairs.txt", "1 5\n1 7\n2 5\n3 9\n3 7\n"))
    assert "--format fimi" in str(caught.value)
    assert "--format long" in str(caught.value)
    with pytest.raises(InputError) as caught:
        setveil.read(file("counted.txt", "1 5 7\n2 5\n3 7 9\n4 5\n5 9 7\n"))
    assert "can be read in two ways" in str(caught.value)


def test_a_malformed_first_record_is_named(file):
    with pytest.raises(
        InputError, match=r"line 2, column 3: .* opens a quote that is never closed"
    ):
        setveil.read(file("a.csv", 'PatientID,Dx\n1,"flu\n2,gout\n'))
    with pytest.raises(InputError, match="a header and no record"):
        setveil.read(file("b.csv", "PatientID,Dx\n"))
    skipped = setveil.read(file("a.csv", 'PatientID,Dx\n1,"flu\n2,gout\n'), on_error="skip")
    assert skipped.to_rows() == [["gout"]]
