"""Small files as hospitals, shops, libraries and web sites have them, and how to read each one.

A case is one of three kinds:

* ``clear``: an expert sees one reading; the file must be read that way.
* ``either``: an expert would read it that way or ask. Another reading is a failure.
* ``refused``: there is nothing to read, or several readings are as plausible, or an option does
  not fit. The message must contain the words of a regular expression.

Expected rows are written short: ``"E11 I10"`` is a record of two items, ``""`` an empty one; a
list stands for items with blanks. `ids` lists the texts of identity columns: none of them may ever
be an item or be found in a release.
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
import json
import sqlite3
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import zstandard
from tests.conftest import missing_component

Content = bytes | Callable[[Path], None]
Rows = Sequence[str | Sequence[str]]

# Roles of a column, as sets: a case accepts any role of the set.
RECORD = frozenset({"record id"})
IDENTITY = frozenset({"record id", "identifier"})
ASIDE = frozenset({"ignore"})
UNPUBLISHED = IDENTITY | ASIDE
ITEM = frozenset({"item"})
ITEMS = frozenset({"items"})
FLAG = frozenset({"one-hot"})

# Names of a layout, where the description leaves more than one open.
CELLS = frozenset({"wide", "long", "basket"})  # a column with several values in each cell
LIST = frozenset({"wide", "basket"})  # a column of lists in a Parquet file
ANY = frozenset({"fimi", "spmf", "jsonl", "basket", "long", "wide", "one-hot"})

OPTION = (
    r"\b(format|layout|encoding|delimiter|header|id|items?|separator|ignore|table|query"
    r"|on[-_]error)\b"
)
"""What the message of a question must contain: the name of an option that decides."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A file, the options it is read with, and what must come of it."""

    name: str
    kind: str
    file: str
    content: Content
    options: Mapping[str, Any] = field(default_factory=dict)
    rows: tuple[tuple[str, ...], ...] = ()
    formats: frozenset[str] = ANY
    roles: Mapping[str, frozenset[str]] = field(default_factory=dict)
    separators: Mapping[str, str] = field(default_factory=dict)
    layout: Mapping[str, Any] = field(default_factory=dict)
    message: str = OPTION
    ids: tuple[str, ...] = ()

    def write(self, folder: Path) -> Path:
        """Write the file into a folder."""
        path = folder / self.file
        if callable(self.content):
            self.content(path)
        else:
            path.write_bytes(self.content)
        return path


CASES: list[Case] = []


def add(kind: str, name: str, file: str, content: Content, **more: Any) -> None:
    """Add a case to the list."""
    rows: Rows = more.pop("rows", ())
    formats = more.pop("format", ANY)
    CASES.append(
        Case(
            name=name,
            kind=kind,
            file=file,
            content=content,
            rows=tuple(tuple(sorted(r.split() if isinstance(r, str) else r)) for r in rows),
            formats=frozenset({formats}) if isinstance(formats, str) else formats,
            ids=tuple(more.pop("ids", ())),
            **more,
        )
    )


def clear(name: str, file: str, content: Content, format: Any, rows: Rows, **more: Any) -> None:
    """Add a file that must be read."""
    add("clear", name, file, content, format=format, rows=rows, **more)


def either(name: str, file: str, content: Content, format: Any, rows: Rows, **more: Any) -> None:
    """Add a file that is read as expected or leads to a question."""
    add("either", name, file, content, format=format, rows=rows, **more)


def refused(name: str, file: str, content: Content, message: str, **more: Any) -> None:
    """Add a file, or options, that must be refused."""
    add("refused", name, file, content, message=message, **more)


# --- Builders of files ---------------------------------------------------------------------------


def lines(*rows: str, end: str = "\n", encoding: str = "utf-8") -> bytes:
    """Return the lines of a text file."""
    return "".join(row + end for row in rows).encode(encoding)


def json_lines(*records: Any) -> bytes:
    """Return one JSON value a line."""
    return lines(*(json.dumps(record, ensure_ascii=False) for record in records))


def parquet(**columns: Sequence[Any]) -> Callable[[Path], None]:
    """Return what writes columns to a Parquet file."""
    return lambda path: pl.DataFrame(columns, strict=False).write_parquet(path)


def excel(
    merged: Mapping[str, Sequence[str]] | None = None, **sheets: Sequence[Sequence[Any]]
) -> Callable[[Path], None]:
    """Return what writes sheets of rows to an Excel file; `merged` lists ranges by sheet."""

    def write(path: Path) -> None:
        try:
            import openpyxl
        except ImportError:
            missing_component("openpyxl, which writes the Excel files of these tests, is missing")
        book = openpyxl.Workbook()
        book.remove(book.active)
        for name, rows in sheets.items():
            sheet = book.create_sheet(name)
            for row in rows:
                sheet.append(list(row))
            for cells in (merged or {}).get(name, ()):
                sheet.merge_cells(cells)
        book.save(path)

    return write


def ods(*rows: Sequence[str]) -> bytes:
    """Return an OpenDocument spreadsheet of one sheet of texts."""
    cells = "".join(
        "<table:table-row>"
        + "".join(
            f'<table:table-cell office:value-type="string"><text:p>{cell}</text:p>'
            "</table:table-cell>"
            for cell in row
        )
        + "</table:table-row>"
        for row in rows
    )
    space = "urn:oasis:names:tc:opendocument:xmlns"
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    content = (
        f'<?xml version="1.0" encoding="UTF-8"?><office:document-content office:version="1.2" '
        f'xmlns:office="{space}:office:1.0" xmlns:table="{space}:table:1.0" '
        f'xmlns:text="{space}:text:1.0"><office:body><office:spreadsheet>'
        f'<table:table table:name="Sheet1">{cells}</table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    manifest = (
        f'<?xml version="1.0" encoding="UTF-8"?><manifest:manifest manifest:version="1.2" '
        f'xmlns:manifest="{space}:manifest:1.0">'
        f'<manifest:file-entry manifest:full-path="/" manifest:media-type="{kind}"/>'
        '<manifest:file-entry manifest:full-path="content.xml" manifest:media-type="text/xml"/>'
        "</manifest:manifest>"
    )
    return zipped(("mimetype", kind), ("content.xml", content), ("META-INF/manifest.xml", manifest))


def zipped(*members: tuple[str, str | bytes]) -> bytes:
    """Return a zip archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members:
            archive.writestr(name, content)
    return buffer.getvalue()


def sqlite(**tables: Sequence[Sequence[Any]]) -> Callable[[Path], None]:
    """Return what writes tables to a SQLite file; the first row of each names its columns."""

    def write(path: Path) -> None:
        with closing(sqlite3.connect(path)) as base, base:
            for name, (header, *rows) in tables.items():
                base.execute(f"create table {name} ({', '.join(header)})")
                marks = ", ".join("?" * len(header))
                base.executemany(f"insert into {name} values ({marks})", rows)

    return write


# --- People and records --------------------------------------------------------------------------

P4 = ("P90001", "P90002", "P90003", "P90004")
NAMES = ("Anna Huber", "Bruno Maier", "Clara Stein", "David Vogel")
ICD4 = ["E11.9 I10", "I10 J45.0", "E11.9 J45.0 M54.5", "I10"]
"""Four patients' diagnoses: most text files of the hospital hold these."""

WIDE_ICD = lines(
    "PatientID,Dx1,Dx2,Dx3",
    "P90001,E11.9,I10,",
    "P90002,I10,J45.0,",
    "P90003,E11.9,J45.0,M54.5",
    "P90004,I10,,",
)
LONG_ICD = lines(
    "MRN,ICD,Admitted",
    "P90001,E11.9,2024-01-03",
    "P90001,I10,2024-01-03",
    "P90002,I10,2024-01-05",
    "P90002,J45.0,2024-02-11",
    "P90003,E11.9,2024-02-12",
    "P90003,J45.0,2024-02-12",
    "P90003,M54.5,2024-02-12",
    "P90004,I10,2024-03-01",
)
PAIRS = [line.split(",")[:2] for line in LONG_ICD.decode().splitlines()[1:]]

BASKETS = ["beer bread milk", "bread milk", "butter milk", "beer chips"]
"""Four baskets of a shop."""
BOUGHT = [(str(n + 1), item) for n, basket in enumerate(BASKETS) for item in basket.split()]

# A clinic of eight, large enough for every method; five layouts of it serve the widest test.
VISITS = [
    "cough flu",
    "fever flu",
    "cold cough",
    "cold",
    "asthma cough flu",
    "asthma fever",
    "flu",
    "cold cough fever",
]
FINDINGS = sorted({item for visit in VISITS for item in visit.split()})
MRNS = tuple(f"7700{n}4{n}" for n in range(1, 9))
PEOPLE = (
    "Adler, Eva",
    "Brandt, Ole",
    "Castro, Luz",
    "Dumont, Guy",
    "Ekberg, Liv",
    "Farkas, Edit",
    "Greco, Ugo",
    "Hansen, Bo",
)
PATIENTS = list(zip(MRNS, PEOPLE, VISITS, strict=True))

# --- Hospitals: one row per patient, a column per diagnosis --------------------------------------

clear(
    "wide-dx",
    "patients.csv",
    WIDE_ICD,
    "wide",
    ICD4,
    roles={"PatientID": RECORD, "Dx1": ITEM, "Dx3": ITEM},
    layout={"delimiter": ",", "header": True, "encoding": {"utf-8", "ascii", "utf-8-sig"}},
    ids=P4,
)
clear(
    "wide-clinic-with-names-and-age",
    "clinic.csv",
    lines(
        "MRN,Name,Age,Sex,Finding1,Finding2,Finding3",
        *(
            f'{mrn},"{name}",{41 + 3 * n},{"FM"[n % 2]},' + ",".join([*visit.split(), "", ""][:3])
            for n, (mrn, name, visit) in enumerate(PATIENTS)
        ),
    ),
    "wide",
    VISITS,
    roles={"MRN": RECORD, "Name": IDENTITY, "Age": ASIDE, "Sex": ASIDE, "Finding2": ITEM},
    ids=MRNS + PEOPLE,
)
clear(
    "wide-german-latin1-many-columns",
    "entlassung.csv",
    lines(
        "Patientennr;Nachname;Vorname;Geburtsdatum;Diag_01;Diag_02;Diag_03;Diag_04;Diag_05",
        "P90001;Müller;Jürgen;03.01.1950;E11.9;I10;;;",
        "P90002;Groß;Käthe;17.11.1961;I10;J45.0;;;",
        "P90003;Yildiz;Özgür;30.06.1978;E11.9;J45.0;M54.5;;",
        "P90004;Schäfer;Ute-Maria;05.12.1983;I10;;;;",
        encoding="latin-1",
    ),
    "wide",
    ICD4,
    roles={"Patientennr": RECORD, "Nachname": IDENTITY, "Vorname": IDENTITY, "Diag_01": ITEM},
    layout={"delimiter": ";", "encoding": {"latin-1", "cp1252", "iso8859-15"}},
    ids=(*P4, "Müller", "Jürgen", "Käthe", "Özgür", "Schäfer", "03.01.1950", "17.11.1961"),
)
clear(
    "wide-many-identity-columns",
    "registry.csv",
    lines(
        "PatientID,SSN,Phone,Email,Dx1,Dx2,Dx3",
        "P90001,078-05-1120,+1 212 555 0101,anna@example.org,E11.9,I10,",
        "P90002,219-09-9999,+1 212 555 0102,bruno@example.org,I10,J45.0,",
        "P90003,457-55-5462,+1 212 555 0103,clara@example.org,E11.9,J45.0,M54.5",
        "P90004,987-65-4320,+1 212 555 0104,david@example.org,I10,,",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD, "SSN": IDENTITY, "Phone": IDENTITY, "Email": IDENTITY},
    ids=(*P4, "078-05-1120", "987-65-4320", "555 0103", "bruno@example.org"),
)
clear(
    "wide-id-last",
    "last.csv",
    lines(
        "Dx1,Dx2,Dx3,PatientID",
        "E11.9,I10,,P90001",
        "I10,J45.0,,P90002",
        "E11.9,J45.0,M54.5,P90003",
        "I10,,,P90004",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD, "Dx1": ITEM},
    ids=P4,
)
clear(
    "wide-doctor-beside-diagnoses",
    "ward.csv",
    lines(
        "PatientID,Attending physician,Dx1,Dx2,Dx3",
        "P90001,Dr. Roth,E11.9,I10,",
        "P90002,Dr. Roth,I10,J45.0,",
        "P90003,Dr. Sandoval,E11.9,J45.0,M54.5",
        "P90004,Dr. Sandoval,I10,,",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD, "Attending physician": UNPUBLISHED},
    ids=(*P4, "Dr. Roth", "Sandoval"),
)
clear(
    "wide-several-visits-per-patient",
    "visits.csv",
    lines(
        "PatientID,VisitDate,Dx1,Dx2",
        "P90001,2024-01-03,E11.9,",
        "P90002,2024-01-03,I10,J45.0",
        "P90001,2024-02-07,I10,E11.9",
        "P90003,2024-02-08,E11.9,J45.0",
        "P90003,2024-03-09,M54.5,",
        "P90004,2024-03-10,I10,",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD, "VisitDate": UNPUBLISHED, "Dx1": ITEM},
    ids=P4,
)
clear(
    "wide-pandas-index",
    "frame.csv",
    lines(
        ",PatientID,Dx1,Dx2,Dx3",
        "0,P90001,E11.9,I10,",
        "1,P90002,I10,J45.0,",
        "2,P90003,E11.9,J45.0,M54.5",
        "3,P90004,I10,,",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD, "Dx2": ITEM},
    ids=P4,
)
clear(
    "wide-trailing-separators",
    "trailing.csv",
    lines(
        "PatientID;Dx1;Dx2;Dx3;",
        "P90001;E11.9;I10;;",
        "P90002;I10;J45.0;;",
        "P90003;E11.9;J45.0;M54.5;",
        "P90004;I10;;;",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD},
    layout={"delimiter": ";"},
    ids=P4,
)
clear(
    "wide-ragged-short-rows",
    "ragged.csv",
    lines(
        "PatientID,Dx1,Dx2,Dx3",
        "P90001,E11.9,I10",
        "P90002,I10,J45.0",
        "P90003,E11.9,J45.0,M54.5",
        "P90004,I10",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD},
    ids=P4,
)
clear(
    "wide-duplicate-column-names",
    "duplicates.csv",
    lines(
        "PatientID,Diagnosis,Diagnosis,Diagnosis",
        "P90001,E11.9,I10,",
        "P90002,I10,J45.0,",
        "P90003,E11.9,J45.0,M54.5",
        "P90004,I10,,",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD},
    ids=P4,
)
clear(
    "wide-everything-quoted-crlf-bom",
    "quoted.csv",
    lines(
        '"PatientID","Dx1","Dx2","Dx3"',
        '"P90001","E11.9","I10",""',
        '"P90002","I10","J45.0",""',
        '"P90003","E11.9","J45.0","M54.5"',
        '"P90004","I10","",""',
        end="\r\n",
        encoding="utf-8-sig",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD},
    layout={"header": True},
    ids=P4,
)
either(
    "wide-units-row",
    "units.csv",
    lines(
        "PatientID,Age,Dx1,Dx2,Dx3",
        ",years,ICD-10,ICD-10,ICD-10",
        "P90001,71,E11.9,I10,",
        "P90002,64,I10,J45.0,",
        "P90003,45,E11.9,J45.0,M54.5",
        "P90004,39,I10,,",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD, "Age": ASIDE},
    message=OPTION + r"|ICD-10|\bline 2\b",
    ids=P4,
)
either(
    "wide-missing-value-words",
    "missing.csv",
    lines(
        "PatientID,Dx1,Dx2,Dx3",
        "P90001,E11.9,I10,NaN",
        "P90002,I10,J45.0,NaN",
        "P90003,E11.9,J45.0,M54.5",
        "P90004,I10,NaN,NaN",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD},
    ids=P4,
)
either(
    "wide-no-header-codes",
    "noheader.csv",
    lines("P90001,E11.9,I10", "P90002,I10,J45.0", "P90003,E11.9,J45.0,M54.5", "P90004,I10"),
    {"wide", "basket"},
    ICD4,
    ids=P4,
)
either(
    "wide-no-header-names",
    "names.csv",
    lines(
        "Anna Huber;E11.9;I10",
        "Bruno Maier;I10;J45.0",
        "Clara Stein;E11.9;J45.0;M54.5",
        "David Vogel;I10",
    ),
    {"wide", "basket"},
    ICD4,
    ids=NAMES,
)
either(
    "wide-title-rows",
    "title.csv",
    lines(
        "Discharges of ward 3;;;",
        "Exported on 2024-03-01;;;",
        ";;;",
        "PatientID;Dx1;Dx2;Dx3",
        "P90001;E11.9;I10;",
        "P90002;I10;J45.0;",
        "P90003;E11.9;J45.0;M54.5",
        "P90004;I10;;",
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD},
    ids=P4,
)
clear(
    "wide-items-by-pattern",
    "secondary.csv",
    lines(
        "PatientID,Reason,Dx1,Dx2",
        "P90001,fall,E11.9,I10",
        "P90002,pain,I10,J45.0",
        "P90003,pain,E11.9,",
        "P90004,fall,I10,",
    ),
    "wide",
    ["E11.9 I10", "I10 J45.0", "E11.9", "I10"],
    options={"items": "Dx*"},
    roles={"PatientID": RECORD, "Reason": UNPUBLISHED, "Dx1": ITEM},
    ids=P4,
)
clear(
    "wide-items-by-list",
    "patients.csv",
    WIDE_ICD,
    "wide",
    ["E11.9 I10", "I10 J45.0", "E11.9 J45.0", "I10"],
    options={"id": "PatientID", "items": "Dx1,Dx2"},
    roles={"PatientID": RECORD, "Dx2": ITEM, "Dx3": UNPUBLISHED},
    ids=(*P4, "M54.5"),
)
clear(
    "wide-column-set-aside",
    "patients.csv",
    WIDE_ICD,
    "wide",
    ["E11.9 I10", "I10 J45.0", "E11.9 J45.0", "I10"],
    options={"ignore": "Dx3"},
    roles={"PatientID": RECORD, "Dx1": ITEM, "Dx3": ASIDE},
    ids=(*P4, "M54.5"),
)

# --- Hospitals: one row per diagnosis ------------------------------------------------------------

clear(
    "long-mrn-icd-admitted",
    "admissions.csv",
    LONG_ICD,
    "long",
    ICD4,
    roles={"MRN": RECORD, "ICD": ITEM, "Admitted": UNPUBLISHED},
    layout={"header": True},
    ids=(*P4, "2024-01-03", "2024-02-12"),
)
clear(
    "long-clinic-with-names",
    "findings.csv",
    lines(
        "MRN,Name,Finding",
        *(f'{mrn},"{name}",{item}' for mrn, name, visit in PATIENTS for item in visit.split()),
    ),
    "long",
    VISITS,
    roles={"MRN": RECORD, "Name": IDENTITY, "Finding": ITEM},
    ids=MRNS + PEOPLE,
)
clear(
    "long-names-and-birth-dates",
    "people.csv",
    lines(
        "MRN,LastName,FirstName,DOB,ICD10",
        "P90001,Huber,Annalena,1950-01-03,E11.9",
        "P90001,Huber,Annalena,1950-01-03,I10",
        "P90002,Maier,Bruno,1961-11-17,I10",
        "P90002,Maier,Bruno,1961-11-17,J45.0",
        "P90003,Stein,Clara,1978-06-30,E11.9",
        "P90004,Vogel,David,1983-12-05,I10",
    ),
    "long",
    ["E11.9 I10", "I10 J45.0", "E11.9", "I10"],
    roles={"MRN": RECORD, "LastName": IDENTITY, "FirstName": IDENTITY, "ICD10": ITEM},
    ids=(*P4, "Huber", "Maier", "Stein", "Vogel", "Annalena", "1950-01-03", "1983-12-05"),
)
clear(
    "long-name-is-the-only-id",
    "bynames.csv",
    lines(
        "Name,Diagnosis",
        "Anna Huber,asthma",
        "Anna Huber,gout",
        "Bruno Maier,asthma",
        "Clara Stein,migraine",
        "Clara Stein,gout",
        "David Vogel,asthma",
    ),
    "long",
    ["asthma gout", "asthma", "gout migraine", "asthma"],
    roles={"Name": RECORD, "Diagnosis": ITEM},
    ids=NAMES,
)
clear(
    "long-german-bom-crlf",
    "faelle.csv",
    lines(
        "Fallnummer;ICD;Aufnahmedatum",
        *(f"{mrn};{icd};03.01.2024" for mrn, icd in PAIRS),
        end="\r\n",
        encoding="utf-8-sig",
    ),
    "long",
    ICD4,
    roles={"Fallnummer": RECORD, "ICD": ITEM, "Aufnahmedatum": ASIDE},
    layout={"delimiter": ";"},
    ids=P4,
)
clear(
    "long-german-decimal-commas",
    "gewicht.csv",
    lines(
        "Patient;Gewicht;ICD",
        *(f"{mrn};{70 + n},5;{icd}" for n, (mrn, icd) in enumerate(PAIRS)),
    ),
    "long",
    ICD4,
    roles={"Patient": RECORD, "Gewicht": ASIDE, "ICD": ITEM},
    layout={"delimiter": ";"},
    ids=P4,
)
clear(
    "long-french-cp1252",
    "sejours.csv",
    lines(
        "N° patient;Nom;Prénom;Code CIM-10;Date d’entrée",
        *(f"{mrn};Lefèvre;Zoé-Maëlle;{icd};03/01/2024" for mrn, icd in PAIRS),
        encoding="cp1252",
    ),
    "long",
    ICD4,
    roles={"N° patient": RECORD, "Nom": IDENTITY, "Prénom": IDENTITY, "Code CIM-10": ITEM},
    layout={"encoding": {"cp1252"}},
    ids=(*P4, "Lefèvre", "Zoé-Maëlle"),
)
clear(
    "long-spanish-utf8",
    "altas.csv",
    lines(
        "Paciente,Nombre,Diagnóstico",
        "P90001,María Núñez,diabetes",
        "P90001,María Núñez,hipertensión",
        "P90002,Íñigo Peña,hipertensión",
        "P90003,Lucía Ibáñez,asma",
        "P90003,Lucía Ibáñez,diabetes",
        "P90004,José Ordóñez,asma",
    ),
    "long",
    ["diabetes hipertensión", "hipertensión", "asma diabetes", "asma"],
    roles={"Paciente": RECORD, "Nombre": IDENTITY, "Diagnóstico": ITEM},
    ids=(*P4, "María Núñez", "Íñigo Peña", "Lucía Ibáñez", "José Ordóñez"),
)
clear(
    "long-utf16-tabs",
    "unicode.txt",
    lines(
        "PatientID\tDiagnosis",
        "P90001\tKopfschmerz",
        "P90001\tÜbelkeit",
        "P90002\tÜbelkeit",
        "P90003\tKopfschmerz",
        "P90004\tÜbelkeit",
        end="\r\n",
        encoding="utf-16",
    ),
    "long",
    ["Kopfschmerz Übelkeit", "Übelkeit", "Kopfschmerz", "Übelkeit"],
    roles={"PatientID": RECORD, "Diagnosis": ITEM},
    layout={"encoding": {"utf-16", "utf-16-le", "utf-16-be"}, "delimiter": "\t"},
    ids=P4,
)
clear(
    "long-old-mac-line-ends",
    "mac.csv",
    lines("PatientID,ICD", *(f"{mrn},{icd}" for mrn, icd in PAIRS), end="\r"),
    "long",
    ICD4,
    roles={"PatientID": RECORD, "ICD": ITEM},
    ids=P4,
)
clear(
    "long-sep-line-of-excel",
    "sep.csv",
    lines("sep=;", "PatientID;ICD", *(f"{mrn};{icd}" for mrn, icd in PAIRS), end="\r\n"),
    "long",
    ICD4,
    roles={"PatientID": RECORD, "ICD": ITEM},
    layout={"delimiter": ";", "header": True},
    ids=P4,
)
clear(
    "long-comment-lines",
    "comments.csv",
    lines(
        "# exported by the hospital system, version 7",
        "# do not edit",
        "PatientID,ICD",
        *(f"{mrn},{icd}" for mrn, icd in PAIRS),
    ),
    "long",
    ICD4,
    roles={"PatientID": RECORD, "ICD": ITEM},
    ids=P4,
)
clear(
    "long-one-record",
    "one.csv",
    lines("PatientID,ICD", "P90001,E11.9", "P90001,I10"),
    "long",
    ["E11.9 I10"],
    roles={"PatientID": RECORD, "ICD": ITEM},
    ids=("P90001",),
)
clear(
    "long-without-last-line-end",
    "cutoff.csv",
    LONG_ICD.rstrip(b"\n"),
    "long",
    ICD4,
    roles={"MRN": RECORD, "ICD": ITEM},
    ids=P4,
)
clear(
    "long-blanks-around-cells",
    "blanks.csv",
    lines("PatientID , ICD", *(f"{mrn} , {icd} " for mrn, icd in PAIRS)),
    "long",
    ICD4,
    ids=P4,
)
clear(
    "long-gzip",
    "admissions.csv.gz",
    gzip.compress(LONG_ICD),
    "long",
    ICD4,
    roles={"MRN": RECORD, "ICD": ITEM},
    ids=P4,
)
clear(
    "long-zstd",
    "admissions.csv.zst",
    zstandard.compress(LONG_ICD),
    "long",
    ICD4,
    roles={"MRN": RECORD, "ICD": ITEM},
    ids=P4,
)
either(
    "long-zip",
    "admissions.zip",
    zipped(("admissions.csv", LONG_ICD)),
    "long",
    ICD4,
    message="zip|unpack|extract",
    ids=P4,
)
either(
    "long-totals-row",
    "totals.csv",
    lines(
        "MRN,ICD,Charge",
        *(f"{mrn},{icd},120.50" for mrn, icd in PAIRS),
        "Total,,964.00",
    ),
    "long",
    ICD4,
    message=OPTION + "|Total",
    ids=P4,
)
either(
    "long-header-with-line-end",
    "wrapped.csv",
    lines('"Patient', 'ID",ICD', *(f"{mrn},{icd}" for mrn, icd in PAIRS)),
    "long",
    ICD4,
    ids=P4,
)
either(
    "long-patients-and-encounters",
    "encounters.csv",
    lines(
        "PatientID,EncounterID,ICD",
        "P90001,V551001,E11.9",
        "P90001,V551002,I10",
        "P90002,V551003,I10",
        "P90002,V551003,J45.0",
        "P90003,V551004,E11.9",
        "P90004,V551005,I10",
    ),
    "long",
    ["E11.9 I10", "I10 J45.0", "E11.9", "I10"],
    roles={"PatientID": RECORD, "EncounterID": UNPUBLISHED, "ICD": ITEM},
    message=r"\bid\b",
    ids=(*P4, "V551001", "V551003"),
)
clear(
    "long-encounters-by-option",
    "encounters.csv",
    lines(
        "PatientID,EncounterID,ICD",
        "P90001,V551001,E11.9",
        "P90001,V551002,I10",
        "P90002,V551003,I10",
        "P90002,V551003,J45.0",
        "P90003,V551004,E11.9",
    ),
    "long",
    ["E11.9", "I10", "I10 J45.0", "E11.9"],
    options={"id": "EncounterID", "item": "ICD"},
    roles={"PatientID": UNPUBLISHED, "EncounterID": RECORD, "ICD": ITEM},
    ids=("P90001", "P90002", "P90003", "V551001", "V551004"),
)
either(
    "long-no-header-codes",
    "noheader.csv",
    lines(*(f"{mrn},{icd}" for mrn, icd in PAIRS)),
    "long",
    ICD4,
    ids=P4,
)
either(
    "long-no-header-numbers",
    "numbers.csv",
    lines("9004171,250", "9004171,401", "9004172,401", "9004173,250", "9004173,493", "9004174,401"),
    "long",
    ["250 401", "401", "250 493", "401"],
    ids=("9004171", "9004172", "9004173", "9004174"),
)
either(
    "long-fixed-width",
    "print.txt",
    lines("PatientID   ICD", *(f"{mrn}      {icd}" for mrn, icd in PAIRS)),
    "long",
    ICD4,
    ids=P4,
)
either(
    "long-names-of-diagnoses-with-commas",
    "texts.csv",
    lines(
        "MRN,Diagnosis",
        'P90001,"Diabetes mellitus, type 2"',
        "P90001,Hypertension",
        "P90002,Hypertension",
        'P90003,"Diabetes mellitus, type 2"',
        'P90003,"Asthma, unspecified"',
        "P90004,Hypertension",
    ),
    "long",
    [
        ["Diabetes mellitus, type 2", "Hypertension"],
        ["Hypertension"],
        ["Asthma, unspecified", "Diabetes mellitus, type 2"],
        ["Hypertension"],
    ],
    ids=P4,
)

# --- Hospitals: several values in a cell ---------------------------------------------------------

clear(
    "cells-semicolon",
    "lists.csv",
    lines(
        "PatientID,Diagnoses",
        'P90001,"E11.9; I10"',
        'P90002,"I10; J45.0"',
        'P90003,"E11.9; J45.0; M54.5"',
        "P90004,I10",
    ),
    CELLS,
    ICD4,
    roles={"PatientID": RECORD, "Diagnoses": ITEMS},
    separators={"Diagnoses": ";"},
    ids=P4,
)
clear(
    "cells-clinic-with-names",
    "lists.tsv",
    lines(
        "MRN\tName\tFindings",
        *(f"{mrn}\t{name}\t{visit.replace(' ', '; ')}" for mrn, name, visit in PATIENTS),
    ),
    CELLS,
    VISITS,
    roles={"MRN": RECORD, "Name": IDENTITY, "Findings": ITEMS},
    separators={"Findings": ";"},
    ids=MRNS + PEOPLE,
)
clear(
    "cells-pipe-with-age-and-sex",
    "cohort.csv",
    lines(
        "PatientID,Age,Sex,Diagnoses",
        "P90001,71,F,E11.9|I10",
        "P90002,64,M,I10|J45.0",
        "P90003,45,F,E11.9|J45.0|M54.5",
        "P90004,39,M,I10",
    ),
    CELLS,
    ICD4,
    roles={"PatientID": RECORD, "Age": ASIDE, "Sex": ASIDE, "Diagnoses": ITEMS},
    separators={"Diagnoses": "|"},
    ids=P4,
)
clear(
    "cells-comma-in-quotes",
    "commas.csv",
    lines(
        "PatientID,Diagnoses",
        'P90001,"E11.9, I10"',
        'P90002,"I10, J45.0"',
        'P90003,"E11.9, J45.0, M54.5"',
        "P90004,I10",
    ),
    CELLS,
    ICD4,
    roles={"PatientID": RECORD, "Diagnoses": ITEMS},
    separators={"Diagnoses": ","},
    ids=P4,
)
clear(
    "cells-line-ends",
    "alt-enter.csv",
    lines(
        "PatientID,Diagnoses",
        'P90001,"E11.9\nI10"',
        'P90002,"I10\nJ45.0"',
        'P90003,"E11.9\nJ45.0\nM54.5"',
        "P90004,I10",
        end="\r\n",
    ),
    CELLS,
    ICD4,
    roles={"PatientID": RECORD, "Diagnoses": ITEMS},
    ids=P4,
)
either(
    "cells-slash",
    "slashes.csv",
    lines(
        "PatientID,Diagnoses",
        "P90001,E11.9/I10",
        "P90002,I10/J45.0",
        "P90003,E11.9/J45.0/M54.5",
        "P90004,I10",
    ),
    CELLS,
    ICD4,
    roles={"PatientID": RECORD, "Diagnoses": ITEMS},
    ids=P4,
)
clear(
    "cells-slash-by-option",
    "slashes.csv",
    lines(
        "PatientID,Diagnoses",
        "P90001,E11.9/I10",
        "P90002,I10/J45.0",
        "P90003,E11.9/J45.0/M54.5",
        "P90004,I10",
    ),
    CELLS,
    ICD4,
    options={"id": "PatientID", "items": "Diagnoses", "separator": "/"},
    roles={"PatientID": RECORD, "Diagnoses": ITEMS},
    separators={"Diagnoses": "/"},
    ids=P4,
)
either(
    "cells-web-form",
    "form.csv",
    lines(
        "Timestamp,Email Address,Which symptoms do you have?",
        '2024/03/01 9:12:44,anna@example.org,"Cough, Fever"',
        '2024/03/01 9:15:02,bruno@example.org,"Cough, Headache"',
        "2024/03/01 9:21:37,clara@example.org,Fever",
        '2024/03/01 9:40:11,david@example.org,"Fever, Headache"',
    ),
    CELLS,
    ["Cough Fever", "Cough Headache", "Fever", "Fever Headache"],
    roles={"Email Address": IDENTITY},
    ids=("anna@example.org", "bruno@example.org", "clara@example.org", "david@example.org"),
)

# --- Hospitals: a column per finding -------------------------------------------------------------

clear(
    "flags-clinic-with-names",
    "flags.csv",
    lines(
        "MRN," + ",".join(FINDINGS) + ",Name",
        *(
            f'{mrn},{",".join(str(int(f in visit.split())) for f in FINDINGS)},"{name}"'
            for mrn, name, visit in PATIENTS
        ),
    ),
    "one-hot",
    VISITS,
    roles={"MRN": RECORD, "Name": IDENTITY, "asthma": FLAG},
    ids=MRNS + PEOPLE,
)
clear(
    "flags-pandas-index-and-label",
    "symptoms.csv",
    lines(
        ",cough,fever,headache,label",
        "0,1,1,0,influenza",
        "1,1,0,0,bronchitis",
        "2,0,0,1,migraine",
        "3,0,1,1,influenza",
    ),
    "one-hot",
    ["cough fever", "cough", "headache", "fever headache"],
    roles={"cough": FLAG, "label": UNPUBLISHED},
    ids=("influenza", "bronchitis", "migraine"),
)
clear(
    "flags-true-false",
    "booleans.csv",
    lines(
        "PatientID,asthma,gout,migraine",
        "P90001,True,False,True",
        "P90002,False,False,True",
        "P90003,True,True,False",
        "P90004,False,False,False",
    ),
    "one-hot",
    ["asthma migraine", "migraine", "asthma gout", ""],
    roles={"PatientID": RECORD, "gout": FLAG},
    ids=P4,
)
clear(
    "flags-yes-no-with-age",
    "answers.csv",
    lines(
        "PatientID;Age;asthma;gout;migraine",
        "P90001;71;yes;no;yes",
        "P90002;64;no;no;yes",
        "P90003;45;yes;yes;no",
        "P90004;39;no;no;yes",
    ),
    "one-hot",
    ["asthma migraine", "migraine", "asthma gout", "migraine"],
    roles={"PatientID": RECORD, "Age": ASIDE, "gout": FLAG},
    ids=P4,
)
either(
    "flags-ja-nein",
    "antworten.csv",
    lines(
        "Patient;Asthma;Gicht;Migräne",
        "P90001;ja;nein;ja",
        "P90002;nein;nein;ja",
        "P90003;ja;ja;nein",
        "P90004;nein;nein;ja",
    ),
    "one-hot",
    ["Asthma Migräne", "Migräne", "Asthma Gicht", "Migräne"],
    ids=P4,
)
either(
    "flags-crosses",
    "crosses.csv",
    lines(
        "PatientID,asthma,gout,migraine",
        "P90001,x,,x",
        "P90002,,,x",
        "P90003,x,x,",
        "P90004,,,x",
    ),
    "one-hot",
    ["asthma migraine", "migraine", "asthma gout", "migraine"],
    ids=P4,
)
either(
    "flags-sex-as-a-number",
    "coded.csv",
    lines(
        "PatientID,Sex,asthma,gout,migraine",
        "P90001,0,1,0,1",
        "P90002,1,0,0,1",
        "P90003,1,1,1,0",
        "P90004,0,0,0,1",
    ),
    "one-hot",
    ["asthma migraine", "migraine", "asthma gout", "migraine"],
    roles={"PatientID": RECORD, "Sex": ASIDE},
    ids=P4,
)
either(
    "flags-are-counts",
    "counts.csv",
    lines(
        "PatientID,asthma,gout,migraine",
        "P90001,2,0,1",
        "P90002,0,0,3",
        "P90003,1,1,0",
        "P90004,0,0,1",
    ),
    "one-hot",
    ["asthma migraine", "migraine", "asthma gout", "migraine"],
    ids=P4,
)

# --- Shops ---------------------------------------------------------------------------------------

clear(
    "basket-commas",
    "groceries.csv",
    lines("beer,bread,milk", "bread,milk", "butter,milk", "beer,chips"),
    "basket",
    BASKETS,
    layout={"header": False, "delimiter": ","},
)
clear(
    "basket-padded-without-header",
    "padded.csv",
    lines("beer,bread,milk,,", "bread,milk,,,", "butter,milk,,,", "beer,chips,,,"),
    {"basket", "wide"},
    BASKETS,
    layout={"header": False},
)
clear(
    "basket-quoted-delimiters",
    "quoted.csv",
    lines('"bread; brown";milk', "milk;beer", '"bread; brown";beer;milk', "beer"),
    "basket",
    [["bread; brown", "milk"], ["beer", "milk"], ["beer", "bread; brown", "milk"], ["beer"]],
    layout={"delimiter": ";"},
)
clear(
    "basket-tabs-crlf",
    "baskets.tsv",
    lines("beer\tbread\tmilk", "bread\tmilk", "butter\tmilk", "beer\tchips", end="\r\n"),
    "basket",
    BASKETS,
    layout={"delimiter": "\t"},
)
clear(
    "wide-groceries-with-count",
    "groceries - groceries.csv",
    lines(
        "Item(s)," + ",".join(f"Item {n}" for n in range(1, 33)),
        *(
            ",".join([str(len(basket.split())), *(basket.split() + [""] * 32)[:32]])
            for basket in BASKETS
        ),
    ),
    "wide",
    BASKETS,
    roles={"Item(s)": ASIDE, "Item 1": ITEM, "Item 32": ITEM},
)
clear(
    "long-orders-tabs",
    "orders.tsv",
    lines("order_id\tproduct", *(f"{n}\t{item}" for n, item in BOUGHT)),
    "long",
    BASKETS,
    roles={"order_id": RECORD, "product": ITEM},
    layout={"delimiter": "\t"},
)
clear(
    "long-orders-pipes-and-quantity",
    "orders.txt",
    lines("order|product|quantity", *(f"{n}|{item}|2" for n, item in BOUGHT)),
    "long",
    BASKETS,
    roles={"order": RECORD, "product": ITEM, "quantity": ASIDE},
    layout={"delimiter": "|"},
)
clear(
    "long-german-receipts",
    "bons.csv",
    lines(
        "Bon-Nr;Artikel;Menge;Preis",
        "4471101;Müsli;1;3,49",
        "4471101;Käse;2;12,80",
        "4471102;Brötchen;6;2,10",
        "4471103;Käse;1;1.006,40",
        "4471104;Müsli;1;3,49",
        end="\r\n",
        encoding="cp1252",
    ),
    "long",
    ["Käse Müsli", "Brötchen", "Käse", "Müsli"],
    roles={"Bon-Nr": RECORD, "Artikel": ITEM, "Menge": ASIDE, "Preis": ASIDE},
    ids=("4471101", "4471102", "4471103", "4471104"),
)
clear(
    "long-thousands-separators",
    "invoices.csv",
    lines(
        "InvoiceNo,Item,Price",
        '4471101,sofa,"1,234.50"',
        "4471101,lamp,89.90",
        "4471102,lamp,89.90",
        '4471103,sofa,"1,234.50"',
        "4471104,lamp,89.90",
    ),
    "long",
    ["lamp sofa", "lamp", "sofa", "lamp"],
    roles={"InvoiceNo": RECORD, "Item": ITEM, "Price": ASIDE},
    ids=("4471101", "4471102", "4471103", "4471104"),
)
clear(
    "long-members-of-a-shop",
    "Groceries_dataset.csv",
    lines(
        "Member_number,Date,itemDescription",
        "18080,21-07-2015,tropical fruit",
        "25520,05-01-2015,whole milk",
        "18080,19-09-2015,whole milk",
        "23000,12-12-2015,pip fruit",
        "11870,01-02-2015,whole milk",
    ),
    "long",
    [["tropical fruit", "whole milk"], ["whole milk"], ["pip fruit"], ["whole milk"]],
    roles={"Member_number": RECORD, "Date": UNPUBLISHED, "itemDescription": ITEM},
    ids=("18080", "25520", "23000", "11870"),
)
clear(
    "long-bakery",
    "bakery.csv",
    lines(
        "Transaction,Item,date_time,period_day",
        *(f"{n},{item},30-10-2016 09:58,morning" for n, item in BOUGHT),
    ),
    "long",
    BASKETS,
    roles={"Transaction": RECORD, "Item": ITEM, "date_time": ASIDE, "period_day": UNPUBLISHED},
)
clear(
    "cells-orders",
    "orders.csv",
    lines(
        "order_id,items",
        '1,"beer, bread, milk"',
        '2,"bread, milk"',
        '3,"butter, milk"',
        '4,"beer, chips"',
    ),
    CELLS,
    BASKETS,
    roles={"order_id": RECORD, "items": ITEMS},
    separators={"items": ","},
)
clear(
    "cells-one-column",
    "items.csv",
    lines("items", '"beer,bread,milk"', '"bread,milk"', '"butter,milk"', '"beer,chips"'),
    CELLS,
    BASKETS,
)
clear(
    "long-dos-encoding-by-option",
    "dos.csv",
    lines("Bon;Artikel", "1;Müsli", "1;Käse", "2;Brötchen", "3;Käse", encoding="cp850"),
    "long",
    ["Käse Müsli", "Brötchen", "Käse"],
    options={"encoding": "cp850"},
    layout={"encoding": {"cp850"}},
)
either(
    "long-dos-encoding",
    "dos.csv",
    lines("Bon;Artikel", "1;Müsli", "1;Käse", "2;Brötchen", "3;Käse", encoding="cp850"),
    "long",
    ["Käse Müsli", "Brötchen", "Käse"],
    message="encoding",
)
either(
    "pairs-without-header",
    "pairs.csv",
    lines("1,milk", "1,bread", "2,beer", "2,milk", "3,bread"),
    "long",
    ["bread milk", "beer milk", "bread"],
)
either(
    "basket-numbered-lines",
    "numbered.csv",
    lines(*(f"{n + 1},{basket.replace(' ', ',')}" for n, basket in enumerate(BASKETS))),
    {"basket", "wide"},
    BASKETS,
)
either(
    "basket-of-words",
    "words.txt",
    lines(*BASKETS),
    "basket",
    BASKETS,
)
either(
    "one-item-per-line",
    "single.txt",
    lines("milk", "bread", "milk", "beer"),
    {"basket", "wide"},
    ["milk", "bread", "milk", "beer"],
)
either(
    "long-numbered-products",
    "order_products.csv",
    lines(
        "order_id,product_id,add_to_cart_order,reordered",
        "1,49302,1,1",
        "1,11109,2,1",
        "2,33120,1,1",
        "2,49302,2,0",
        "3,11109,1,0",
    ),
    "long",
    ["11109 49302", "33120 49302", "11109"],
    roles={"order_id": RECORD, "product_id": ITEM, "add_to_cart_order": UNPUBLISHED},
)

RETAIL = lines(
    "InvoiceNo,StockCode,Description,Quantity,InvoiceDate,UnitPrice,CustomerID,Country",
    "536365,85123A,WHITE LANTERN,6,2010-12-01 08:26,2.55,178501,Norway",
    "536365,71053,METAL HEART,6,2010-12-01 08:26,3.39,178501,Norway",
    "536366,71053,METAL HEART,2,2010-12-01 08:28,3.39,130472,France",
    "536367,85123A,WHITE LANTERN,4,2010-12-02 09:00,2.55,178501,Norway",
    "536368,22633,HAND WARMER,3,2010-12-02 09:45,1.85,125833,France",
    "536369,22633,HAND WARMER,1,2010-12-03 10:03,1.85,137481,Norway",
)
BUYERS = ("178501", "130472", "125833", "137481")
refused(
    "retail-several-ids-and-items", "retail.csv", RETAIL, r"\bid\b|\bitem\b|CustomerID", ids=BUYERS
)
clear(
    "retail-invoices-by-option",
    "retail.csv",
    RETAIL,
    "long",
    [
        ["METAL HEART", "WHITE LANTERN"],
        ["METAL HEART"],
        ["WHITE LANTERN"],
        ["HAND WARMER"],
        ["HAND WARMER"],
    ],
    options={"id": "InvoiceNo", "item": "Description"},
    roles={"InvoiceNo": RECORD, "Description": ITEM, "CustomerID": UNPUBLISHED},
    ids=(*BUYERS, "536365", "85123A", "2010-12-01", "Norway"),
)
clear(
    "retail-customers-by-option",
    "retail.csv",
    RETAIL,
    "long",
    ["71053 85123A", "71053", "22633", "22633"],
    options={"id": "CustomerID", "item": "StockCode"},
    roles={"InvoiceNo": UNPUBLISHED, "StockCode": ITEM, "CustomerID": RECORD},
    ids=(*BUYERS, "536365", "METAL HEART", "2010-12-01", "Norway"),
)

# --- Libraries and web sites ---------------------------------------------------------------------

clear(
    "long-german-loans",
    "ausleihen.csv",
    lines(
        "Benutzernummer;Titel;Ausleihdatum",
        "B55001;Effi Briest;03.01.2024",
        "B55001;Der Prozess;03.01.2024",
        "B55002;Der Prozess;09.01.2024",
        "B55003;Die Wand;11.01.2024",
        "B55004;Effi Briest;12.01.2024",
    ),
    "long",
    [["Der Prozess", "Effi Briest"], ["Der Prozess"], ["Die Wand"], ["Effi Briest"]],
    roles={"Benutzernummer": RECORD, "Titel": ITEM, "Ausleihdatum": ASIDE},
    ids=("B55001", "B55002", "B55003", "B55004"),
)
either(
    "long-loans-with-title-author-isbn",
    "loans.csv",
    lines(
        "patron_id,title,author,isbn",
        "B55001,Middlemarch,George Eliot,9780141439549",
        "B55001,Emma,Jane Austen,9780141439587",
        "B55002,Emma,Jane Austen,9780141439587",
        "B55003,Persuasion,Jane Austen,9780141439686",
    ),
    "long",
    ["Emma Middlemarch", "Emma", "Persuasion"],
    roles={"patron_id": RECORD, "title": ITEM, "author": UNPUBLISHED},
    ids=("B55001", "B55002", "B55003"),
)
clear(
    "long-sessions",
    "clicks.csv",
    lines(
        "session_id,url,timestamp",
        "s-73aa01,/home,2024-03-01T09:12:44Z",
        "s-73aa01,/cart,2024-03-01T09:13:01Z",
        "s-73aa02,/home,2024-03-01T09:14:20Z",
        "s-73aa03,/help,2024-03-01T09:15:09Z",
        "s-73aa04,/home,2024-03-01T09:15:30Z",
    ),
    "long",
    ["/cart /home", "/home", "/help", "/home"],
    roles={"session_id": RECORD, "url": ITEM, "timestamp": UNPUBLISHED},
    ids=("s-73aa01", "s-73aa02", "s-73aa03", "s-73aa04"),
)
clear(
    "long-ip-addresses",
    "access.csv",
    lines(
        "ip_address,url,time",
        "203.0.113.17,/home,09:12:44",
        "203.0.113.17,/cart,09:13:01",
        "198.51.100.4,/home,09:14:20",
        "192.0.2.99,/help,09:15:09",
        "192.0.2.140,/home,09:15:30",
    ),
    "long",
    ["/cart /home", "/home", "/help", "/home"],
    roles={"ip_address": RECORD, "url": ITEM, "time": ASIDE},
    ids=("203.0.113.17", "198.51.100.4", "192.0.2.99", "192.0.2.140"),
)
either(
    "long-search-log",
    "queries.txt",
    lines(
        "AnonID\tQuery\tQueryTime\tItemRank\tClickURL",
        "4417749\tnumb fingers\t2006-03-01 07:17:12\t1\thttp://a.example",
        "4417749\tdog breeds\t2006-03-02 08:00:00\t\t",
        "1268202\tdog breeds\t2006-03-02 09:00:00\t2\thttp://b.example",
        "2178005\tnumb fingers\t2006-03-03 10:00:00\t\t",
    ),
    "long",
    [["dog breeds", "numb fingers"], ["dog breeds"], ["numb fingers"]],
    roles={"AnonID": RECORD},
    ids=("4417749", "1268202", "2178005"),
)
either(
    "long-ratings",
    "ratings.csv",
    lines(
        "userId,movieId,rating,timestamp",
        "610001,318,4.0,964982703",
        "610001,356,4.5,964982224",
        "610002,318,3.0,964983815",
        "610003,593,5.0,964982931",
    ),
    "long",
    ["318 356", "318", "593"],
    roles={"userId": RECORD, "movieId": ITEM, "rating": ASIDE},
    ids=("610001", "610002", "610003", "964982703"),
)
either(
    "long-double-colons",
    "ratings.dat",
    lines(
        "610001::318::4::964982703",
        "610001::356::5::964982224",
        "610002::318::3::964983815",
        "610003::593::5::964982931",
    ),
    "long",
    ["318 356", "318", "593"],
    ids=("610001", "610002", "610003", "964982703"),
)
clear(
    "long-double-colons-by-option",
    "subscriptions.dat",
    lines("user::channel", "u-61001::news", "u-61001::sport", "u-61002::news", "u-61003::art"),
    "long",
    ["news sport", "news", "art"],
    options={"delimiter": "::", "id": "user", "item": "channel"},
    roles={"user": RECORD, "channel": ITEM},
    layout={"delimiter": "::"},
    ids=("u-61001", "u-61002", "u-61003"),
)

# --- Numbers: FIMI and SPMF ----------------------------------------------------------------------

clear(
    "fimi",
    "retail.dat",
    lines("3 1 7", "4 1", "7", "3 4 7"),
    "fimi",
    ["1 3 7", "1 4", "7", "3 4 7"],
)
clear(
    "fimi-empty-line-and-trailing-blanks",
    "kosarak.dat",
    lines("3 1 7 ", "4 1 ", "", "3 4 7 "),
    "fimi",
    ["1 3 7", "1 4", "", "3 4 7"],
)
clear(
    "fimi-gzip",
    "retail.dat.gz",
    gzip.compress(lines("3 1", "4 1", "7")),
    "fimi",
    ["1 3", "1 4", "7"],
)
either(
    "fimi-numbered-lines",
    "numbered.dat",
    lines(
        "10001 31 7 5",
        "10002 7 5",
        "10003 31 12",
        "10004 12 5 7",
        "10005 31",
        "10006 7 12",
        "10007 5 31",
        "10008 12",
    ),
    ANY,
    ["31 5 7", "5 7", "12 31", "12 5 7", "31", "12 7", "31 5", "12"],
    ids=("10001", "10002", "10003", "10004", "10005", "10006", "10007", "10008"),
)
clear(
    "spmf-sequences",
    "sequences.txt",
    lines("1 -1 1 2 3 -1 1 3 -1 -2", "1 4 -1 3 -1 -2", "5 6 -1 1 2 -1 -2"),
    "spmf",
    ["1 2 3", "1 3 4", "1 2 5 6"],
)
clear(
    "spmf-names",
    "named.txt",
    lines(
        "@CONVERTED_FROM_TEXT", "@ITEM=1=apple", "@ITEM=2=fig", "@ITEM=3=kiwi", "1 2", "2 3", "1"
    ),
    "spmf",
    ["apple fig", "fig kiwi", "apple"],
)
either(
    "spmf-utilities",
    "utility.txt",
    lines("3 5 1:9:1 3 5", "3 2:8:3 5", "1 2:6:5 1"),
    ANY,
    ["1 3 5", "2 3", "1 2"],
    message=OPTION + "|line 1|whole number|utilit",
)

# --- JSON ----------------------------------------------------------------------------------------

clear(
    "json-lines-lists",
    "visits.jsonl",
    json_lines(["Grippe", "Übelkeit"], ["Grippe"], [], ["Übelkeit"]),
    "jsonl",
    ["Grippe Übelkeit", "Grippe", "", "Übelkeit"],
)
clear(
    "json-lines-objects",
    "visits.jsonl",
    json_lines(
        {"id": "P90001", "items": ["E11.9", "I10"]},
        {"id": "P90002", "items": ["I10"]},
        {"id": "P90003", "items": []},
        {"id": "P90004", "items": ["E11.9"]},
    ),
    "jsonl",
    ["E11.9 I10", "I10", "", "E11.9"],
    ids=P4,
)
clear(
    "json-lines-other-field-names",
    "patients.ndjson",
    json_lines(
        {"patient": "P90001", "name": "Anna Huber", "diagnoses": ["E11.9", "I10"]},
        {"patient": "P90002", "name": "Bruno Maier", "diagnoses": ["I10"]},
        {"patient": "P90003", "name": "Clara Stein", "diagnoses": ["J45.0"]},
        {"patient": "P90004", "name": "David Vogel", "diagnoses": ["E11.9"]},
    ),
    "jsonl",
    ["E11.9 I10", "I10", "J45.0", "E11.9"],
    ids=P4 + NAMES,
)
TWO_LISTS = json_lines(
    {"patient": "P90001", "drugs": ["metformin"], "diagnoses": ["E11.9", "I10"]},
    {"patient": "P90002", "drugs": ["ramipril"], "diagnoses": ["I10"]},
    {"patient": "P90003", "drugs": ["salbutamol"], "diagnoses": ["J45.0"]},
)
refused("json-lines-two-lists", "both.jsonl", TWO_LISTS, r"\bitem\b|drugs", ids=P4[:3])
clear(
    "json-lines-two-lists-by-option",
    "both.jsonl",
    TWO_LISTS,
    "jsonl",
    ["metformin", "ramipril", "salbutamol"],
    options={"item": "drugs"},
    ids=(*P4[:3], "E11.9", "J45.0"),
)
refused(
    "json-lines-nested",
    "nested.jsonl",
    json_lines(
        {"patient": "P90001", "visits": [{"day": "2024-01-03", "codes": ["E11.9"]}]},
        {"patient": "P90002", "visits": [{"day": "2024-01-05", "codes": ["I10"]}]},
    ),
    r"\bitem\b|visits|object|text",
    ids=P4[:2],
)
refused(
    "json-lines-broken",
    "broken.jsonl",
    lines('["a", "b"]', '["a", ', '["b"]'),
    r"line 2",
)
either(
    "json-lines-numbers",
    "numbers.jsonl",
    json_lines([250, 401], [401], [250, 493]),
    "jsonl",
    ["250 401", "401", "250 493"],
    message=OPTION + "|text|string|number",
)
clear(
    "json-document-of-objects",
    "patients.json",
    json.dumps(
        [
            {"id": "P90001", "items": ["E11.9", "I10"]},
            {"id": "P90002", "items": ["I10"]},
            {"id": "P90003", "items": ["J45.0"]},
            {"id": "P90004", "items": ["E11.9"]},
        ],
        indent=2,
    ).encode(),
    "jsonl",
    ["E11.9 I10", "I10", "J45.0", "E11.9"],
    ids=P4,
)
clear(
    "json-document-of-lists",
    "baskets.json",
    json.dumps([basket.split() for basket in BASKETS], indent=1).encode(),
    "jsonl",
    BASKETS,
)
either(
    "json-document-of-flat-rows",
    "rows.json",
    json.dumps([{"patient": mrn, "icd": icd} for mrn, icd in PAIRS]).encode(),
    {"jsonl", "long"},
    ICD4,
    ids=P4,
)

# --- Parquet, Excel, OpenDocument, SQLite --------------------------------------------------------

clear(
    "parquet-long",
    "long.parquet",
    parquet(
        mrn=[mrn for mrn, _ in PAIRS],
        icd=[icd for _, icd in PAIRS],
        admitted=[dt.date(2024, 1, 3)] * len(PAIRS),
    ),
    "long",
    ICD4,
    roles={"mrn": RECORD, "icd": ITEM, "admitted": ASIDE},
    ids=P4,
)
clear(
    "parquet-wide",
    "wide.parquet",
    parquet(
        patient_id=P4,
        dx1=["E11.9", "I10", "E11.9", "I10"],
        dx2=["I10", "J45.0", "J45.0", None],
        dx3=[None, None, "M54.5", None],
    ),
    "wide",
    ICD4,
    roles={"patient_id": RECORD, "dx1": ITEM},
    ids=P4,
)
clear(
    "parquet-lists",
    "lists.parquet",
    parquet(
        patient_id=P4,
        name=NAMES,
        diagnoses=[row.split() for row in ICD4],
    ),
    LIST,
    ICD4,
    roles={"patient_id": RECORD, "name": IDENTITY, "diagnoses": ITEMS},
    ids=P4 + NAMES,
)
clear(
    "parquet-clinic-one-hot",
    "flags.parquet",
    parquet(
        mrn=MRNS,
        name=PEOPLE,
        **{item: [item in visit.split() for visit in VISITS] for item in FINDINGS},
    ),
    "one-hot",
    VISITS,
    roles={"mrn": RECORD, "name": IDENTITY, "asthma": FLAG},
    ids=MRNS + PEOPLE,
)
refused(
    "parquet-two-lists",
    "both.parquet",
    parquet(patient_id=P4, drugs=[["metformin"]] * 4, diagnoses=[row.split() for row in ICD4]),
    r"\bitems?\b|drugs",
    ids=P4,
)
clear(
    "parquet-two-lists-by-option",
    "both.parquet",
    parquet(patient_id=P4, drugs=[["metformin"]] * 4, diagnoses=[row.split() for row in ICD4]),
    LIST,
    ICD4,
    options={"items": "diagnoses"},
    roles={"patient_id": IDENTITY, "drugs": UNPUBLISHED, "diagnoses": ITEMS},
    ids=(*P4, "metformin"),
)
clear(
    "excel-clinic-long",
    "clinic.xlsx",
    excel(
        Findings=[
            ("MRN", "Name", "Finding"),
            *((int(m), name, item) for m, name, visit in PATIENTS for item in visit.split()),
        ]
    ),
    "long",
    VISITS,
    roles={"MRN": RECORD, "Name": IDENTITY, "Finding": ITEM},
    ids=MRNS + PEOPLE,
)
clear(
    "excel-wide-with-dates",
    "wide.xlsx",
    excel(
        Sheet1=[
            ("PatientID", "Admitted", "Dx1", "Dx2", "Dx3"),
            ("P90001", dt.date(2024, 1, 3), "E11.9", "I10", None),
            ("P90002", dt.date(2024, 1, 5), "I10", "J45.0", None),
            ("P90003", dt.date(2024, 2, 12), "E11.9", "J45.0", "M54.5"),
            ("P90004", dt.date(2024, 3, 1), "I10", None, None),
        ]
    ),
    "wide",
    ICD4,
    roles={"PatientID": RECORD, "Admitted": UNPUBLISHED, "Dx1": ITEM},
    ids=P4,
)
clear(
    "excel-whole-numbers-as-codes",
    "icd9.xlsx",
    excel(
        Codes=[
            ("PatientID", "Code"),
            ("P90001", 250),
            ("P90001", 401),
            ("P90002", 401),
            ("P90003", 250),
        ]
    ),
    "long",
    ["250 401", "401", "250"],
    roles={"PatientID": RECORD, "Code": ITEM},
    ids=P4[:3],
)
SHEETS = {
    "Diagnoses": [("PatientID", "ICD"), *PAIRS],
    "Drugs": [("PatientID", "Drug"), ("P90001", "metformin"), ("P90002", "ramipril")],
}
refused("excel-several-sheets", "book.xlsx", excel(**SHEETS), r"table|sheet|Drugs", ids=P4)
clear(
    "excel-several-sheets-by-option",
    "book.xlsx",
    excel(**SHEETS),
    "long",
    ICD4,
    options={"table": "Diagnoses"},
    roles={"PatientID": RECORD, "ICD": ITEM},
    ids=(*P4, "metformin"),
)
clear(
    "excel-empty-extra-sheets",
    "default.xlsx",
    excel(Sheet1=[("PatientID", "ICD"), *PAIRS], Sheet2=[], Sheet3=[]),
    "long",
    ICD4,
    roles={"PatientID": RECORD, "ICD": ITEM},
    ids=P4,
)
either(
    "excel-title-rows",
    "title.xlsx",
    excel(
        Export=[
            ("Discharges of ward 3",),
            ("Exported on 2024-03-01",),
            (),
            ("PatientID", "ICD"),
            *PAIRS,
        ]
    ),
    "long",
    ICD4,
    roles={"PatientID": RECORD, "ICD": ITEM},
    ids=P4,
)
either(
    "excel-merged-headers",
    "merged.xlsx",
    excel(
        {"Export": ["A1:B1", "C1:E1"]},
        Export=[
            ("Patient", None, "Diagnoses", None, None),
            ("PatientID", "Name", "Dx1", "Dx2", "Dx3"),
            ("P90001", "Anna Huber", "E11.9", "I10", None),
            ("P90002", "Bruno Maier", "I10", "J45.0", None),
            ("P90003", "Clara Stein", "E11.9", "J45.0", "M54.5"),
            ("P90004", "David Vogel", "I10", None, None),
        ],
    ),
    "wide",
    ICD4,
    ids=P4 + NAMES,
)
either(
    "csv-of-merged-headers",
    "merged.csv",
    lines(
        "Patient;;Diagnoses;;",
        "PatientID;Name;Dx1;Dx2;Dx3",
        "P90001;Anna Huber;E11.9;I10;",
        "P90002;Bruno Maier;I10;J45.0;",
        "P90003;Clara Stein;E11.9;J45.0;M54.5",
        "P90004;David Vogel;I10;;",
    ),
    "wide",
    ICD4,
    ids=P4 + NAMES,
)
either(
    "ods-long",
    "export.ods",
    ods(("PatientID", "ICD"), *PAIRS),
    "long",
    ICD4,
    message="ods|OpenDocument|xlsx|csv",
    ids=P4,
)
clear(
    "sqlite-one-table",
    "clinic.sqlite",
    sqlite(diagnoses=[("patient_id", "icd", "day"), *((m, c, "2024-01-03") for m, c in PAIRS)]),
    "long",
    ICD4,
    roles={"patient_id": RECORD, "icd": ITEM, "day": ASIDE},
    ids=P4,
)
BASE = {
    "patients": [("patient_id", "name"), *zip(P4, NAMES, strict=True)],
    "diagnoses": [("patient_id", "icd"), *PAIRS],
    "drugs": [("patient_id", "drug"), ("P90001", "metformin"), ("P90002", "ramipril")],
}
refused(
    "sqlite-several-tables",
    "clinic.db",
    sqlite(**BASE),
    r"table|query|drugs",
    ids=P4 + NAMES,
)
clear(
    "sqlite-several-tables-by-option",
    "clinic.db",
    sqlite(**BASE),
    "long",
    ICD4,
    options={"table": "diagnoses"},
    roles={"patient_id": RECORD, "icd": ITEM},
    ids=(*P4, *NAMES, "metformin"),
)
clear(
    "sqlite-by-query",
    "clinic.db",
    sqlite(**BASE),
    "long",
    ICD4,
    options={
        "query": "select name, icd from diagnoses join patients using (patient_id) "
        "order by diagnoses.rowid",
        "id": "name",
        "item": "icd",
    },
    roles={"name": RECORD, "icd": ITEM},
    ids=(*P4, *NAMES, "metformin"),
)

# --- Nothing to read, or damaged -----------------------------------------------------------------

refused("empty-file", "empty.csv", b"", "empty|no record|nothing")
refused("blank-lines-only", "blank.csv", b"\n\n  \n\n", "empty|no record|no item|nothing|blank")
refused(
    "header-only",
    "header.csv",
    lines("PatientID,ICD,Admitted"),
    "empty|no record|no item|nothing|header",
)
refused(
    "no-column-of-items",
    "people.csv",
    lines(
        "PatientID,Name,Age,Sex",
        "P90001,Anna Huber,71,F",
        "P90002,Bruno Maier,64,M",
        "P90003,Clara Stein,45,F",
        "P90004,David Vogel,39,M",
    ),
    r"\bitems?\b",
    ids=P4 + NAMES,
)
refused("names-only", "names.csv", lines("Name", *NAMES), r"\bitems?\b|Name", ids=NAMES)
refused(
    "row-with-too-many-cells",
    "extra.csv",
    lines("MRN,ICD", "P90001,E11.9", "P90001,I10", "P90002,I10,J45.0", "P90003,I10"),
    r"line 4",
    ids=P4[:3],
)
clear(
    "row-with-too-many-cells-skipped",
    "extra.csv",
    lines(
        "MRN,ICD", "P90001,E11.9", "P90001,I10", "P90002,I10,J45.0", "P90003,I10", "P90004,E11.9"
    ),
    "long",
    ["E11.9 I10", "I10", "E11.9"],
    options={"on_error": "skip"},
    roles={"MRN": RECORD, "ICD": ITEM},
    ids=P4,
)
refused(
    "quote-never-closed",
    "quote.csv",
    lines("PatientID,ICD", "P90001,E11.9", 'P90002,"I10', "P90003,E11.9"),
    r"quot|line 3",
    ids=P4[:3],
)
refused(
    "not-text", "scan.csv", b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n\x00\x01\x02\xff\xfe\x00" * 20,
    "PDF|binary|text|zero|encoding|format",
)  # fmt: skip
refused(
    "web-page-called-xls",
    "export.xls",
    b"<html><body><table><tr><th>PatientID</th><th>ICD</th></tr>"
    b"<tr><td>P90001</td><td>E11.9</td></tr></table></body></html>",
    "html|web page|excel|xls|text|format",
    ids=("P90001",),
)
refused("parquet-cut-off", "cut.parquet", b"PAR1\x15\x04\x15\x10", "parquet|damaged|cut")

# --- Options that do not fit ---------------------------------------------------------------------

refused(
    "unknown-id", "a.csv", LONG_ICD, r"MNR.*\bMRN\b", options={"id": "MNR", "item": "ICD"}, ids=P4
)
refused(
    "unknown-item",
    "a.csv",
    LONG_ICD,
    r"ICDD.*\bICD\b",
    options={"id": "MRN", "item": "ICDD"},
    ids=P4,
)
refused(
    "unknown-ignore", "a.csv", LONG_ICD, r"Admited.*Admitted", options={"ignore": "Admited"}, ids=P4
)
refused("pattern-without-match", "a.csv", WIDE_ICD, r"Diag\*", options={"items": "Diag*"}, ids=P4)
refused(
    "id-and-item-are-one", "a.csv", LONG_ICD, "MRN", options={"id": "MRN", "item": "MRN"}, ids=P4
)
refused(
    "not-one-hot", "a.csv", LONG_ICD, "one-hot|column|line", options={"format": "one-hot"}, ids=P4
)
refused("not-fimi", "a.csv", LONG_ICD, "number|line 1", options={"format": "fimi"}, ids=P4)
refused("unknown-format", "a.csv", LONG_ICD, "longg.*long", options={"format": "longg"}, ids=P4)
refused("unknown-encoding", "a.csv", LONG_ICD, "utf-99", options={"encoding": "utf-99"}, ids=P4)
refused(
    "wrong-encoding",
    "a.csv",
    lines("Patient;Diagnose", "P90001;Übelkeit", "P90002;Übelkeit", encoding="latin-1"),
    "encoding|UTF-8",
    options={"encoding": "utf-8"},
    ids=P4[:2],
)
refused("table-of-a-text-file", "a.csv", LONG_ICD, "table", options={"table": "diagnoses"}, ids=P4)
refused("unknown-sheet", "book.xlsx", excel(**SHEETS), "Drugs", options={"table": "Drug"}, ids=P4)
refused(
    "unknown-table",
    "clinic.db",
    sqlite(**BASE),
    "diagnoses",
    options={"table": "diagnosis"},
    ids=P4,
)
refused(
    "query-that-changes-the-file",
    "clinic.db",
    sqlite(**BASE),
    "query|select|read",
    options={"query": "drop table diagnoses"},
    ids=P4,
)

EVERY_METHOD = (
    "wide-clinic-with-names-and-age",
    "long-clinic-with-names",
    "cells-clinic-with-names",
    "flags-clinic-with-names",
    "excel-clinic-long",
)
"""Five layouts of one clinic that every anonymizer is tried on."""


# --- What fresh eyes found ----------------------------------------------------------------------


def rows_of(n: int, row: Callable[[int], str], header: str = "") -> bytes:
    """Return a header and n rows that a function writes."""
    start = f"{header}\n" if header else ""
    return (start + "".join(row(i) + "\n" for i in range(n))).encode()


PEOPLE = ("Okafor", "Meier", "Rossi")
FULL = ("Liam Okafor", "Ewa Rossi", "Wei Lichter", "Anna Schmidt", "Peter Kimura")

either(
    "counter-surname-town-complaint",
    "visits.csv",
    rows_of(
        12,
        lambda i: f"{i + 1},{PEOPLE[i % 3]},{['Leeds', 'York'][i % 2]},{['fever', 'cough'][i % 2]}",
        "id,surname,town,complaint",
    ),
    "long",
    ["fever", "cough"] * 6,
    ids=PEOPLE[:2],
)
either(
    "counter-then-oui-non",
    "flags.csv",
    rows_of(
        12,
        lambda i: f"P9000{i:02},{['oui', 'non'][i % 2]},{['oui', 'non'][i // 2 % 2]}",
        "patient_id,Asthma,Gout",
    ),
    "one-hot",
    ["Asthma Gout", "Gout", "Asthma", ""] * 3,
    ids=("P900001",),
)
either(
    "names-last-first-beside-icd",
    "epic.csv",
    rows_of(
        24,
        lambda i: f'E10{i // 2:02},"{PEOPLE[i // 2 % 3].upper()},LIAM",{["I10", "E11"][i % 2]},ICU',
        "PAT_MRN_ID,PAT_NAME,ICD10,DEPT",
    ),
    "long",
    ["E11 I10"] * 12,
    ids=("OKAFOR", "MEIER"),
)
either(
    "care-team-beside-dx",
    "team.csv",
    lines(
        "encounter,care_team,dx",
        "E1,Dr. Amir Haddad; Nurse Li Wei,gout",
        "E2,Nurse Li Wei,flu",
        "E3,Dr. Amir Haddad,flu",
        "E4,Dr. Amir Haddad; PT Tom Hansen,gout",
        "E5,PT Tom Hansen,gout",
    ),
    "long",
    ["gout", "flu", "flu", "gout", "gout"],
    ids=("Haddad", "Hansen"),
)
either(
    "comments-beside-diagnosis",
    "notes.csv",
    rows_of(
        24,
        lambda i: f'{i // 2},{["gout", "flu"][i % 2]},"Herr Schmidt kommt, Tel. 0171/55{i:04}; ok"',
        "id,diagnosis,comment",
    ),
    "long",
    ["flu gout"] * 12,
    ids=("Schmidt",),
)
either(
    "family-of-contacts",
    "contacts.csv",
    lines(
        "case_id,Contact1,Contact2,Symptom",
        "1,Liam Okafor,Ewa Rossi,fever",
        "2,Wei Lichter,Liam Okafor,cough",
        "3,Ewa Rossi,Wei Lichter,fever",
        "4,Wei Lichter,Ewa Rossi,cough",
    ),
    "long",
    ["fever", "cough", "fever", "cough"],
    ids=FULL[:2],
)
refused(
    "columns-v1-v2-v3",
    "r.csv",
    lines("V1,V2,V3", "1,Okafor,flu", "2,Meier,gout", "3,Okafor,gout", "4,Meier,flu"),
    OPTION,
    ids=PEOPLE[:2],
)
refused(
    "people-as-columns",
    "transposed.csv",
    lines(
        "Diagnosis," + ",".join(FULL),
        "I10,1,0,1,1,0",
        "E11,0,1,1,0,1",
        "J45,1,1,0,1,1",
        "G20,0,0,1,1,0",
    ),
    OPTION,
    ids=FULL,
)
refused(
    "json-lists-of-contacts",
    "contacts.jsonl",
    json_lines(*({"patientId": i, "contacts": [FULL[i], FULL[i - 1]]} for i in range(4))),
    r"--item",
    ids=FULL[:4],
)
either(
    "postcodes-called-code",
    "pins.csv",
    rows_of(
        60,
        lambda i: f"{i // 3},{110000 + i // 3},{['fall', 'sepsis'][i % 2]}",
        "customer_id,PIN_CODE,problem",
    ),
    "long",
    ["fall sepsis"] * 20,
    ids=("110001",),
)
refused(
    "numbers-of-people-first",
    "baskets.txt",
    lines("10452 3 5 7", "10452 3 9", "10877 5 7", "10877 9 12", "20031 3 5", "20031 7 9"),
    OPTION,
    ids=("10452",),
)
refused(
    "a-delimiter-that-is-nowhere",
    "clinic.csv",
    lines("PatientID;Name;Dx", "1;Liam Okafor;J45", "2;Wei Lichter;I10"),
    r"delimiter",
    options={"delimiter": ","},
    ids=FULL[:1],
)
either(
    "receipts-start-anew-each-day",
    "bons.csv",
    lines(
        "Datum;Filiale;Bon;Artikel",
        "2024-01-01;1;1;Milch",
        "2024-01-01;1;1;Brot",
        "2024-01-02;1;1;Bier",
        "2024-01-01;2;2;Milch",
        "2024-01-02;1;2;Bier",
    ),
    "long",
    ["not read in any way"],
)
either(
    "pages-with-slashes",
    "pages.csv",
    lines("session_id,page", "s-001,/shop/shoes", "s-001,/shop/hats", "s-002,/shop/shoes"),
    "long",
    ["/shop/hats /shop/shoes", "/shop/shoes"],
    ids=("s-001",),
)
either(
    "present-on-admission",
    "poa.csv",
    lines(
        "RECORD_ID,DIAG_CODE_1,POA_DIAG_CODE_1,DIAG_CODE_2,POA_DIAG_CODE_2",
        "70001,I10,Y,E11,N",
        "70002,J45,U,,",
        "70003,I10,W,J45,Y",
    ),
    "wide",
    ["E11 I10", "J45", "I10 J45"],
    ids=("70001",),
)
clear(
    "principal-and-other-diagnoses",
    "stays.csv",
    lines(
        "visit_id,PrincipalDiagnosis,OtherDiagnosis1,OtherDiagnosis2",
        "V0001,I10,E11,J45",
        "V0002,C50,,",
        "V0003,G20,I10,",
    ),
    "wide",
    ["E11 I10 J45", "C50", "G20 I10"],
    ids=("V0001",),
)
refused(
    "arff",
    "weka.arff",
    lines("@relation r", "@attribute bread {t}", "@attribute milk {t}", "@data", "t,?", "?,t"),
    r"ARFF",
)
refused(
    "markdown-table",
    "table.md",
    lines("| patient_id | dx |", "|---|---|", "| P90001 | J45 |", "| P90002 | I10 |"),
    r"CSV",
    ids=("P90001",),
)
clear(
    "lists-in-brackets",
    "pandas.csv",
    lines("order_id,items", "70001,\"['milk', 'bread']\"", "70002,\"['beer']\""),
    CELLS,
    ["bread milk", "beer"],
    ids=("70001",),
)
clear(
    "single-quotes",
    "quotes.csv",
    lines("'PatientID','Dx'", "'P90001','gout, acute'", "'P90001','flu'", "'P90002','flu'"),
    "long",
    [["flu", "gout, acute"], ["flu"]],
    layout={"quote": "'"},
    ids=("P90001",),
)
clear(
    "a-json-document-with-one-list",
    "tags.json",
    json.dumps([{"id": 1, "tags": ["a", "b"]}, {"id": 2, "tags": ["a"]}], indent=1).encode(),
    "jsonl",
    ["a b", "a"],
)
clear(
    "one-column-of-diagnoses",
    "diagnoses.csv",
    lines("Diagnosis", "J45", "I10", "J45"),
    CELLS,
    ["J45", "I10", "J45"],
)
refused(
    "separator-that-separates-nothing",
    "long.csv",
    lines("MRN,ICD", "P90001,I10", "P90001,E11", "P90002,I10"),
    r"separator",
    options={"separator": ";"},
    ids=("P90001",),
)
