r"""The identifier guard: direct identifiers that stand among the columns or the items.

Rare items are no identifiers, and no rule here looks at rarity alone. A rule looks for the form
of an identifier (an e-mail address, an IBAN), for what a header calls it ("Date of birth"), or for
a value of its own in nearly every record. Forms that products share with people (long numbers,
dates, web addresses) count only where hardly two records hold the same one.

What the rules find, by the columns of a table:

>>> def column(name, *values):
...     return ColumnSummary(name=name, filled=len(values), distinct=len(set(values)),
...                          samples=tuple(dict.fromkeys(values)))
>>> found = identifier_kind(column("PatientName", "Anna Schmidt", "Jo Li"))
>>> found.kind, found.reason, found.samples
('person names', "the column is called 'PatientName'", ('A*** S******', 'J* L*'))
>>> identifier_kind(column("reach", "jo@x.org", "an@y.de")).kind
'e-mail addresses'
>>> identifier_kind(column("drug name", "Aspirin", "Ibuprofen")) is None
True

And by the items alone:

>>> from setveil.core.table import TransactionTable
>>> table = TransactionTable.from_rows([["flu", "jo@x.org"], ["flu"], ["gout"]])
>>> [(found.kind, found.samples) for found in find_identifiers(table)]
[('e-mail addresses', ('j*@*.***',))]
>>> find_identifiers(TransactionTable.from_rows([["flu", "gout"], ["measles"]]))
[]

The forms follow the recognizers of Microsoft's Presidio (pattern, check digit, context by name);
python-stdnum checks IBANs, payment cards and national identity numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from setveil.io.column_names import CAMEL, plain, vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from setveil.core.arrays import BoolArray, Int64Array
    from setveil.core.table import TransactionTable


PERSON_NAMES = "person names"
EMAILS = "e-mail addresses"
TELEPHONES = "telephone numbers"
ADDRESSES = "postal addresses"
BIRTH_DATES = "dates of birth"
DATES = "full dates"
NATIONAL = "national identity numbers"
IBANS = "bank account numbers"
CARDS = "payment card numbers"
RECORD_NUMBERS = "record numbers"
IPS = "IP addresses"
URLS = "web addresses"
USER_NAMES = "user names"
KEYS = "UUIDs or hashes"
LONG_NUMBERS = "long numbers"
OWN_VALUES = "values of one record each"

NEARLY_ALL = 0.9
"""Share from which on nearly all values are different."""
ENOUGH_ROWS = 20
"""Rows from which on different values alone make an identifier."""
FEW_ROWS = 5
"""Rows from which on different numbers of one template (P0001, P0002) do."""
SIZEABLE = 0.2
"""Share of the records that must hold a telephone number, a date, … of their own."""
HALF = 0.5
SHOWN = 3
LONGEST_SAMPLE = 40


@dataclass(frozen=True, kw_only=True)
class ColumnSummary:
    """What is known of a column (or of a position in a line) after reading.

    Parameters
    ----------
    name
        The header's name; "field 1" where there is no header.
    filled
        Rows whose cell is not empty.
    distinct
        Different values among them.
    samples
        Up to 1,000 different values, in order of first appearance.
    named
        Whether `name` stands in the file (a header), so that rules by name apply.
    """

    name: str
    filled: int
    distinct: int
    samples: tuple[str, ...]
    named: bool = True

    @property
    def difference(self) -> float:
        """Share of different values among the filled cells."""
        return self.distinct / self.filled if self.filled else 0.0

    @cached_property
    def words(self) -> str:
        """The name in plain lower-case words; empty where the file has no header."""
        return normalized_name(self.name) if self.named else ""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Direct identifiers in a column, or among the items.

    Parameters
    ----------
    column
        The column it concerns; None: the items themselves.
    kind
        What it looks like, in the plural: "person names", "record numbers".
    reason
        What the finding rests on, as a part of a sentence.
    samples
        Up to three values, masked.
    count
        How many values or items are concerned.
    """

    column: str | None
    kind: str
    reason: str
    samples: tuple[str, ...]
    count: int


# --- Masking ----------------------------------------------------------------------------------

_SEPARATORS = " @.,:;/+-()_#&="
_WORD = re.compile(f"[^{re.escape(_SEPARATORS)}]+")


def mask(text: str) -> str:
    """Hide a value except for the first letter of each word; of numbers, the first digit stays.

    Nothing of a one-letter word is shown, nothing of an e-mail address behind its @, and of long
    texts only the beginning.

    >>> mask("Anna Schmidt"), mask("jo@x.org"), mask("1970-01-31"), mask("P0001")
    ('A*** S******', 'j*@*.***', '1***-**-**', 'P****')
    >>> mask("+49 30 1234567"), mask("J. O'Neill")
    ('+4* ** *******', '*. O******')
    """
    at = text.find("@")
    first_word = _WORD.search(text)
    first_start = first_word.start() if first_word else -1

    def hidden(match: re.Match[str]) -> str:
        word, start = match.group(), match.start()
        behind_at = 0 <= at < start
        # Of "1970-01-31" the month must not show: only the first number keeps its first digit.
        later_number = not word[0].isalpha() and start != first_start
        if len(word) == 1 or behind_at or later_number or not word[0].isalnum():
            return "*" * len(word)
        return word[0] + "*" * (len(word) - 1)

    shown = _WORD.sub(hidden, text[:LONGEST_SAMPLE])
    return shown + "…" if len(text) > LONGEST_SAMPLE else shown


# --- Names of columns -------------------------------------------------------------------------


def normalized_name(name: str) -> str:
    """Return a header's words: lower case, without accents, underscores, digits or camel case.

    >>> normalized_name("DateOfBirth"), normalized_name("Prénom_2"), normalized_name("patientID")
    ('date of birth', 'prenom', 'patient id')
    """
    return " ".join(re.findall(r"[^\W\d_]+", plain(CAMEL.sub(" ", name))))


def _any_of(text: str) -> re.Pattern[str]:
    """Return a pattern that finds one of these words or phrases, divided by commas."""
    phrases = re.sub(r"\|\s+", "|", text).split(",")
    return re.compile(rf"\b(?:{'|'.join(' '.join(phrase.split()) for phrase in phrases)})\b")


# A column with one of these words says something about an identifier, and is not one itself.
_ABOUT = _any_of("""
    type, kind, model, brand, count, flag, status, provider, category, format, preference, opt,
    clicks?, clicked, visited, referr?er, consent, verified, valid, class, group, plan, change,
    year, month, length, typ, art, tipo, marke, anzahl, jahr, annee, anno, ano, marca, soort,
    country, land, pays, pais, city, state
""")
# A name or a number of one of these is that of a thing.
_THING = _any_of("""
    items?, products?, produkte?, produits?, productos?, prodott[oi], produtos?, articles?,
    artikel, articulos?, articol[oi], drugs?, medications?, medicines?, meds?, medikamente?,
    medicaments?, medicamentos?, farmac[oi], geneesmiddel, wirkstoff, substance, ingredients?,
    zutat(?:en)?, recipes?, diagnos[ie]s?, diagnosen?, diagnosi, diagnosticos?, diag, dx, icd,
    atc, ops, snomed, loinc, cpt, hcpcs, ndc, pzn, diseases?, illness, krankheit(?:en)?,
    maladies?, enfermedad(?:es)?, malatti[ae], doencas?, disorders?, conditions?, symptoms?,
    symptome?, sintomas?, sintom[oi], findings?, procedures?, prozedur(?:en)?, procedimientos?,
    proc, treatments?, therap(?:y|ies), tests?, labs?, allerg(?:y|ies|en), allergens?, vaccines?,
    genes?, species, brands?, files?, company, firma, firm, organi[sz]ation, hospital, department,
    ward, station, clinic, codes?, sku, ean, gtin, upc, barcodes?, isbn, issn, stock, stockcode,
    categor(?:y|ies), kategorien?, courses?, movies?, films?, songs?, tracks?, artists?, authors?,
    actors?, directors?, characters?, players?, bands?, teams?, books?, titles?, quer(?:y|ies),
    terms?, words?, tags?, topics?, pages?, events?, services?, variables?, fields?, columns?,
    stores?, shops?, dish(?:es)?, foods?
""")

_PERSON_NAME = _any_of("""
    sur ?names?, last ?names?, first ?names?, fore ?names?, given ?names?, family ?names?, full
    ?names?, middle ?names?, maiden ?names?, birth ?names?, nick ?names?, initials, nach ?namen?,
    vor ?namen?, familienname, geburtsname, rufname, zuname,
    (?:patient(?:en)?|kunden?|versicherten?|mitglieds?|arzt|personen)name, prenoms?, patronyme,
    nom (?:de )?(?:famille|naissance|usage|usuel|complet|patient), nombre completo, nombres? y
    apellidos?, apellidos?, (?:primer|segundo) nombre, cognom[ei], nome completo, achternaam,
    voorna(?:am|men), familienaam, tussenvoegsel, voorletters, sobrenome, apelido,
    (?:primeiro|ultimo) nome, nazwisko, imie, efternamn, fornamn, efternavn, fornavn, etternavn,
    sukunimi, etunimi, attendees?, contacts?, relatives, next of kin, care ?team, фио, фамилия, имя,
    氏名, 姓名, 名前, الاسم, ονομα, επωνυμο, soyadi, adi soyadi
""")
_BARE_NAME = vocabulary("name names nom noms nombre nombres nome nomi naam namen navn namn nimi")
# Words that may stand beside a bare "name" so that it is still a person's.
_PERSON = vocabulary("""
    patient patients patienten patientin person persons people client customer member subject
    employee doctor physician nurse contact mother father parent spouse child kin next
    guardian insured subscriber beneficiary holder participant student pupil donor resident
    respondent staff relative emergency pat kunde kunden arzt versicherter cliente paciente paziente
    utente medico assistito medecin docteur assure klant persoon arts bewoner doente titular
    responsable of the de del do da di der des du d la le el van het legal real complete s
""")

_NUMBER = r"(?:ids?|no|nos|nr|num|number|nbr|key|identifier|uid|guid|nummer|numero)"
_DIGITS, _ANY, _DIFFERENT = "digits", "any", "different"
# Kind, names, and what the values must be besides: mostly with digits, anything, or different.
_BY_NAME: tuple[tuple[str, re.Pattern[str], str], ...] = (
    (
        EMAILS,
        _any_of("""
            e ?mails?, e ?mail ?adress?e?, mail ?adress?e?, mail, courriel, correo electronico,
            correo, posta elettronica, correio eletronico
        """),
        _ANY,
    ),
    (IPS, _any_of("ip, ip ?addr, ip ?adress?e?, ipv"), _DIGITS),
    (
        URLS,
        _any_of("urls?, web ?sites?, home ?page, web ?page, web ?address, webseite"),
        _DIFFERENT,
    ),
    (
        USER_NAMES,
        _any_of("""
            user ?names?, log ?in, log ?in ?name, benutzername, benutzerkennung, screen ?name, nom
            d utilisateur, identifiant, nombre de usuario, usuario, nome de usuario,
            gebruikersnaam, twitter, facebook, instagram
        """),
        _DIFFERENT,
    ),
    (
        BIRTH_DATES,
        _any_of("""
            d ?o ?b, date of birth, birth ?(?:date|day|dt), born(?: on)?, geburts ?(?:datum|tag),
            geb ?(?:datum|dat|am)?, date (?:de )?naissance, datenaissance, fecha (?:de
            )?nacimiento, fechanacimiento, f nac, data (?:di )?nascita, data (?:de )?nascimento,
            geboorte ?datum, fodelsedatum, fodselsdato, syntymaaika, data urodzenia
        """),
        _DIGITS,
    ),
    (
        NATIONAL,
        _any_of(rf"""
            ssn, nin, social ?security(?: {_NUMBER})?, nhs ?{_NUMBER}, nhs, insurance ?{_NUMBER},
            health ?(?:card|insurance) ?{_NUMBER}, medicare ?{_NUMBER}, medicaid ?{_NUMBER},
            passport(?: ?{_NUMBER})?, passeport, reisepass, pass ?nummer, pasaporte, passaporto,
            paspoort, passaporte, national ?(?:id|identity|insurance)\w*, identity
            ?(?:card|{_NUMBER}), personal ?(?:id|{_NUMBER}), id ?card, ausweis\w*,
            personalausweis\w*, tax ?(?:id|{_NUMBER}), steuer ?(?:id|nummer|nr), tin,
            \w*versicherungs ?(?:nummer|nr), versicherten ?(?:nummer|nr|id), kvnr, numero (?:de
            )?securite sociale, nir, nss, carte vitale, dni, nie, nif, cif, curp, rfc, numero
            (?:de )?(?:seguridad social|afiliacion|tarjeta sanitaria), codice ?fiscale, tessera
            sanitaria, bsn, burgerservice ?nummer, cpf, sns, cartao de cidadao, pesel, ahv ?\w*,
            aadhaar, personnummer, cpr ?{_NUMBER}?, hetu, driv(?:er|ers|er s|ing) ?licen[cs]e\w*,
            fuhrerschein\w*, licen[cs]e ?(?:plate|{_NUMBER}), kennzeichen
        """),
        _DIGITS,
    ),
    (
        CARDS,
        _any_of(rf"""
            card ?{_NUMBER}, credit ?cards?, debit ?cards?, kreditkarten?\w*, carte (?:bancaire|de
            credit), tarjeta(?: de credito)?, carta di credito, cartao de credito, creditcard\w*
        """),
        _DIGITS,
    ),
    (
        IBANS,
        _any_of(rf"""
            iban, bank ?account, account(?: ?{_NUMBER})?, konto ?(?:nummer|nr)?, compte(?:
            bancaire)?, cuenta(?: bancaria)?, conto(?: corrente)?, rekening ?nummer, conta(?:
            bancaria)?, routing ?{_NUMBER}
        """),
        _DIGITS,
    ),
    (
        TELEPHONES,
        _any_of(rf"""
            phones?, tele ?phones?, tel, mobile(?: ?{_NUMBER})?, mobil, mobilnummer, mobiltelefon,
            cell ?phone, handy, handy ?(?:nummer|nr), fax, fax ?(?:nummer|nr), telefax, telefone?,
            telefon ?(?:nummer|nr), telefono, telefoon, telefoonnummer, celular, movil, portable,
            telemovel, cellulare, msisdn, rufnummer, pager, whats ?app
        """),
        _DIGITS,
    ),
    (
        ADDRESSES,
        _any_of("""
            address(?:es)?, addr, adresses?, anschrift, wohnadresse, street, strasse, hausnummer,
            house ?(?:no|number), post ?codes?, postal ?codes?, zip, zip ?codes?, plz,
            postleitzahl, code ?postal, codigo ?postal, direccion, domicilio, calle, indirizzo,
            adres, straat, huisnummer, woonadres, endereco, morada, rue, rua, geo ?location,
            latitude, longitude
        """),
        _ANY,
    ),
    (
        RECORD_NUMBERS,
        _any_of(rf"""
            mrn, medical ?records?(?: ?{_NUMBER})?, (?:hospital|chart|folder|dossier) ?{_NUMBER},
            (?:patient|person|client|customer|member|subject|participant|user|employee|insured|
            subscriber|case|encounter|admission|adm|hadm|visit|episode|stay|record|transaction|
            invoice|order|session|sample|specimen|anon|pat|cust|policy|claim|booking|receipt|
            basket|household|donor|student|donation|family)s?
            ?{_NUMBER}, ^(?:patient|pat|person|customer|client|subject|member)(?: code)?$,
            (?:patienten?|pat|fall|kunden|akten|aufnahme|mitglieds|auftrags|rechnungs|beleg|klant|
            dossier|client|vorgangs|personal)
            ?(?:nummer|nr|id|kennung|kennzahl), (?:numero|num|no|n) (?:de |du |d
            )?(?:patient|dossier|client|sejour|facture|commande), ipp, iep,
            (?:numero|num|no|nro|id) (?:de |del
            )?(?:paciente|expediente|historia|caso|cliente|factura), historia clinica, expediente,
            nhc, (?:numero|codice|n|id) (?:di |del
            )?(?:paziente|cartella|cliente|pratica|assistito), cartella clinica, (?:numero|n|id)
            (?:de |do )?(?:utente|processo|prontuario), prontuario
        """),
        _DIGITS,
    ),
)
_BARE_ID = {"", "lfd nr", "row id", "row number"} | vocabulary(
    "id ids nr no num number nummer numero key index row record identifier lfdnr rowid rownum"
    " unnamed tid pid"
)
_MARKS = vocabulary(
    "0 1 0.0 1.0 yes no y n true false t f x - ja nein j oui non o si sí sì s nee sim não nao"
    " unknown na n/a"
)


def _by_name(column: ColumnSummary) -> Finding | None:
    """Judge a column by its header, unless its values plainly are something else.

    >>> def kind(name, *values):
    ...     column = ColumnSummary(name=name, filled=9, distinct=9, samples=values)
    ...     found = identifier_kind(column)
    ...     return found and found.kind
    >>> kind("Geburtsdatum", "1.2.1980"), kind("no. de téléphone", "01 23 45 67 89")
    ('dates of birth', 'telephone numbers')
    >>> kind("patient_id", "17"), kind("Nachname", "Li"), kind("name of the patient", "Jo Li")
    ('record numbers', 'person names', 'person names')
    >>> kind("phone type", "mobile"), kind("product name", "milk"), kind("email", "yes")
    (None, None, None)
    """
    if not column.named or (column.words and _ABOUT.search(column.words)):
        return None
    kind = None
    if _PERSON_NAME.search(column.words) or _is_bare_name(column):
        kind = PERSON_NAMES
    else:
        for candidate, names, need in _BY_NAME:
            if names.search(column.words):
                # "drug card no." and "product code" number things, but whose e-mail it is does
                # not matter.
                numbered_thing = candidate == RECORD_NUMBERS and _THING.search(column.words)
                if not numbered_thing and _fits(column, need, candidate):
                    kind = candidate
                break
        else:
            if column.words in _BARE_ID and column.distinct == column.filled >= 3:
                kind = RECORD_NUMBERS if _share(column.samples, _has_digit) > HALF else None
    if kind is None:
        return None
    return _column_finding(column, kind, f"the column is called {column.name!r}")


def _fits(column: ColumnSummary, need: str, kind: str) -> bool:
    """Tell whether the values can be what the name says; a few categories cannot."""
    categories = column.filled >= ENOUGH_ROWS and column.distinct <= 12
    if need == _DIGITS:
        short = all(len(value) <= 2 for value in column.samples)  # the third visit, two accounts
        return not (categories and short) and _share(column.samples, _has_digit) >= HALF
    if need == _DIFFERENT:
        return column.difference >= (NEARLY_ALL if kind == URLS else HALF)
    return not categories or (kind == EMAILS and _share(column.samples, lambda v: "@" in v) > 0)


def _is_bare_name(column: ColumnSummary) -> bool:
    """Tell whether a header such as "Name" or "patient name" means people.

    Products and diseases, too, stand in columns called "name". They are told from people by
    their small letters and by the lack of given names; in doubt, the header is believed.
    """
    words = column.words.split()
    if not _BARE_NAME.intersection(words) or not (_BARE_NAME | _PERSON).issuperset(words):
        return False
    if len(words) > 1 or column.filled < ENOUGH_ROWS:
        return True
    values = _Values(column.samples)
    large = values.match(r"^\p{Lu}[\p{L}'’-]+$") | values.of(
        PERSON_NAMES
    )  # a surname, a whole name
    other_script = ~values.match(r"\p{Latin}")
    return bool(np.mean(values.known_names) >= 0.05 or np.mean(large | other_script) >= HALF)


def _has_digit(value: str) -> bool:
    return any(letter.isdigit() for letter in value)


def _share(values: Sequence[str], test: Callable[[str], bool]) -> float:
    return sum(map(test, values)) / len(values) if values else 0.0


# --- Forms of values --------------------------------------------------------------------------
# Patterns in the syntax of Rust's regex crate (polars): without look-around, linear in time.

_EMAIL = r"[\w.%+'-]+@[\w-]+(?:\.[\w-]+)*\.\p{L}{2,}"
_URL_WITH_PATH = r"^(?i:https?://)?[\p{L}\d-]+(?:\.[\p{L}\d-]+)*\.\p{L}{2,}(?::\d+)?/[^\s/]\S*$"
_IBAN = r"^(?i)[A-Z]{2}\d{2} ?(?:[A-Z\d] ?){11,30}$"
_SSN = r"^\d{3}-\d{2}-\d{4}$"
_KEY = (
    r"(?i)^(?:\{?[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\}?"
    r"|[\da-f]{32}|[\da-f]{40}|[\da-f]{64})$"
)
_OCTET = r"(?:25[0-5]|2[0-4]\d|1?\d?\d)"
_IP = (
    rf"(?i)^(?:{_OCTET}(?:\.{_OCTET}){{3}}|(?:[\da-f]{{1,4}}:){{7}}[\da-f]{{1,4}}"
    r"|[\da-f]{1,4}(?::[\da-f]{1,4}){1,5}::(?:[\da-f]{1,4}(?::[\da-f]{1,4}){0,4})?)$"
)
_PHONE = (
    r"^(?i:(?:tel|phone|fax|mobile?|handy)[.:]* ?)?(?:"
    r"\+[1-9][\d ()./-]{6,20}"  # +49 30 1234567
    r"|00[1-9]\d ?[ ()/-][\d ()/-]{5,18}"  # 0049 30 1234567
    r"|\(0?\d{1,4}\) ?\d{2,5}(?:[ -]?\d{2,5}){1,3}"  # (030) 123-4567
    r"|(?:1[-. ])?\d{3}[-. ]\d{3}[-. ]\d{4}"  # 555-123-4567
    r"|0[1-9](?:[ .-]\d\d){4}"  # 01 23 45 67 89
    r"|0[1-9]\d{1,4} ?[ /-] ?\d{3,8}(?:[ -]\d{1,5}){0,3}"  # 030/1234567
    r")(?i: ?(?:x|ext\.?) ?\d{1,5})?$"
)
# Numbers of drugs (NDC 0363-0160-01) and books look like those of telephones and people.
_DRUG_OR_BOOK = (
    r"^(?:\d{4}-\d{4}-\d{2}|\d{5}-\d{3}-\d{2}|\d{5}-\d{4}-\d{1,2}|97[89][- ].*|\d-\d+-\d+-[\dX])$"
)
_YEAR = r"(?:19\d\d|20[0-3]\d)"
_MONTH = r"(?:0?[1-9]|1[0-2])"
_DAY = r"(?:0?[1-9]|[12]\d|3[01])"
_MONTH_NAME = (
    r"(?i:jan|feb|f[eé]v|mar|m[aä]r|apr|avr|abr|mai|may|mag|mei|maa|jun|juin|giu|jul|juil|lug|aug|ao[uû]"
    r"|ago|sep|set|o[ck]t|ott|out|nov|d[eé][cz]|dic)\p{L}*\.?"
)
_DATE = (
    rf"^(?:{_YEAR}[-/.]{_MONTH}[-/.]{_DAY}|{_DAY}[-/.]{_DAY}[-/.]{_YEAR}|\d\d[/.]\d\d[/.]\d\d"
    rf"|{_YEAR}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
    rf"|{_DAY}\.?(?: de)?[ -]{_MONTH_NAME},?(?: de)?[ -]{_YEAR}|{_MONTH_NAME} {_DAY},? {_YEAR})"
    r"(?:[T ]\d{1,2}:\d\d.*)?$"
)
_STREET = (
    r"^(?:\d{1,5}[A-Za-z]?,? (?:[\p{L}.'’-]+ ){1,4}(?i:street|str?|avenue|ave|road|rd|lane|ln|drive"
    r"|dr|court|ct|boulevard|blvd|way|place|pl|square|sq|terrace|close|crescent)\b.*"
    r"|(?i)\p{L}[\p{L} .-]*(?:stra(?:ß|ss)e|str\.|weg|platz|allee|gasse|ring|damm|ufer|straat|laan"
    r"|plein|gracht|kade) ?\d{1,4} ?[a-z]?(?:,.*| \d{4,5}.*)?"
    r"|(?i)\d{1,4}(?: ?(?:bis|ter))?,? (?:rue|avenue|boulevard|place|chemin|impasse|all[eé]e"
    r"|quai) .+"
    r"|(?i)(?:calle|c/|avenida|av\.|plaza|paseo|via|viale|piazza|corso|rua|travessa) .+,? "
    r"(?:n[.º°]* ?)?\d{1,4}.*)$"
)
_LONG_NUMBER = r"^\d(?:[ -]?\d){6,24}$"
_TITLE = (
    r"(?i:(?:mr|mrs|ms|miss|dr|prof|sir|frau|herr|hr|fr|mme|mlle|m|sr|sra|srta|dott|sig|dhr|mevr"
    r"|dra)\.? )"
)
_NAME_WORD = r"(?:\p{Lu}[\p{L}'’]+(?:-\p{L}[\p{L}'’]+)*)"
_PARTICLE = (
    r"(?:von|van|vom|zu|de|der|den|del|della|di|da|do|dos|das|du|la|le|el|al|bin|ben|ter|y|e|und"
    r"|[A-Z]\.?)"
)
_NAME_SHAPE = (
    rf"^{_TITLE}{{0,2}}(?:{_NAME_WORD}(?: (?:{_NAME_WORD}|{_PARTICLE})){{0,3}} {_NAME_WORD}"
    rf"|[A-Z]\. ?(?:[A-Z]\. ?)?(?:{_PARTICLE} )*{_NAME_WORD}"
    rf"|(?:{_PARTICLE} ){{0,2}}{_NAME_WORD}(?: {_NAME_WORD})?, ?(?:{_TITLE})?{_NAME_WORD}"
    rf"(?: (?:{_NAME_WORD}|[A-Z]\.?)){{0,2}})$"
)
_LOOSE_NAME = r"^\p{L}[\p{L}'’.-]*,?(?: \p{L}[\p{L}'’.-]*){1,3}$"
# Words of conditions named after people, and of products.
_NO_PERSON = (
    r"(?i)\b(?:disease|syndrome|disorder|sign|test|fever|palsy|chorea|anemia|anaemia|sarcoma|lymphoma|tumou?r"
    r"|cancer|carcinoma|esophagus|oesophagus|phenomenon|dystrophy|atrophy|ataxia|type|deficiency|infection"
    r"|injury|fracture|pain|contracture|hernia|krankheit|syndrom|morbus|maladie|enfermedad|malattia|s[ií]ndrome"
    r"|sindrome|doen[cç]a|virus|bread|cake|tea|coffee|milk|cheese|sauce|set|box|bag|mug|card|sign|light"
    r"|street|road|hospital|clinic|university|institute|company|inc|ltd|gmbh|church|school|park|river)\b"
)

# The most common given names of eleven languages, without those that are words or things
# (Rose, Mark, Grace, Iris, Victoria, Charlotte, Paris, …).
_GIVEN = vocabulary("""
    james john robert michael william david richard joseph thomas charles christopher daniel
    matthew anthony steven andrew kenneth joshua kevin brian george timothy ronald edward jason
    jeffrey ryan jacob gary nicholas eric jonathan stephen larry justin scott brandon benjamin
    samuel gregory alexander patrick raymond dennis jerry tyler aaron jose adam nathan henry
    zachary douglas peter kyle noah ethan jeremy walter keith roger terry sean gerald carl arthur
    lawrence mary patricia jennifer linda elizabeth barbara susan jessica sarah karen lisa nancy
    betty sandra margaret ashley kimberly emily donna michelle carol amanda melissa deborah
    stephanie rebecca sharon laura cynthia kathleen amy angela shirley brenda pamela emma nicole
    helen samantha katherine christine debra rachel carolyn janet catherine maria diane ruth julie
    olivia joyce virginia kelly lauren christina joan evelyn judith megan andrea cheryl hannah
    jacqueline martha gloria teresa sara janice ann anne kathryn abigail sophia frances jean alice
    judy julia denise amber doris marilyn danielle beverly isabella theresa diana natalie brittany
    marie kayla alexis hans klaus juergen jürgen wolfgang uwe bernd dieter günter guenter horst
    manfred helmut gerhard heinz werner stefan andreas matthias markus jens torsten thorsten sven
    florian tobias sebastian lukas jonas felix leon finn moritz jan karl friedrich rolf ulrich
    ralf frank kurt herbert ursula renate monika karin brigitte ingrid erika christa gisela petra
    sabine claudia birgit anja katja heike susanne anna lena katharina sophie johanna greta hanna
    lea mia leonie elke ute silke pierre jacques philippe alain bernard michel françois francois
    andré andre louis nicolas julien antoine laurent olivier thierry christophe guillaume mathieu
    hugo théo jeanne nathalie isabelle sylvie valérie valerie céline celine camille chloé chloe
    manon monique françoise francoise juan josé manuel antonio francisco javier carlos miguel
    alejandro rafael fernando pablo luis jorge alberto alvaro álvaro diego enrique ramón ramon
    pedro jesús carmen josefa isabel dolores pilar ana lucía lucia paula elena cristina marta rosa
    mercedes raquel beatriz alba giuseppe giovanni mario luigi vincenzo salvatore francesco marco
    luca matteo lorenzo paolo stefano roberto giorgio alessandro giulia chiara francesca paola
    giovanna alessandra valentina silvia federica johannes pieter willem hendrik cornelis jeroen
    bas daan sanne femke anouk joão joao tiago rui paulo inês ines catarina joana margarida
    mariana fernanda juliana lars erik nils anders björn bjorn magnus olaf ingrid astrid sigrid
    freja kirsten piotr krzysztof andrzej tomasz jakub agnieszka katarzyna malgorzata małgorzata
    ewa ivan dmitri sergei vladimir alexei mikhail olga tatiana natalia svetlana irina ekaterina
    mohammed muhammad mohamed ahmed ali hassan hussein omar ibrahim yusuf mustafa mehmet fatma
    fatima aisha ayşe ayse khadija zainab leila maryam emine wei ming hiroshi yuki kenji priya
    rahul amit sanjay rajesh sunita anil deepak lakshmi
""")


class _Values:
    """The values of a column or the items of a table, and which of them have which form."""

    def __init__(self, values: Iterable[str]) -> None:
        import polars as pl

        texts = list(values)
        try:
            self.series = pl.Series(texts, dtype=pl.String)
        except UnicodeEncodeError:  # half a surrogate pair, which no UTF-8 file can hold
            clean = [text.encode(errors="replace").decode() for text in texts]
            self.series = pl.Series(clean, dtype=pl.String)
        self.series = self.series.str.strip_chars()
        self._forms: dict[str, BoolArray] = {}

    def __len__(self) -> int:
        return len(self.series)

    def texts(self, chosen: BoolArray, most: int | None = None) -> list[str]:
        """Return the chosen values, or the first of them."""
        places = np.flatnonzero(chosen)[:most]
        texts: list[str] = self.series.gather(places).to_list()
        return texts

    def match(self, pattern: str, among: BoolArray | None = None) -> BoolArray:
        """Tell which values match; only those `among` are looked at."""
        if among is None:
            found: BoolArray = self.series.str.contains(pattern).to_numpy().astype(bool)
            return found
        found = np.zeros(len(self), dtype=bool)
        places = np.flatnonzero(among)
        if len(places):
            found[places] = self.series.gather(places).str.contains(pattern).to_numpy()
        return found

    def checked(self, chosen: BoolArray, test: Callable[[str], bool]) -> BoolArray:
        """Keep of the chosen values those that pass a test in Python."""
        kept = chosen.copy()
        places = np.flatnonzero(chosen)
        kept[places] = [test(text) for text in self.series.gather(places).to_list()]
        return kept

    @cached_property
    def digits(self) -> Int64Array:
        """Number of digits of each value."""
        counts: Int64Array = self.series.str.count_matches(r"[0-9]").to_numpy().astype(np.int64)
        return counts

    def of(self, kind: str) -> BoolArray:
        """Tell which values have the form of a kind of identifier; each is looked at once."""
        if kind not in self._forms:
            self._forms[kind] = self._having(FORMS[kind])
        return self._forms[kind]

    def _having(self, form: _Form) -> BoolArray:
        among = (self.digits >= form.digits[0]) & (self.digits <= form.digits[1])
        if form.sign:
            among = self.series.str.contains(form.sign, literal=True).to_numpy().astype(bool)
        if form.no_date:
            among &= ~self.of(DATES)
        found = self.match(form.pattern, among)
        if form.unless:
            found &= ~self.match(form.unless, found)
        return found if form.test is None else self.checked(found, form.test)

    @cached_property
    def known_names(self) -> BoolArray:
        """Two words or more, in any case, one of the first or last of which is a given name."""
        found = self.of(_LOOSE_NAMES).copy()
        places = np.flatnonzero(found)
        if len(places):
            words = self.series.gather(places).str.to_lowercase()
            words = words.str.replace(rf"^{_TITLE}+", "")
            given = np.zeros(len(places), dtype=bool)
            for pattern in (r"^(\p{L}+)", r", ?(\p{L}+)", r" (\p{L}+)$"):
                given |= (
                    words.str.extract(pattern).is_in(list(_GIVEN)).fill_null(value=False).to_numpy()
                )
            found[places] = given
        return found

    @cached_property
    def given_names(self) -> BoolArray:
        """``Anna``: one word, a given name."""
        found: BoolArray = (
            self.series.str.to_lowercase().is_in(list(_GIVEN)).to_numpy().astype(bool)
        )
        return found


def _is_valid(module: str, text: str) -> bool:
    """Ask python-stdnum whether a number has the form and the check digits of its kind."""
    return bool(import_module(f"stdnum.{module}").is_valid(text))


_LETTERS_AS_NUMBERS = str.maketrans(
    {letter: str(int(letter, 36)) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"} | {" ": ""}
)


def _is_iban(text: str) -> bool:
    """Tell whether a text is an IBAN.

    >>> _is_iban("DE89 3704 0044 0532 0130 00"), _is_iban("DE88 3704 0044 0532 0130 00")
    (True, False)
    """
    plain = text.upper().replace(" ", "")
    # The sum first, because it is fast: python-stdnum then knows the forms of the countries.
    rest = int((plain[4:] + plain[:4]).translate(_LETTERS_AS_NUMBERS)) % 97
    return rest == 1 and _is_valid("iban", plain)


def _is_card(text: str) -> bool:
    """Tell whether a number can be that of a payment card: 13 to 19 digits, Luhn's check digit.

    >>> _is_card("4111 1111 1111 1111"), _is_card("4006381333931")  # a test card; a barcode
    (True, False)
    """
    digits = re.sub(r"[ -]", "", text)
    return 13 <= len(digits) <= 19 and digits[0] in "23456" and _is_valid("luhn", digits)


@dataclass(frozen=True, kw_only=True)
class _Form:
    """What values of one kind look like.

    Only values with so many `digits` (or with the `sign` in them) are matched; those that match
    `unless`, too, have another meaning. A `test` in Python has the last word.
    """

    pattern: str
    digits: tuple[int, int | float] = (0, np.inf)
    sign: str = ""
    unless: str = ""
    no_date: bool = False
    test: Callable[[str], bool] | None = None


_LOOSE_NAMES = "texts that may be names"
FORMS = {
    EMAILS: _Form(pattern=_EMAIL, sign="@"),  # jo@x.org, also inside a longer text
    IBANS: _Form(pattern=_IBAN, digits=(7, np.inf), test=_is_iban),
    # The form of a social security number of the United States: 123-45-6789.
    NATIONAL: _Form(pattern=_SSN, digits=(9, 9), test=lambda text: _is_valid("us.ssn", text)),
    # UUIDs, and digests in hexadecimal digits; not plain decimal numbers.
    KEYS: _Form(pattern=_KEY, digits=(1, np.inf), unless=r"^\d+$"),
    DATES: _Form(pattern=_DATE, digits=(5, np.inf)),  # 1970-01-31, with a time or not
    TELEPHONES: _Form(pattern=_PHONE, digits=(7, 20), unless=_DRUG_OR_BOOK, no_date=True),
    IPS: _Form(pattern=_IP, digits=(2, np.inf)),  # 192.0.2.17, and addresses of IPv6
    URLS: _Form(pattern=_URL_WITH_PATH, sign="/"),  # a page, not only a host
    ADDRESSES: _Form(pattern=_STREET, digits=(1, 12)),  # 12 Main Street, Hauptstr. 5
    # Seven digits or more and nothing else, except for blanks and hyphens between them.
    LONG_NUMBERS: _Form(
        pattern=_LONG_NUMBER, digits=(7, np.inf), unless=_DRUG_OR_BOOK, no_date=True
    ),
    # Anna Schmidt; Schmidt, Anna; Dr. J. Li; not Crohn Disease.
    PERSON_NAMES: _Form(pattern=_NAME_SHAPE, digits=(0, 0), unless=_NO_PERSON),
    _LOOSE_NAMES: _Form(pattern=_LOOSE_NAME, digits=(0, 0), unless=_NO_PERSON),
}

# Numbers with check digits or a date inside; that of the United States has neither, see `FORMS`.
_NATIONAL_MODULES = (
    *("gb.nhs", "de.idnr", "fr.nir", "es.dni", "es.nie", "it.codicefiscale", "nl.bsn", "pt.nif"),
    *("br.cpf", "pl.pesel", "be.nn", "ch.ssn", "at.vnr", "se.personnummer", "dk.cpr", "fi.hetu"),
    *("no.fodselsnummer", "cz.rc", "ro.cnp", "tr.tckimlik", "in_.aadhaar", "ca.sin", "cn.ric"),
    *("za.idnr", "cl.rut", "mx.curp"),
)


def _are_national(values: Sequence[str]) -> bool:
    """Tell whether nearly all values pass the check of one country's identity numbers.

    >>> _are_national(["943 476 5919", "943 476 5870"] * 4)  # NHS, United Kingdom
    True
    """
    texts = [value for value in values[:200] if value]
    lengths = Counter(len(re.sub(r"\W", "", text)) for text in texts)
    if len(texts) < 8 or lengths.most_common(1)[0][0] < 8:
        return False
    return any(
        all(_is_valid(module, text) for text in texts[:4])  # nearly always ends the search
        and sum(_is_valid(module, text) for text in texts) >= NEARLY_ALL * len(texts)
        for module in _NATIONAL_MODULES
    )


# --- Columns ----------------------------------------------------------------------------------


def identifier_kind(column: ColumnSummary) -> Finding | None:
    """Tell whether a column's name and values look like direct identifiers.

    Parameters
    ----------
    column
        Its name, counts and values.

    Returns
    -------
    Finding or None
        What it looks like; None for a column that may hold items.

    Examples
    --------
    >>> numbers = tuple(f"P{n:04}" for n in range(1, 31))
    >>> found = identifier_kind(
    ...     ColumnSummary(name="key", filled=30, distinct=30, samples=numbers))
    >>> found.kind, found.samples[0]
    ('record numbers', 'P****')
    >>> codes = ("E11.9", "I10", "J45.0")
    >>> identifier_kind(ColumnSummary(name="diag 1", filled=900, distinct=120, samples=codes))
    """
    samples = tuple(text for text in column.samples if text.strip())
    if not column.filled or not samples or _MARKS.issuperset(v.strip().lower() for v in samples):
        return None
    column = replace(column, samples=samples)
    return _by_name(column) or _by_form(column) or _by_template(column) or _by_difference(column)


def _column_finding(column: ColumnSummary, kind: str, reason: str) -> Finding:
    shown = tuple(mask(text.strip()) for text in column.samples[:SHOWN])
    return Finding(
        column=column.name, kind=kind, reason=reason, samples=shown, count=column.distinct
    )


def _by_form(column: ColumnSummary) -> Finding | None:
    """Judge a column by the form of its values.

    Most values must have the form; where things have it, too, the values must also be different.

    >>> def kind(*values):
    ...     found = _by_form(ColumnSummary(name="field 1", filled=len(values), named=False,
    ...                                    distinct=len(set(values)), samples=values))
    ...     return found and found.kind
    >>> kind("+49 30 1234567", "+49 30 1234568", "+49 30 7654321")
    'telephone numbers'
    >>> kind(*(f"19{n}-02-1{n % 10}" for n in range(50, 70)))
    'full dates'
    >>> kind("12 Main Street", "7 Oak Road", "1 Elm Avenue")
    'postal addresses'
    >>> kind("https://x.org/jo", "https://x.org/an", "https://x.org/li")
    'web addresses'
    >>> kind("192.0.2.1", "192.0.2.77", "198.51.100.3")
    'IP addresses'
    >>> kind("4111111111111111", "5500005555555559", "4012888888881881",
    ...      "4222222222222", "5105105105105100")
    'payment card numbers'
    >>> kind("E11.9", "I10", "J45.0", "0363-0160-01", "3.50", "10 mg")
    """
    values = _Values(column.samples)
    different = column.difference
    thing = bool(_THING.search(column.words))
    enough = column.filled >= FEW_ROWS
    # A form, the share of values that must have it, what else must hold.
    rules: tuple[tuple[str, float, bool], ...] = (
        (EMAILS, HALF, True),
        (IBANS, HALF, True),
        (NATIONAL, HALF, True),
        (KEYS, HALF, not thing or different >= NEARLY_ALL),
        (IPS, 0.8, different >= HALF),
        (DATES, 0.8, enough and column.distinct >= 5 and different >= 0.05),
        (TELEPHONES, 0.8, different >= 0.8 and column.filled >= 3),
        (URLS, HALF, different >= NEARLY_ALL and column.filled >= 3),
        (ADDRESSES, 0.6, different >= HALF and column.filled >= 3),
    )
    # First, because a British one is written like an American telephone number. The number of
    # digits spares most columns the search.
    numbered = different >= HALF and not thing and np.mean(values.digits >= 6) >= 0.8
    if numbered and _are_national(column.samples):
        return _column_finding(column, NATIONAL, _form_reason(column, len(values), NATIONAL))
    for kind, share, holds in rules:
        if holds:
            hits = int(np.sum(values.of(kind)))
            if hits and hits >= share * len(values):
                return _column_finding(column, kind, _form_reason(column, hits, kind))
    if names := _name_hits(column, values):
        return _column_finding(column, PERSON_NAMES, _form_reason(column, names, PERSON_NAMES))
    if thing:
        return None
    hits = int(values.of(LONG_NUMBERS).sum())
    if hits >= 0.8 * len(values) and enough and different >= NEARLY_ALL:
        cards = int(values.checked(values.of(LONG_NUMBERS), _is_card).sum())
        kind = CARDS if cards >= NEARLY_ALL * hits else LONG_NUMBERS
        return _column_finding(column, kind, _different_reason(column))
    return None


def _name_hits(column: ColumnSummary, values: _Values) -> int:
    """Return how many values look like person names, or 0 if they are too few to say so.

    The form alone never decides: enough of the values must begin or end with a given name.
    """
    if column.distinct < 8 or _THING.search(column.words):
        return 0
    shaped, known = int(values.of(PERSON_NAMES).sum()), int(values.known_names.sum())
    total = len(values)
    nearly_different = column.difference >= NEARLY_ALL
    if shaped >= 0.8 * total and known >= 0.3 * total and nearly_different:
        return shaped
    if known >= 0.6 * total and (nearly_different or shaped >= NEARLY_ALL * total):
        return max(known, shaped)
    given = int(values.given_names.sum())
    return given if given >= 0.6 * total else 0


def are_people(names: Sequence[str]) -> bool:
    """Tell whether most of some texts are person names, as where every column is a person.

    >>> are_people(["Liam Okafor", "Ewa Rossi", "Anna Schmidt"]), are_people(["flu", "gout", "HIV"])
    (True, False)
    """
    if len(names) < 3:
        return False
    values = _Values(names)
    shaped, known = int(values.of(PERSON_NAMES).sum()), int(values.known_names.sum())
    return shaped >= 0.8 * len(names) and known >= 0.3 * len(names)


def _form_reason(column: ColumnSummary, hits: int, kind: str) -> str:
    total = len(column.samples)
    looked = "different values" if total >= column.distinct else "sampled values"
    if hits >= total:
        return f"all {total:,} {looked} look like {kind}"
    return f"{hits:,} of {total:,} {looked} look like {kind}"


def _different_reason(column: ColumnSummary) -> str:
    if column.distinct >= column.filled:
        return f"all {column.filled:,} values are different"
    return f"{column.distinct:,} of {column.filled:,} values are different"


_PREFIXED = re.compile(r"(\D*)([0-9]+)")


def _by_template(column: ColumnSummary) -> Finding | None:
    """Find numbers that share one template and differ in every row, from five rows on.

    >>> def kind(*values):
    ...     found = _by_template(ColumnSummary(name="x", filled=len(values),
    ...                                        distinct=len(values), samples=values))
    ...     return found and found.kind
    >>> kind("A-1234", "A-9431", "A-5521", "A-7420", "A-1187")
    'record numbers'
    >>> kind("E11", "E10", "E78", "E66", "E03")
    """
    if column.filled < FEW_ROWS or column.difference < 0.95 or _THING.search(column.words):
        return None
    matches = [_PREFIXED.fullmatch(text.strip()) for text in column.samples]
    parts = [(match[1], match[2]) for match in matches if match]
    prefix, count = Counter(part[0] for part in parts).most_common(1)[0] if parts else ("", 0)
    if count < 0.95 * len(column.samples):
        return None
    digits = [number for before, number in parts if before == prefix]
    numbers = [int(text) for text in digits if len(text) <= 18]
    ascending = all(b - a == 1 for a, b in pairwise(numbers))
    if column.named and any(map(str.isalpha, prefix)):
        widths = {len(text) for text in digits}
        padded = any(text[0] == "0" for text in digits)
        long_enough = min(widths) >= 4 or (padded and min(widths) >= 3)
        holds = ascending or (len(widths) == 1 and long_enough)
    else:
        # Items stand at this place as well, and plain numbers may count things: only a run of
        # numbers in the order of the lines numbers these.
        holds = ascending and len(numbers) >= 10
    return _column_finding(column, RECORD_NUMBERS, _different_reason(column)) if holds else None


def _by_difference(column: ColumnSummary) -> Finding | None:
    """Find columns in which nearly every row has a value of its own, whatever it is.

    Cells that list several items, and texts, differ as a matter of course and say nothing. A
    column of diagnoses or products, by its name, may be all different in a small table.
    """
    thing = bool(_THING.search(column.words))
    rows, share = (100, 0.95) if thing else (ENOUGH_ROWS, NEARLY_ALL)
    if column.filled < rows or column.difference < share or _lists_or_texts(column.samples):
        return None
    if not column.named and _share(column.samples, _has_digit) < HALF:
        return None  # words at a place in a line: only the table can say, see `find_identifiers`
    return _column_finding(column, OWN_VALUES, _different_reason(column))


def _lists_or_texts(values: Sequence[str]) -> bool:
    """Tell whether cells hold several items each, or sentences.

    >>> _lists_or_texts(["E11; I10", "J45", "I10; J45"]), _lists_or_texts(["K-17", "K-93"])
    (True, False)
    >>> _lists_or_texts(["fever cough", "cough", "cough rash fever"])
    True
    """
    if _share(values, lambda text: any(mark in text for mark in ",;|\t\n")) >= 0.3:
        return True
    words = [text.split() for text in values]
    total = sum(map(len, words))
    if total >= 5 * len(values):
        return True
    # Lists divided by blanks: of different lengths, made of few words that come again and again,
    # written small or with digits. Names are written large.
    if len({len(text) for text in words}) == 1 or total < 1.5 * len(values):
        return False
    different = len({word for text in words for word in text})
    large = sum(word[0].isupper() and word.isalpha() for text in words for word in text)
    return different <= 0.6 * total and large <= HALF * total


# --- Items ------------------------------------------------------------------------------------


def find_identifiers(
    table: TransactionTable, columns: Sequence[ColumnSummary] = ()
) -> list[Finding]:
    """Search what would be published for direct identifiers.

    Parameters
    ----------
    table
        The records; their items are searched.
    columns
        The columns whose values became items: item columns of a wide table, the item column of a
        long one, the first field of basket lines.

    Returns
    -------
    list of Finding
        First what concerns a column, then what concerns the items; empty if nothing was found.

    Examples
    --------
    >>> from setveil.core.table import TransactionTable
    >>> rows = [[f"P{n:04}", "flu", "gout"] for n in range(12)]
    >>> found = find_identifiers(TransactionTable.from_rows(rows))[0]
    >>> found.kind, found.samples
    ('record numbers', ('P****', 'P****', 'P****'))
    >>> found.reason
    '12 of 12 records hold one that no other record holds'
    """
    search = _ItemSearch(table)
    findings: list[Finding] = []
    flagged: set[str] = set()
    for column in columns:
        found = identifier_kind(column) or search.position(column)
        if found is not None and search.confirms(column, found.kind):
            findings.append(found)
            flagged.update(column.samples)
    kinds = {found.kind for found in findings}
    for found, texts in search.findings():
        reported = sum(text in flagged for text in texts) > HALF * len(texts)
        if found.kind not in kinds and not reported:
            findings.append(found)
    return findings


@dataclass(frozen=True, eq=False)
class _ItemSearch:
    """The items of a table, in how many records each is, and which record holds the rare ones."""

    table: TransactionTable

    @cached_property
    def values(self) -> _Values:
        return _Values(self.table.vocabulary.names)

    @cached_property
    def supports(self) -> Int64Array:
        return self.table.supports()

    @cached_property
    def single(self) -> BoolArray:
        """Items that exactly one record holds."""
        return np.asarray(self.supports == 1)

    @cached_property
    def owner(self) -> Int64Array:
        """The record of each single item; without meaning for all others."""
        owner = np.zeros(self.table.n_items, dtype=np.int64)
        owner[self.table.items] = np.repeat(np.arange(len(self.table)), self.table.lengths)
        return owner

    @cached_property
    def filled(self) -> int:
        """Number of records that are not empty."""
        return int(np.sum(self.table.lengths > 0))

    def holders(self, items: BoolArray | Int64Array) -> Int64Array:
        """Count in each record the single items among `items`."""
        return np.bincount(self.owner[items], minlength=len(self.table))

    # Columns seen with the table's eyes.

    def position(self, column: ColumnSummary) -> Finding | None:
        """Find words of their own at a place in the lines, which only the table can judge."""
        if column.named or column.filled < ENOUGH_ROWS or column.difference < 0.95:
            return None
        return _column_finding(column, OWN_VALUES, _different_reason(column))

    def confirms(self, column: ColumnSummary, kind: str) -> bool:
        """Tell whether a finding that rests on different values stands up to the table.

        Values that other records hold, too, are items. At a place without a header, so are values
        no rarer than the rest of the record.
        """
        others = len(self.table.items) - column.filled
        if kind == RECORD_NUMBERS and not column.named:
            return others > 0.1 * column.filled
        if kind not in {OWN_VALUES, LONG_NUMBERS}:
            return True
        numbers = self._numbers_of(column)
        if not numbers:
            return column.named
        if np.mean(self.single[numbers]) < NEARLY_ALL or column.filled > 1.2 * len(self.table):
            return False
        if column.named:
            return True
        single_others = int(self.single.sum()) - column.distinct
        return others > 0 and single_others <= 0.3 * others

    def _numbers_of(self, column: ColumnSummary) -> list[int]:
        """Return the items that a column's values became, perhaps with its name before them."""
        vocabulary = self.table.vocabulary
        for before in ("", f"{column.name}=", f"{column.name}: ", f"{column.name}:"):
            names = [before + value for value in column.samples if before + value in vocabulary]
            if len(names) >= HALF * len(column.samples):
                return [vocabulary.number(name) for name in names]
        return []

    # Items without columns.

    def findings(self) -> list[tuple[Finding, list[str]]]:
        """Return what concerns the items, each with some of the items in clear."""
        if not self.table.n_items or not self.filled:
            return []
        values = self.values
        found = [
            *(self._at_once(values.of(kind), kind) for kind in (EMAILS, IBANS, NATIONAL)),
            self._at_once(self._unshared(values.of(KEYS)), KEYS),
            self._personal(values.of(TELEPHONES), TELEPHONES, several=True),
            self._personal(values.of(DATES), DATES),
            self._personal(values.of(IPS), IPS),
            self._personal(values.of(ADDRESSES), ADDRESSES, several=True),
            self._personal(values.of(URLS), URLS, share=HALF),
            self._long_numbers(),
            self._person_names(),
        ]
        reported = [finding for finding in found if finding is not None]
        # Telephone numbers and dates share templates; only say so once.
        if not reported and (own := self._own_numbers()):
            reported.append(own)
        return reported

    def _finding(self, items: BoolArray, kind: str, reason: str) -> tuple[Finding, list[str]]:
        texts = self.values.texts(items, 50)
        samples = tuple(map(mask, texts[:SHOWN]))
        count = int(items.sum())
        return Finding(column=None, kind=kind, reason=reason, samples=samples, count=count), texts

    def _at_once(self, items: BoolArray, kind: str) -> tuple[Finding, list[str]] | None:
        """Report forms that one item is enough of."""
        count = int(items.sum())
        if not count:
            return None
        looks = "1 item looks" if count == 1 else f"{count:,} items look"
        return self._finding(items, kind, f"{looks} like {kind}")

    def _unshared(self, items: BoolArray) -> BoolArray:
        """Return the items, or none if more than half of them are shared: a shop's products."""
        shared = int(np.sum(items & (self.supports > 1)))
        return items if 2 * shared <= int(items.sum()) else np.zeros_like(items)

    def _personal(
        self,
        items: BoolArray,
        kind: str,
        *,
        share: float = SIZEABLE,
        least: int = 3,
        several: bool = False,
    ) -> tuple[Finding, list[str]] | None:
        """Report a form if many records hold one that is theirs alone.

        Unless they may hold `several`, hardly a record may hold more than two.

        Barcodes and dates that many records share, and pages of which a record lists many, are
        items like any other.
        """
        own = items & self.single
        if int(own.sum()) < max(least, 0.8 * int(np.sum(items & (self.supports > 0)))):
            return None
        counts = self.holders(own)
        holders = int(np.sum(counts > 0))
        few_each = int(np.sum((counts > 0) & (counts <= 2)))
        if holders < max(least, share * self.filled) or (few_each < 0.8 * holders and not several):
            return None
        return self._finding(own, kind, _own_reason(holders, self.filled))

    def _long_numbers(self) -> tuple[Finding, list[str]] | None:
        found = self._personal(self.values.of(LONG_NUMBERS), LONG_NUMBERS, least=FEW_ROWS)
        if found is None:
            return None
        numbers = self.values.of(LONG_NUMBERS) & self.single
        cards = self.values.checked(numbers, _is_card)
        if int(cards.sum()) < NEARLY_ALL * int(numbers.sum()):
            return found
        return self._finding(numbers, CARDS, found[0].reason)

    def _person_names(self) -> tuple[Finding, list[str]] | None:
        """Report names of people: the form in half of the records, given names in a quarter."""
        known = self.values.known_names & self.single
        if int(known.sum()) < max(FEW_ROWS, 0.25 * self.filled):
            return None
        named = (self.values.of(PERSON_NAMES) & self.single) | known
        if int(np.sum(self.holders(known) > 0)) < 0.25 * self.filled:
            return None
        return self._personal(named, PERSON_NAMES, share=HALF, least=FEW_ROWS)

    def _own_numbers(self) -> tuple[Finding, list[str]] | None:
        """Report items that are the number of the record they stand in.

        Nearly every record must hold exactly one item of a template that no other record holds,
        hardly an item of that template may be shared, and the record must hold other items.
        """
        with_digits = self.values.digits > 0
        own = np.flatnonzero(with_digits & self.single)
        needed = NEARLY_ALL * self.filled
        if self.filled < FEW_ROWS or len(own) < needed:
            return None
        used = np.flatnonzero(with_digits & (self.supports > 0))
        for template, check in (("literal", self._is_numbering), ("classes", self._is_code)):
            templates = self._templates(used, template)
            order = np.argsort(templates, kind="stable")
            starts = np.flatnonzero(np.r_[True, np.diff(templates[order]) != 0, True])
            for start, end in pairwise(starts.tolist()):
                group = used[order[start:end]]
                members = group[self.single[group]]
                if len(members) < needed:
                    continue
                chosen = check(members, len(group))
                if chosen is not None:
                    items = np.zeros(self.table.n_items, dtype=bool)
                    items[chosen] = True
                    holders = int(np.sum(self.holders(chosen) > 0))
                    return self._finding(items, RECORD_NUMBERS, _own_reason(holders, self.filled))
        return None

    def _templates(self, items: Int64Array, pattern: str) -> Int64Array:
        """Return the number of each item's template: P# (literal) or A9999 (classes) for P0001."""
        import polars as pl

        texts = self.values.series.gather(items)
        if pattern == "literal":
            texts = texts.str.replace_all(r"[0-9]+", "#")
        else:
            texts = texts.str.replace_all(r"\p{L}", "A").str.replace_all(r"[0-9]", "9")
        ranks: Int64Array = texts.rank("dense").cast(pl.Int64).to_numpy()
        return ranks

    def _one_each(self, members: Int64Array) -> bool:
        """Tell whether nearly every record holds exactly one of these, and something else."""
        counts = self.holders(members)
        one = counts == 1
        more = one & (self.table.lengths > 1)
        return bool(one.sum() >= NEARLY_ALL * self.filled and more.sum() >= NEARLY_ALL * one.sum())

    def _is_numbering(self, members: Int64Array, total: int) -> Int64Array | None:
        """Judge items of one literal template: ``P#``, or ``#`` for plain numbers."""
        import polars as pl

        texts = self.values.series.gather(members)
        parts = texts.str.extract_all(r"[0-9]+")
        if int(parts.list.len().max()) != 1:  # type: ignore[arg-type]
            return None  # 12.5 or 1-2: a code at most
        digits = parts.list.first()
        widths = digits.str.len_chars().to_numpy().astype(np.int64)
        numbers = digits.str.slice(0, 18).cast(pl.Int64).to_numpy()
        if bool(texts.str.contains(r"^[0-9]+$").all()):
            return self._plain_numbers(members, widths, numbers)
        if len(members) < NEARLY_ALL * total or not self._one_each(members):
            return None
        if not bool(texts.str.contains(r"\p{L}").all()):
            return None
        run = int(numbers.max() - numbers.min()) < 1.2 * len(numbers)
        same_width = bool(widths.min() == widths.max())
        padded = bool(digits.str.starts_with("0").any())
        in_order = bool(np.all(np.diff(numbers[np.argsort(self.owner[members])]) == 1))
        strong = (
            (self.filled >= ENOUGH_ROWS and (widths.max() >= 3 or run))
            or (self.filled >= 10 and (run or widths.min() >= 4))
            or (same_width and (widths[0] >= 4 or (padded and widths[0] >= 3)))
            or (in_order and numbers.min() <= 1 and len(numbers) >= FEW_ROWS)
        )
        return members if strong else None

    def _plain_numbers(
        self, members: Int64Array, widths: Int64Array, numbers: Int64Array
    ) -> Int64Array | None:
        """Find among rare plain numbers those that number the records.

        Where all items are numbers, records hold rare ones by chance. Those that number the
        records stand in a dense run, or have a length that no shared number has.
        """
        if self.filled < 10:
            return None
        needed = NEARLY_ALL * self.filled
        order = np.argsort(numbers, kind="stable")
        breaks = np.flatnonzero(np.diff(numbers[order]) > 10) + 1
        for run in np.split(order, breaks):
            chosen: Int64Array = members[run]
            if len(chosen) >= needed and self._one_each(chosen):
                return chosen
        for width in np.unique(widths[widths >= 4]).tolist():
            same: Int64Array = members[widths == width]
            if len(same) < needed or not self._one_each(same):
                continue
            all_same = self.values.match(rf"^[0-9]{{{width}}}$", self.values.digits == width)
            shared = int(np.sum(all_same & (self.supports > 1)))
            if shared <= 0.1 * len(same):
                return same
        return None

    def _is_code(self, members: Int64Array, total: int) -> Int64Array | None:
        """Judge items that share only the places of letters and digits: ``RSSMRA85T10A562S``."""
        first = str(self.values.series[int(members[0])])
        long_enough = len(first) >= 5 and sum(map(str.isdigit, first)) >= 3
        icd_like = re.fullmatch(r"[^\W\d_]\d\w\.?\w{0,4}", first)
        if self.filled < ENOUGH_ROWS or not long_enough or icd_like or first.isdigit():
            return None
        if len(members) < 0.95 * total or not self._one_each(members):
            return None
        return members


def _own_reason(holders: int, records: int) -> str:
    return f"{holders:,} of {records:,} records hold one that no other record holds"
