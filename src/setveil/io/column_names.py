"""What the name of a column says: whether it numbers records, holds items, or is one of several.

Names are compared as words, without case and accents, so that ``PatientID``, ``patient_id`` and
``Patient-ID`` are the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence


def vocabulary(text: str) -> frozenset[str]:
    """Return the words of a text.

    >>> sorted(vocabulary("id no"))
    ['id', 'no']
    """
    return frozenset(text.split())


PEOPLE = vocabulary("""
    patient person user customer client member subject participant individual household
    pupil student employee visitor borrower reader subscriber mrn nhs anon patron pid uid
    pat beneficiary bene respondent guest leser leserin pacjent pacjenta hasta insured
    enrollee donor resident pseudonym pnr patienten kunde kunden klient benutzer nutzer
    mitglied versicherter proband personne utilisateur malade adherent abonne paciente
    persona usuario cliente miembro abonado paziente utente socio patiente gebruiker klant
    utilizador pessoa doente
""")
"""Words for people: a column that numbers them names the record of a person."""
EVENTS = vocabulary("""
    transaction basket cart order invoice receipt bill session visit encounter admission
    stay episode case record tid sid trans txn purchase ticket loan document doc row line
    recipe vorgang fall aufenthalt besuch rechnung bon bestellung warenkorb auftrag beleg
    einkauf sejour visite facture commande panier recette visita ingreso factura pedido
    cesta compra receta transaccion claim clm response meeting csn encntr hadm accession
    specimen icustay kassenbon quittung ricovero fattura ordine scontrino ricetta bezoek
    opname factuur bestelling
""")
"""Words for what people do: a column that numbers these names the record of one event."""
NUMBERING = vocabulary("""
    id ids no nr num number nummer numero numéro key ident identifier code uid guid hash idx
""")
"""Words that make a column's name that of a number."""
ITEMS = vocabulary("""
    item items product products article articles goods sku ean gtin stockcode diagnosis
    diagnoses diag dx icd icd9 icd10 condition conditions disease symptom symptoms finding
    findings comorbidity allergy allergies drug drugs medication medications medicine
    prescription atc procedure procedures cpt test tests lab snomed loinc query queries
    keyword keywords term terms tag tags topic topics genre genres movie song track title
    page url uri link ingredient ingredients category categories interest interests skill
    skills code codes event events description concept complaint complaints problem problems
    book books titel werk buch course courses kurs game artist vaccine impfstoff impfung
    allergen gene hcpcs pzn ops hobby hobbies language languages vorerkrankungen
    nebendiagnosen nebendiagnose hauptdiagnose comorbidities beschwerden rozpoznanie dgns
    cie10 cim10 cid10 cim cie asin диагноз διαγνωση 诊断 診断 病名 التشخيص artikel produkt
    produkte ware waren diagnose diagnosen befund befunde symptome medikament medikamente
    arznei wirkstoff prozedur beschreibung zutat zutaten suchbegriff produit produits
    diagnostic diagnostics maladie maladies medicament medicaments requete motif acte actes
    libelle producto productos articulo articulos diagnostico diagnosticos enfermedad
    medicamento medicamentos farmaco sintoma ingrediente ingredientes consulta prodotto
    prodotti articolo diagnosi malattia ingredienti producten aandoening geneesmiddel
    produto produtos doenca
""")
"""Words for what records hold."""
WEAK = vocabulary("""
    code codes term terms title titles test tests event events category categories
    description lab page url uri link topic topics genre language languages
""")
"""Words that mean items only where nothing else does, and where they are the whole name."""
AMOUNTS = vocabulary("""
    rank count counts qty quantity amount price cost total score date time year version
    system poa dose dosage day offset priority grade rating result unit strength route seq
    status menge anzahl preis betrag datum quantite prix montant cantidad precio importe
    fecha
""")
"""Words for figures beside an item, which are not items."""
ATTRIBUTES = vocabulary("""
    sex gender male female age height weight bmi race ethnicity nationality religion
    geschlecht alter groesse gewicht sexe sexo sesso geslacht edad eta leeftijd
""")
"""Words for what people are rather than what they hold."""
CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_GLUED = re.compile(r"(.+?)(id|ids|no|nr|num|number|nummer)")
_NUMBERED = re.compile(r"(.*?)[ _.\-#(\[]*0*([0-9]{1,4})[)\]]?")


GENERIC = vocabulary("v x c f q a b col column field var feld spalte unnamed question frage")
"""Stems of numbered columns that say nothing about what these hold."""


def plain(text: str) -> str:
    """Return a text in lower case and without accents.

    >>> plain("Diagnóstico")
    'diagnostico'
    """
    parts = unicodedata.normalize("NFKD", text)
    return "".join(sign for sign in parts if not unicodedata.combining(sign)).casefold()


def words_of(name: str) -> list[str]:
    """Return the words of a column's name; digits at the end of a word belong to it.

    >>> words_of("PatientID"), words_of("icd10_code"), words_of("Rechnungs-Nr.")
    (['patient', 'id'], ['icd10', 'code'], ['rechnungs', 'nr'])
    """
    words: list[str] = []
    for word in re.findall(r"[^\W_]+", CAMEL.sub(" ", name)):
        folded = plain(word)
        glued = _GLUED.fullmatch(folded)
        if glued and _known([glued[1]], PEOPLE | EVENTS | ITEMS):
            words += [glued[1], glued[2]]
        else:
            words.append(folded)
    return words


def _known(words: list[str], known: frozenset[str]) -> bool:
    """Tell whether some word, or its stem before a joining s or a plural, is known."""
    return any(word in known or word.removesuffix("s") in known for word in words)


def record_kind(name: str) -> str:
    """Tell what a column of this name numbers: "person", "event", or nothing known.

    >>> [record_kind(name) for name in ("PatientID", "MRN", "id", "InvoiceNo", "user", "Age")]
    ['person', 'person', 'event', 'event', 'person', '']
    >>> record_kind("product_id"), record_kind("Patient name")
    ('', '')
    """
    words = words_of(name)
    if not words:
        return ""
    rest = [word for word in words if word not in NUMBERING]
    if not rest:
        return "event" if words[0] in {"id", "no", "nr", "number", "key", "uid", "guid"} else ""
    if all(_known([word], PEOPLE | EVENTS) for word in rest):
        return "person" if _known(rest, PEOPLE) else "event"
    return ""


def item_strength(name: str) -> int:
    """Return how surely a column of this name holds items: 2 surely, 1 perhaps, 0 no.

    >>> [item_strength(name) for name in ("ICD", "product_id", "Diagnose", "Age", "Customer code")]
    [2, 2, 2, 0, 0]
    >>> item_strength("code"), item_strength("PIN_CODE"), item_strength("DrugDose1")
    (1, 0, 0)
    """
    words = [re.sub(r"(?<=[^0-9])[0-9]+$", "", word) for word in words_of(name)]
    if record_kind(name) or _known(words, PEOPLE) or any(word in AMOUNTS for word in words):
        return 0
    if any(
        (word in ITEMS or whole in ITEMS) and word not in WEAK
        for word, whole in zip(words, words_of(name), strict=True)
    ):
        return 2
    return 1 if words and all(word in WEAK or word in NUMBERING for word in words) else 0


def is_item_name(name: str) -> bool:
    """Tell whether a column of this name may hold items.

    >>> is_item_name("Diagnosis code"), is_item_name("title"), is_item_name("ward_code")
    (True, True, False)
    """
    return item_strength(name) > 0


def is_attribute(name: str) -> bool:
    """Tell whether a column of this name says what people are, such as their sex.

    >>> is_attribute("Sex"), is_attribute("sex hormone"), is_attribute("Age (years)")
    (True, False, True)
    """
    words = [word for word in words_of(name) if word not in {"years", "code", "group", "cm", "kg"}]
    return bool(words) and all(word in ATTRIBUTES for word in words)


def is_generic(name: str) -> bool:
    """Tell whether a name is one that programs give to columns without one.

    >>> is_generic("V1"), is_generic("Column 12"), is_generic("Dx1")
    (True, True, False)
    """
    match = _NUMBERED.fullmatch(plain(name.strip()))
    return match is not None and match[1] in GENERIC


def families(names: Sequence[str]) -> list[list[int]]:
    """Return the places of columns whose names differ in a number only, such as Dx1 … Dx5.

    >>> families(["PatientID", "Dx1", "Dx2", "Item 1", "Item 2", "Item 3", "Age"])
    [[3, 4, 5], [1, 2]]
    >>> families(["Drug", "Drug.1", "Symptom", "Symptom"])
    [[0, 1], [2, 3]]
    """
    found: dict[str, dict[int, int]] = defaultdict(dict)
    for place, name in enumerate(names):
        match = _NUMBERED.fullmatch(plain(name.strip()))
        if match and match[1] and match[1] not in GENERIC:
            found[match[1]].setdefault(int(match[2]), place)
    for place, name in enumerate(names):
        stem = plain(name.strip())
        # The same name again, or the one before its numbered copies, as pandas writes them.
        if stem in found or (names.count(name) > 1 and is_item_name(name)):
            taken = found[stem]
            if place not in taken.values():
                taken[-1 - place] = place
    groups = [sorted(places.values()) for places in found.values() if len(places) > 1]
    return sorted(groups, key=len, reverse=True)
