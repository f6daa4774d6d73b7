"""The identifier guard: each rule with hits and near misses, and no alarm on any real data set."""

import csv
import gzip
import json
import random
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.strategies import tables

from setveil import TransactionTable
from setveil.io.identifiers import (
    ColumnSummary,
    Finding,
    find_identifiers,
    identifier_kind,
    mask,
    normalized_name,
)
from setveil.synthetic import LOOKALIKES, clinic, lookalike, write_query_log


def words(text):
    return text.split("|") if "|" in text else text.split()


SURNAMES = words("Meyer Okafor Lindqvist Brandt Novak Duarte Fischer Haddad Costa Kowalski Tanaka")
GIVEN = words("Anna Peter Maria John Sabine Carlos Giulia Pierre Fatima Lukas Emma Thomas")
PEOPLE = [f"{given} {surname}" for surname in SURNAMES for given in GIVEN]


def column(name, values, *, named=True):
    values = [value for value in values if value]
    different = tuple(dict.fromkeys(values))
    return ColumnSummary(
        name=name,
        filled=len(values),
        distinct=len(different),
        samples=different[:1000],
        named=named,
    )


def field(values):
    return column("field 1", values, named=False)


def kind(name, values, *, named=True):
    found = identifier_kind(column(name, values, named=named))
    return found and found.kind


def kinds(rows, columns=()):
    return [found.kind for found in find_identifiers(TransactionTable.from_rows(rows), columns)]


# --- Masking ---


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Anna Schmidt", "A*** S******"),
        ("jo@x.org", "j*@*.***"),
        ("1970-01-31", "1***-**-**"),
        ("+49 30 1234567", "+4* ** *******"),
        ("P0001", "P****"),
        ("DE89 3704 0044", "D*** **** ****"),
        ("12 Main Street", "1* M*** S*****"),
        ("x", "*"),
        ("", ""),
        ("\x1b[31mred", "********"),
        ("a" * 50, "a" + "*" * 39 + "…"),
    ],
)
def test_mask(text, shown):
    assert mask(text) == shown


@given(st.text(min_size=2))
def test_mask_shows_at_most_the_first_character_of_each_word(text):
    shown = mask(text)
    separators = set(" @.,:;/+-()_#&=")
    place_in_word = 0
    for original, letter in zip(text, shown.removesuffix("…"), strict=False):
        place_in_word = 0 if original in separators else place_in_word + 1
        if original not in separators and place_in_word > 1:
            assert letter == "*"
        if letter not in separators | {"*"}:
            assert letter.isalnum()
            assert letter == original
    assert len(shown) <= 41


@given(st.text(st.characters(categories=["L", "Nd"]), min_size=2))
def test_mask_hides_a_part_of_every_value(text):
    assert "*" in mask(text)


# --- Names of columns ---


def test_normalized_names():
    assert normalized_name("PatientName") == "patient name"
    assert normalized_name("IPAddress") == "ip address"
    assert normalized_name("Straße 2") == "strasse"
    assert normalized_name("  N° de_Téléphone ") == "n de telephone"


NAMED = {
    "person names": "Name|NAME|Patient Name|patient_name|PatientName|surname|Last_Name|lastName|"
    "First name|Vorname|Nachname|Patientenname|Name des Patienten|Nom|Prénom|Nom de famille|"
    "Apellidos|Nombre|Nombre del paciente|Cognome|Nome|Achternaam|Voornaam|Sobrenome|"
    "Customer Name|Emergency contact last name|Name, Vorname",
    "postal addresses": "address|Street|Straße|Adresse|Anschrift|Direccion|Indirizzo|Endereço|"
    "zip|ZIP Code|Postcode|PLZ|home_address|Adres",
    "e-mail addresses": "email|E-Mail|e_mail address|EmailAddress|Courriel|Correo electrónico",
    "user names": "username|User Name|login|Benutzername|Gebruikersnaam",
}
NUMBERED = {
    "telephone numbers": "phone|Phone Number|Mobile|Tel.|Telefon|Telefonnummer|Téléphone|Teléfono|"
    "fax|Handy|Telefoonnummer|Telemóvel|cell_phone",
    "dates of birth": "DOB|Date of birth|dateOfBirth|birth_date|Birthday|Geburtsdatum|geb.|"
    "Date de naissance|Fecha de nacimiento|Data di nascita|Geboortedatum|Data de nascimento",
    "national identity numbers": "SSN|Social Security Number|NHS number|Insurance No|Passport|"
    "national_id|Tax ID|Versichertennummer|Krankenversicherungsnummer|Codice Fiscale|DNI|BSN|CPF|"
    "Numéro de sécurité sociale",
    "bank account numbers": "IBAN|account number|Kontonummer|Bank Account",
    "payment card numbers": "card number|CreditCard|Kreditkartennummer",
    "record numbers": "MRN|Medical Record Number|patient id|PatientID|PATIENT_NO|case number|"
    "Fallnummer|Patientennummer|Numéro de dossier|Historia clínica|subject_id|hadm_id|customer_id|"
    "patient|Invoice No",
    "IP addresses": "ip|IP address|client_ip",
}


@pytest.mark.parametrize(
    ("header", "expected"),
    [(name, kind) for kind, names in NAMED.items() for name in names.split("|")],
)
def test_headers_of_texts(header, expected):
    found = identifier_kind(column(header, ["Xu Wang", "Bo Xi", "Ng Ho"]))
    assert found is not None
    assert (found.kind, found.reason) == (expected, f"the column is called {header!r}")


@pytest.mark.parametrize(
    ("header", "expected"),
    [(name, kind) for kind, names in NUMBERED.items() for name in names.split("|")],
)
def test_headers_of_numbers(header, expected):
    assert kind(header, ["17 4", "23 8", "99 1"]) == expected


@pytest.mark.parametrize(
    "header",
    words(
        "item name|product name|Drug name|diagnosis name|brand name|file name|disease_name|"
        "Medikament|phone type|email consent|birth year|city name|account type|item|StockCode|"
        "Insurance provider|diag_1|Hauptdiagnose|ICD|product id|item number|ingredient|condition|"
        "patient weight|age|sex|drug code|ClickURL|Query|procedure"
    ),
)
def test_headers_of_things(header):
    assert kind(header, ["E11", "I10", "J45"] * 3) is None


def test_values_can_refute_a_header():
    assert kind("email", ["yes", "no"] * 20) is None
    assert kind("Phone", ["iOS", "Android"] * 20) is None
    assert kind("visit number", ["1", "2", "3"] * 20) is None
    assert kind("address", ["home", "work"] * 20) is None
    products = ["whole milk", "rolls", "butter", "brown bread"]
    assert kind("name", products * 20) is None
    assert kind("name", PEOPLE[:8] * 20) == "person names"
    assert kind("Name", SURNAMES * 3) == "person names"
    assert kind("name", ["王小明", "李小龙", "陈美"] * 10) == "person names"
    assert kind("Name", []) is None
    assert kind("Name", ["", " "]) is None


def test_a_bare_id_must_differ():
    assert kind("id", ["1", "2", "3"]) == "record numbers"
    assert kind("id", ["1", "2", "2"]) is None


# --- Forms of values in a column ---

CARDS = ["4111111111111111", "5500005555555559", "4012888888881881", "4222222222222"]
CARDS += ["5105105105105100"]
IBANS = ["DE89 3704 0044 0532 0130 00", "GB29NWBK60161331926819", "FR1420041010050500013M02606"]
VALUES = {
    "e-mail addresses": ["jo@x.org", "an.li+a@mail.example.de", "x_y@b.co.uk"],
    "bank account numbers": IBANS,
    "national identity numbers": ["123-45-6789", "219-09-9998", "078-05-1121"],
    "UUIDs or hashes": ["123e4567-e89b-12d3-a456-426614174000", "d41d8cd98f00b204e9800998ecf8427e"],
    "telephone numbers": ["+49 30 1234567", "(030) 123-4567", "555-123-4567", "01 23 45 67 89"],
    "IP addresses": ["192.0.2.1", "198.51.100.17", "2001:db8::ff00:42:8329"],
    "full dates": ["1970-01-31", "31.12.1980", "12/24/1999", "3 May 1955", "19640229", "2001/2/3"],
    "web addresses": ["https://x.org/jo", "www.y.de/people/an", "http://z.fr/~li"],
    "postal addresses": ["12 Main Street", "Hauptstraße 5", "5 rue de la Paix", "Via Roma 12"],
    "payment card numbers": CARDS,
    "long numbers": ["10293847", "56473829", "91827364", "37485960", "82736455"],
}


@pytest.mark.parametrize(("expected", "values"), VALUES.items(), ids=list(VALUES))
@pytest.mark.parametrize("named", [True, False])
def test_forms(expected, values, named):
    found = identifier_kind(column("x", values, named=named))
    assert found is not None
    assert found.kind == expected
    assert len(found.samples) == min(3, len(values))
    assert found.count == len(values)
    assert all(value not in found.samples for value in values)


@pytest.mark.parametrize(
    "values",
    [
        ["E11.9", "I10", "J45.0", "K21", "M54.5", "Z99"],
        ["E119", "I2510", "J450", "K219", "M545"],
        ["0363-0160-01", "50242-040-62", "0002-8215-01", "55513-0209-1", "0078-0357-15"],
        ["978-3-16-148410-0", "0-7475-3269-9", "978-0-306-40615-7", "3-16-148410-1"],
        ["12.50", "3.99", "1,299.00", "0.99", "15.00"],
        ["7732-18-5", "50-00-0", "64-17-5", "58-08-2", "71-43-2"],
        ["A10BA02", "C09AA05", "N02BE01", "B01AC06", "R03AC02"],
        ["2345-7", "718-7", "4548-4", "2160-0", "3094-2"],
        ["1.2.3", "10.0.1", "2.4", "3.11.7", "5.0"],
        ["10 mg", "250 mg", "5 ml", "1000 IU", "20 mg"],
        ["85123A", "71053", "84406B", "84029G", "22752"],
        [
            "Crohn disease",
            "Down Syndrome",
            "Parkinson's disease",
            "Alzheimer Disease",
            "Paget Disease",
        ],
        ["whole milk", "rolls", "butter", "tropical fruit", "brown bread"],
        ["2019", "2020", "2021", "1999", "2001"],
    ],
    ids=lambda values: values[0],
)
@pytest.mark.parametrize("named", [True, False])
def test_forms_of_things(values, named):
    assert kind("x", values, named=named) is None


def test_shared_barcodes_and_catalogue_numbers_are_things():
    barcodes = [str(4006381333900 + n) for n in range(40)]
    assert kind("article", barcodes * 10) is None
    assert kind("x", barcodes * 10) is None
    assert kind("x", barcodes) == "long numbers"


def test_an_admission_date_is_found_and_a_year_is_not():
    days = [f"2023-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]
    assert kind("admission", days * 3) == "full dates"
    assert kind("admission", ["2023-01-01", "2023-02-01"] * 50) is None


def nhs_number(nine):
    check = 11 - sum(int(digit) * (10 - place) for place, digit in enumerate(nine)) % 11
    return f"{nine[:3]} {nine[3:6]} {nine[6:]}{check % 11}" if check != 10 else None


def test_national_numbers_by_check_digit():
    numbers = [number for n in range(12) if (number := nhs_number(str(943476500 + 7 * n)))]
    assert kind("x", numbers) == "national identity numbers"
    wrong = [number[:-1] + str((int(number[-1]) + 1) % 10) for number in numbers]
    assert kind("x", wrong) != "national identity numbers"
    spanish = [f"{n}{'TRWAGMYFPDXBNJZSQVHLCKE'[n % 23]}" for n in range(54362315, 54362324)]
    assert kind("x", spanish) == "national identity numbers"
    assert kind("x", spanish[:7]) is None  # seven may pass by chance


# --- Person names by form ---


def test_person_names_by_form():
    assert kind("x", PEOPLE[:40]) == "person names"
    assert kind("x", [f"{b}, {a}" for a, b in map(str.split, PEOPLE[:40])]) == "person names"
    assert kind("x", [f"Dr. {name}" for name in PEOPLE[:40]]) == "person names"
    assert kind("x", [name.upper() for name in PEOPLE[:40]]) == "person names"
    assert kind("x", [name.lower() for name in PEOPLE[:40]]) == "person names"
    assert kind("field 1", PEOPLE[:40], named=False) == "person names"
    assert kind("x", PEOPLE[:40] * 5) == "person names"
    assert kind("x", GIVEN * 9) == "person names"


def test_form_alone_is_no_person_name():
    eponyms = "Crohn Down Parkinson Alzheimer Marfan Turner Addison Graves Paget Hodgkin Huntington"
    assert kind("x", [f"{name} Disease" for name in eponyms.split()]) is None
    assert kind("x", [f"{name}'s Syndrome" for name in eponyms.split()]) is None
    assert kind("x", PEOPLE[:5]) is None
    things = "Whole Milk|Brown Bread|Red Wine|Earl Grey|Granny Smith|Dark Chocolate|Jack Daniels"
    assert kind("x", [*words(things), "Ice Cream"]) is None
    assert kind("author", PEOPLE[:40] * 3) is None


# --- Templates and differences ---


def test_templates_from_five_rows_on():
    assert kind("x", ["P0001", "P0002", "P0003", "P0004", "P0005"]) == "record numbers"
    assert kind("x", ["A-1234", "A-9431", "A-5521", "A-7420", "A-1187"]) == "record numbers"
    assert kind("x", ["P1", "P2", "P3", "P4", "P5"]) == "record numbers"
    assert kind("x", ["P0001", "P0002", "P0003", "P0004"]) is None
    assert kind("x", ["E11", "E10", "E78", "E66", "E03"]) is None
    assert kind("item", ["P0001", "P0002", "P0003", "P0004", "P0005"]) is None
    assert kind("field 1", [str(n) for n in range(1, 13)], named=False) == "record numbers"
    assert (
        kind("field 1", ["i012-0345", "i003-0221", "i100-0441", "i007-0999"] * 2, named=False)
        is None
    )


def test_all_or_nearly_all_different():
    rng = random.Random(0)
    odd = ["".join(rng.choices("ABCDEFGHIJKLMN", k=9)) for _ in range(2000)]
    found = identifier_kind(column("x", odd))
    assert (found.kind, found.reason) == (
        "values of one record each",
        "all 2,000 values are different",
    )
    assert (
        identifier_kind(column("x", [*odd, *odd[:20]])).reason
        == "2,000 of 2,020 values are different"
    )
    assert kind("x", odd[:19]) is None
    assert kind("x", odd[:20]) == "values of one record each"
    assert kind("x", odd[:80] * 2) is None


def test_lists_and_texts_differ_as_a_matter_of_course():
    rng = random.Random(0)
    codes = ["E11", "I10", "J45", "K21", "M54", "N18", "F32"]
    for separator in ("; ", ",", "|", " "):
        lists = {separator.join(rng.sample(codes, rng.randint(1, 6))) for _ in range(400)}
        assert kind("x", sorted(lists)) is None
    complaints = words("fever cough rash pain nausea fatigue")
    lists = {" ".join(rng.sample(complaints, rng.randint(1, 5))) for _ in range(300)}
    assert kind("x", sorted(lists)) is None
    texts = [f"The patient came on day {n} with a strong headache." for n in range(50)]
    assert kind("x", texts) is None


# --- Items ---

PLAIN = [["flu", "asthma"], ["flu"], ["gout", "asthma"], ["measles"]] * 10


@pytest.mark.parametrize(
    ("item", "expected"),
    [
        ("jo@x.org", "e-mail addresses"),
        ("contact: jo@x.org", "e-mail addresses"),
        ("DE89370400440532013000", "bank account numbers"),
        ("123-45-6789", "national identity numbers"),
        ("123e4567-e89b-12d3-a456-426614174000", "UUIDs or hashes"),
    ],
)
def test_one_item_is_enough(item, expected):
    found = find_identifiers(TransactionTable.from_rows([*PLAIN, ["flu", item]]))
    assert [f.kind for f in found] == [expected]
    assert found[0].column is None
    assert found[0].count == 1
    assert item not in found[0].samples


@pytest.mark.parametrize(
    "item", ["DE88370400440532013000", "000-45-6789", "a@b", "@home", "AB12", "12-34-5678"]
)
def test_one_odd_item_is_nothing(item):
    assert kinds([*PLAIN, ["flu", item]]) == []


def test_keys_of_a_shop_are_products():
    keys = [f"123e4567-e89b-12d3-a456-4266141740{n:02}" for n in range(10)]
    assert kinds([[keys[n % 10], keys[(n + 3) % 10]] for n in range(40)]) == []


OWN = {
    "telephone numbers": lambda n: f"+49 30 55{n:05}",
    "full dates": lambda n: f"{1940 + n % 60}-0{1 + n % 9}-{10 + n % 17}",
    "IP addresses": lambda n: f"192.0.{n // 200}.{n % 200}",
    "postal addresses": lambda n: f"{n} Main Street",
    "web addresses": lambda n: f"https://x.org/people/{n}",
    "long numbers": lambda n: str(70351234 + 977 * n),
    "person names": lambda n: PEOPLE[n],
    "record numbers": lambda n: f"case {n}",
}


@pytest.mark.parametrize(("expected", "make"), OWN.items(), ids=list(OWN))
def test_an_item_of_its_own_in_each_record(expected, make):
    own = [[make(n), *PLAIN[n % 40]] for n in range(1, 61)]
    assert kinds(own) == [expected]
    shared = [[make(n % 7 + 1), *PLAIN[n % 40]] for n in range(60)]
    assert kinds(shared) == []
    few = [[make(1), "flu"], [make(2), "gout"], *PLAIN, *PLAIN]
    assert kinds(few) == []


def test_long_tails_of_barcodes_are_products():
    rng = np.random.default_rng(0)
    rows = [
        [str(4006381000000 + int(n)) for n in rng.zipf(1.3, 6) if n < 10**6] for _ in range(500)
    ]
    assert kinds(rows) == []


def test_card_numbers_of_their_own():
    assert kinds([[card, "flu", "gout"] for card in CARDS]) == ["payment card numbers"]


@pytest.mark.parametrize("records", [5, 9, 10, 40, 2000])
def test_record_numbers_among_items(records):
    rng = random.Random(records)
    for make in (lambda n: f"P{n:05}", lambda n: f"Pat-{n}", lambda n: f"MRN {7311 + 13 * n:06}"):
        rows = [[make(n + 1), *rng.sample(["a", "b", "c", "flu"], 2)] for n in range(records)]
        assert kinds(rows) == ["record numbers"]


def test_record_numbers_among_numbers():
    rng = np.random.default_rng(1)
    baskets = [[str(n) for n in rng.zipf(1.4, 5) if n < 5000] for _ in range(300)]
    assert kinds(baskets) == []
    assert kinds([[str(100_001 + n), *row] for n, row in enumerate(baskets)]) == ["record numbers"]
    assert kinds([[str(90_001 + 3 * n), *row] for n, row in enumerate(baskets)]) == [
        "record numbers"
    ]
    numbered = [[str(n + 1), *row] for n, row in enumerate(baskets)]
    first = field([row[0] for row in numbered])
    assert kinds(numbered, [first]) == ["record numbers"]


@pytest.mark.parametrize(
    "rows",
    [
        [["flu", "asthma"], ["gout"], ["measles"]],
        [[word] for word in words("one two three four five six seven eight nine ten")],
        [
            [f"{a}{n}" for n in range(n, n + 3)]
            for a, n in zip("abcdefghij", range(10), strict=True)
        ],
        [["1"], ["2"], ["3"], ["4"], ["5"], ["6"], ["7"], ["8"], ["9"], ["10"], ["11"], ["12"]],
        [["1", "2"], ["3", "4"], ["5", "6"], ["7", "8"], ["9", "10"]],
        [["E10", "x"], ["E11", "x"], ["E14", "x"], ["E78", "x"], ["E66", "x"]],
        [["age 43"], ["age 51"], ["age 60"], ["age 22"], ["age 35"]],
        [[], []],
        [],
    ],
    ids=str,
)
def test_tiny_tables_of_ordinary_items(rows):
    assert kinds(rows) == []
    assert kinds(rows, [field([row[0] for row in rows if row])]) == []


def test_words_at_a_place_are_judged_by_the_table():
    rng = random.Random(0)
    odd = ["".join(rng.choices("abcdefghijklmn", k=9)) for _ in range(60)]
    own = [[odd[n], "flu", "gout"] for n in range(60)]
    assert kinds(own, [field(odd)]) == ["values of one record each"]
    long_tail = [[odd[n], f"{odd[n]}s", odd[n][::-1]] for n in range(60)]
    assert kinds(long_tail, [field(odd)]) == []


def test_a_column_is_reported_once():
    rows = [[f"p{n}@x.org", "flu"] for n in range(30)]
    found = find_identifiers(
        TransactionTable.from_rows(rows), [column("E-Mail", [row[0] for row in rows])]
    )
    assert [(f.column, f.kind) for f in found] == [("E-Mail", "e-mail addresses")]
    assert isinstance(found[0], Finding)


def test_a_column_of_values_that_others_share_is_no_identifier():
    rng = random.Random(0)
    codes = [f"{a}{n:02}.{m}" for a in "ABCDEF" for n in range(30) for m in range(3)]
    first = rng.sample(codes, 120)
    rows = [[code, *rng.sample(first, 3)] for code in first]
    assert kinds(rows, [column("main", first)]) == []
    assert kinds([[code, "x"] for code in first], [column("main", first)]) == [
        "values of one record each"
    ]


# --- A hospital's columns, and the same in disguise ---


def hospital(n=300):
    rng = random.Random(7)

    def person(number):
        double = f"{chr(65 + number % 26)}{chr(97 + number // 26)}"
        return f"{rng.choice(GIVEN)} {rng.choice(SURNAMES)}-{double}"

    def birth():
        return f"{rng.randint(1930, 2010)}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"

    return {
        "name": [person(number) for number in range(n)],
        "birth": [birth() for _ in range(n)],
        "mrn": [f"{rng.randint(10**7, 10**8)}" for _ in range(n)],
        "mail": [f"u{number}@clinic.example" for number in range(n)],
        "phone": [f"0{rng.randint(100, 999)} {rng.randint(10**5, 10**7)}" for _ in range(n)],
    }


DISGUISES = {
    "as it is": str,
    "padded": lambda text: f"  {text} ",
    "upper case": str.upper,
    "lower case": str.lower,
}


@pytest.mark.parametrize("disguise", DISGUISES.values(), ids=list(DISGUISES))
@pytest.mark.parametrize("gaps", [0, 0.3])
@pytest.mark.parametrize("wanted", hospital(1))
def test_hospital_columns_without_a_telling_header(wanted, gaps, disguise):
    rng = random.Random(3)
    values = [disguise(v) if rng.random() >= gaps else "" for v in hospital()[wanted]]
    for summary in (column("c7", values), field(values)):
        assert identifier_kind(summary) is not None


def test_hospital_items_beside_them_stay():
    table = clinic(n=300).table
    wide = [[*row, *[""] * (12 - len(row))] for row in table.to_rows()]
    columns = [column(f"diag {n}", place) for n, place in enumerate(zip(*wide, strict=False))]
    assert [identifier_kind(c) for c in columns] == [None] * len(columns)
    assert find_identifiers(table, columns) == []


# --- Never raises; quick ---


@given(tables(), st.lists(st.text(), max_size=8), st.booleans())
def test_never_raises(table, values, named):
    find_identifiers(table, [column("x", values, named=named)])


@given(st.lists(st.lists(st.text(max_size=6), max_size=4), max_size=8))
def test_never_raises_on_any_text(rows):
    find_identifiers(TransactionTable.from_rows(rows))


@given(st.text(), st.lists(st.text(), max_size=12))
def test_identifier_kind_never_raises(name, values):
    identifier_kind(column(name, values))


def test_half_a_surrogate_pair():
    assert kinds([["\ud800", "flu"], ["flu", "\udfff x"]]) == []


@pytest.mark.parametrize(
    "make",
    [lambda n: f"item {n:x} b", lambda n: f"AB{n:07}", str],
    ids=["words", "codes", "numbers"],
)
def test_a_million_items_take_seconds(make):
    names = sorted({make(n) for n in range(1_000_000)})
    offsets = np.arange(0, len(names) + 1, 5)
    table = TransactionTable.from_csr(offsets, np.arange(len(names)), names)
    start = time.perf_counter()
    find_identifiers(table)
    assert time.perf_counter() - start < 20  # about one on an idle machine


# --- No false alarm on real and generated data ---


def no_alarm(rows, item_column="item"):
    """Check a data set as a table, with its first fields, as a long table, and in small parts."""
    rows = [list(row) for row in rows]
    for size in (None, 5, 8, 12, 25, 60, 300):
        for seed in range(1 if size is None else 4):
            part = rows if size is None else random.Random(seed).sample(rows, min(size, len(rows)))
            table = TransactionTable.from_rows(part)
            first = field([row[0] for row in part if row])
            items = column(item_column, [item for row in part for item in row])
            assert find_identifiers(table) == [], (size, seed)
            assert find_identifiers(table, [first]) == [], (size, seed, "first fields")
            assert find_identifiers(table, [items]) == [], (size, seed, "long")


def draw(names, n=2000, seed=0):
    """Draw records with popular and rare items."""
    rng = random.Random(seed)
    names = rng.sample(names, len(names))
    weights = np.cumsum(1 / (np.arange(len(names)) + 5)).tolist()
    return [
        list(dict.fromkeys(rng.choices(names, cum_weights=weights, k=rng.randint(2, 8))))
        for _ in range(n)
    ]


def read_tsv(path, name):
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        rows = csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        return list(dict.fromkeys(row[name] for row in rows if row[name]))


def test_groceries(data_dir):
    with (data_dir / "groceries.basket.csv").open(encoding="utf-8", newline="") as lines:
        no_alarm(csv.reader(lines))


@pytest.mark.parametrize("name", ["id", "description", "stock_code"])
def test_online_retail(data_dir, name):
    with (data_dir / "online_retail_items.csv").open(encoding="utf-8", newline="") as lines:
        names = {row["id"]: row[name] for row in csv.DictReader(lines)}
    with gzip.open(data_dir / "online_retail.dat.gz", "rt") as lines:
        no_alarm([names[number] for number in line.split()] for line in lines)


@pytest.mark.parametrize(
    ("file", "name"),
    [
        ("icd10cm_2026.tsv.gz", "code"),
        ("icd10cm_2026.tsv.gz", "description"),
        ("disease_ontology.tsv.gz", "doid"),
        ("disease_ontology.tsv.gz", "name"),
        ("product_taxonomy_shopify.tsv.gz", "id"),
        ("product_taxonomy_shopify.tsv.gz", "name"),
    ],
)
def test_codes_and_names_of_taxonomies(data_dir, file, name):
    no_alarm(draw(read_tsv(data_dir / file, name)), "diagnosis")


def test_disease_names_are_no_person_names(data_dir):
    for file, name in (("disease_ontology", "name"), ("icd10cm_2026", "description")):
        values = read_tsv(data_dir / f"{file}.tsv.gz", name)
        eponyms = [v for v in values if "disease" in v.lower() or "syndrome" in v.lower()]
        for part in (values, values * 3, eponyms, [v.title() for v in eponyms]):
            for header in ("name", "diagnosis", "x"):
                if part[0].islower() or header != "name":  # "Name" over large letters: in doubt
                    assert kind(header, part) != "person names"


@pytest.mark.parametrize("file", ["wikipedia_squad2_dev_35topics.jsonl.gz", "medquad.jsonl.gz"])
@pytest.mark.parametrize("method", ["nouns", "noun-phrases", "tokens"])
def test_words_of_texts(data_dir, file, method):
    from setveil.text.extract import extract

    with gzip.open(data_dir / file, "rt", encoding="utf-8") as lines:
        texts = [json.loads(line)["text"] for line in lines]
    step = max(1, len(texts) // 600)
    no_alarm(extract(texts[::step], method=method, workers=1).table.to_rows(), "word")


def test_recipes_by_glosses(data_dir):
    """Stand in for one-hot recipes: lemmas of WordNet's foods, each record a few ingredients."""
    with gzip.open(data_dir / "wordnet30_glosses.jsonl.gz", "rt", encoding="utf-8") as lines:
        glosses = map(json.loads, lines)
        foods = {
            lemma for gloss in glosses if gloss["topic"] == "noun.food" for lemma in gloss["lemmas"]
        }
    no_alarm(draw(sorted(foods)), "ingredient")


@pytest.mark.parametrize("name", ["clinic", *LOOKALIKES])
def test_synthetic_data(name):
    made = clinic(n=2000) if name == "clinic" else lookalike(name, n=3000)
    no_alarm(made.table.to_rows())


def test_query_log(tmp_path):
    write_query_log(tmp_path / "log.txt", users=1500, seed=2)
    queries, words, urls = {}, {}, {}
    with (tmp_path / "log.txt").open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t"):
            queries.setdefault(row["AnonID"], []).append(row["Query"])
            words.setdefault(row["AnonID"], []).extend(row["Query"].split())
            if row["ClickURL"]:
                urls.setdefault(row["AnonID"], []).append(row["ClickURL"])
    no_alarm(queries.values(), "Query")
    no_alarm(words.values(), "Query")
    no_alarm(urls.values(), "ClickURL")
