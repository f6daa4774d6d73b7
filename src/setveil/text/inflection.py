"""Dictionary forms of English words: singulars of nouns, infinitives of verbs.

Offline lemmatisers come with a dictionary of tens of megabytes or download one. Here the ending
suggests candidates, and the first one that TextBlob's bundled lexicon knows is taken; a word that
the lexicon does not know follows the rule for its ending.
"""

from __future__ import annotations

from functools import lru_cache

from setveil.text.tagging import lexicon

_PLURALS = """
bases base |
men man | women woman | children child | people person | feet foot | teeth tooth | geese goose |
mice mouse | lice louse | oxen ox | dice die | bacteria bacterium | criteria criterion |
phenomena phenomenon | data data | media media | strata stratum | spectra spectrum | ova ovum |
sera serum | septa septum | foramina foramen | fungi fungus | nuclei nucleus | bacilli bacillus
| stimuli stimulus | thrombi thrombus | emboli embolus | alveoli alveolus | bronchi bronchus |
alumni alumnus | radii radius | foci focus | cacti cactus | loci locus | villi villus | cocci
coccus | calculi calculus | indices index | vertices vertex | appendices appendix | matrices
matrix | cortices cortex | apices apex | helices helix | axes axis | menisci meniscus |
vertebrae vertebra | larvae larva | antennae antenna | formulae formula | alumnae alumna | algae
alga | bursae bursa | cilia cilium | crises crisis | conjunctivae conjunctiva | fistulae fistula
| petechiae petechia | atria atrium | lives life | wives wife | knives knife | leaves leaf |
halves half | wolves wolf | calves calf | thieves thief | loaves loaf | shelves shelf | selves
self | hooves hoof | scarves scarf | dwarves dwarf | genera genus | corpora corpus | viscera
viscus | stomata stoma | stigmata stigma | schemata schema | ganglia ganglion | mitochondria
mitochondrion | taxa taxon | quanta quantum | addenda addendum | passersby passerby |
brothers-in-law brother-in-law | mothers-in-law mother-in-law | ties tie | lies lie | pies pie |
shoes shoe | toes toe | caches cache | aches ache | headaches headache | buses bus | gases gas |
atlases atlas | characteristics characteristic | analgesics analgesic | diuretics diuretic |
academics academic | antiepileptics antiepileptic
"""

# Past tense and participle where they do not end in -ed, and a few other forms.
_VERBS = """
arose arisen arise | awoke awoken awake | bore borne born bear | beat beaten beat | became
become | began begun begin | bent bend | bet bet | bit bitten bite | bled bleed | blew blown
blow | broke broken break | bred breed | brought bring | built build | burnt burn | burst burst
| bought buy | cast cast | caught catch | chose chosen choose | clung cling | came come | cost
cost | crept creep | cut cut | dealt deal | dug dig | did done do | drew drawn draw | dreamt
dream | drank drunk drink | drove driven drive | ate eaten eat | fell fallen fall | fed feed |
felt feel | fought fight | found find | fled flee | flew flown fly | forbade forbidden forbid |
forgot forgotten forget | forgave forgiven forgive | froze frozen freeze | got gotten get | gave
given give | went gone go | ground grind | grew grown grow | hung hang | had have | heard hear |
hid hidden hide | hit hit | held hold | hurt hurt | kept keep | knelt kneel | knew known know |
laid lay | led lead | leapt leap | learnt learn | left leave | lent lend | lay lain lie | lit
light | lost lose | made make | meant mean | met meet | mistook mistaken mistake | overcame
overcome | overtook overtaken overtake | paid pay | proven prove | put putting put | quit quit |
read read | rode ridden ride | rang rung ring | rose risen rise | ran run | said say | saw seen
see | sought seek | sold sell | sent send | set set | sewn sew | shook shaken shake | shed shed
| shone shine | shot shoot | showed shown show | shrank shrunk shrink | shut shut | sang sung
sing | sank sunk sink | sat sit | slept sleep | slid slide | sown sow | spoke spoken speak |
sped speed | spent spend | spilt spill | spun spin | spat spit | split split | spread spread |
sprang sprung spring | stood stand | stole stolen steal | stuck stick | stung sting | stank
stunk stink | strode stridden stride | struck stricken strike | strove striven strive | swore
sworn swear | swept sweep | swollen swell | swam swum swim | swung swing | took taken take |
taught teach | tore torn tear | told tell | thought think | threw thrown throw | thrust thrust |
trod trodden tread | understood understand | underwent undergone undergo | upset upset |
withdrew withdrawn withdraw | withheld withhold | withstood withstand | woke woken wake | wore
worn wear | wove woven weave | wept weep | won win | wound wind | wrung wring | wrote written
writing write | was were been am is are be | has have | does do | lying lie | dying die | tying
tie | died die | tied tie | lied lie | undid undone undo | undertook undertaken undertake |
being be | doing do | going go | underlying underlie | united uniting unite | beating beat
"""

_DEGREES = """
better good | best good | worse bad | worst bad | further far | furthest far | farther far |
farthest far | elder old | eldest old
"""

# Nouns that end in s and are singular, or have no singular of their own.
_UNCHANGED = """
aids alms always ascites atlas barracks bellows bias biceps billiards bronchus canvas caries
chaos christmas clothes coitus corps cosmos crossroads diabetes earnings environs ethos facies
faeces feces forceps gallows genitals glasses goggles goods headquarters herpes hydrops
hypospadias innings kudos lens likes mars means measles meninges menses mers molasses mumps news
pajamas pampas pancreas pants pathos perhaps pliers premises proceeds pseudomonas pus pyjamas
quadriceps rabies rhinoceros riches rickets sars scabies scissors series shambles shingles
shorts species spectacles surroundings talipes tennis texas thanks thermos tights triceps
trousers tweezers unless whereabouts yes
"""


def _by_form(text: str) -> dict[str, str]:
    """Return form -> dictionary form.

    >>> _by_form("wrote written write | men man")["written"]
    'write'
    """
    groups = [group.split() for group in text.split("|")]
    return {form: forms[-1] for forms in groups for form in forms[:-1]}


SINGULAR_OF = _by_form(_PLURALS)
"""Singulars by plural."""

INFINITIVE_OF = _by_form(_VERBS)
"""Infinitives by any other form."""

POSITIVE_OF = _by_form(_DEGREES)
"""Adjectives by comparative or superlative."""

UNCHANGED = frozenset(_UNCHANGED.split())
"""Nouns in -s that stay as they are."""


VOWELS = frozenset("aeiou")

_SINGULAR_ENDINGS = ("ss", "us", "is", "ceps")
_PREFIXES = ("over", "under", "out", "mis", "up", "re", "in")
# Stems after which a verb that nobody knows more likely ends in a silent e.
_E_AFTER = (
    "at", "iz", "is", "ys", "os", "v", "u", "c", "g", "bl", "dl", "tl", "gl", "kl", "pl", "od",
    "ud", "id", "um", "ib", "az", "ez", "ur", "ot",
)  # fmt: skip


def _first_known(*candidates: str) -> str:
    """Return the first candidate the lexicon holds, or else the last one."""
    known = lexicon()
    return next((word for word in candidates if word in known), candidates[-1])


@lru_cache(maxsize=1 << 16)
def singular(word: str) -> str:
    """Return the singular of a lower-case plural noun; a word that is no plural stays.

    >>> [singular(word) for word in ("studies", "diseases", "diagnoses", "women", "diabetes")]
    ['study', 'disease', 'diagnosis', 'woman', 'diabetes']
    """
    if word in SINGULAR_OF:
        return SINGULAR_OF[word]
    head, hyphen, last = word.rpartition("-")
    if hyphen:
        return f"{head}-{singular(last)}"
    if len(word) < 4 or word in UNCHANGED or lexicon().get(word) == "NN":
        return word
    if word.endswith("men"):
        return word[:-2] + "an"
    singular_already = not word.endswith("s") or word.endswith(_SINGULAR_ENDINGS)
    # Critics are many; genetics has no singular.
    science = word.endswith("ics") and lexicon().get(word[:-1]) != "NN"
    return word if singular_already or science else _without_s(word)


def known_singular(word: str) -> str:
    """Return the singular of a lower-case word that need not be a noun, if the lexicon knows it.

    A query says nothing of what its words are: names and addresses end in -s too.

    >>> [known_singular(word) for word in ("hotels", "vegas", "mcdonald's", "james")]
    ['hotel', 'vegas', "mcdonald's", 'james']
    """
    found = singular(word)
    return found if found in lexicon() else word


def _without_s(word: str) -> str:
    """Return the word before an -s was added, for nouns and for verbs."""
    bare, without_es = word[:-1], word[:-2]
    candidates = [bare]
    if word.endswith("ies") and len(word) > 4:
        candidates = [bare, word[:-3] + "y"]
    elif word.endswith("ves"):
        candidates = [bare, word[:-3] + "f", word[:-3] + "fe", bare]
    elif word.endswith(("sses", "shes", "xes", "zzes", "ches", "oes")):
        candidates = [without_es, bare, without_es]
    elif word.endswith("uses"):
        candidates = [bare, without_es]
    elif word.endswith(("ases", "eses", "oses", "yses")):  # cases, prostheses, neuroses, analyses
        candidates = [f"{without_es}is", bare, without_es, f"{without_es}is"]
    elif word.endswith(("ses", "zes")):
        candidates = [bare, without_es, bare]
    return _first_known(*candidates)


@lru_cache(maxsize=1 << 16)
def lemma(word: str, tag: str) -> str:
    """Return the dictionary form of a lower-case word with its Penn Treebank tag.

    >>> lemma("studying", "VBG"), lemma("studies", "VBZ"), lemma("stopped", "VBD")
    ('study', 'study', 'stop')
    >>> lemma("written", "VBN"), lemma("larger", "JJR"), lemma("cells", "NNS")
    ('write', 'large', 'cell')
    """
    if tag == "NNS":
        return singular(word)
    if tag.startswith("VB"):
        return _infinitive(word, tag)
    if tag in {"JJR", "JJS"}:
        if word in POSITIVE_OF:
            return POSITIVE_OF[word]
        ending = "er" if tag == "JJR" else "est"
        if word.endswith(ending) and len(word) > len(ending) + 2:
            return _stem_of(word, ending, otherwise=word)
    return word


def _infinitive(word: str, tag: str) -> str:
    if tag == "VB":
        return word
    if word in INFINITIVE_OF:
        return INFINITIVE_OF[word]
    for prefix in _PREFIXES:
        rest = word.removeprefix(prefix)
        if rest != word and rest in INFINITIVE_OF and not rest.endswith(("ing", "ied")):
            return prefix + INFINITIVE_OF[rest]
    if tag == "VBZ" and word.endswith("s") and not word.endswith("ss") and len(word) > 3:
        found = _without_s(word)
        return word[:-1] if found.endswith("sis") else found  # diagnoses, the verb
    endings = {"VBG": "ing", "VBD": "ed", "VBN": "ed"}
    ending = endings.get(tag, "-")
    return _stem_of(word, ending) if word.endswith(ending) else word


def _stem_of(word: str, ending: str, otherwise: str | None = None) -> str:
    """Return what an ending was added to: with a silent e, a y or a single consonant restored."""
    stem = word[: -len(ending)]
    if len(stem) < 2:
        return word
    before, last = stem[-2], stem[-1]
    if last == "i" and ending != "ing":
        candidates = [stem[:-1] + "y", stem]
    elif before == last and last not in VOWELS:
        candidates = [stem, stem[:-1]]
    elif _has_silent_e(stem):
        candidates = [stem + "e", stem]
    else:
        candidates = [stem, stem + "e"]
    for candidate in candidates:
        # "rang" is a word, but ranging does not come from it.
        if candidate in lexicon() and candidate not in INFINITIVE_OF:
            return candidate
    return otherwise if otherwise is not None else _unknown_stem(stem)


def _has_silent_e(stem: str) -> bool:
    """Tell whether a stem more likely lost an e: hoping is from hope, as hop gives hopping."""
    if stem.endswith("th"):
        return True  # breathing
    if stem.endswith(("er", "or", "on", "en", "it", "et")) or stem[-1] in "wxy":
        return False  # ordering, favoring, visiting
    one_vowel = stem[-2] in VOWELS and (len(stem) < 3 or stem[-3] not in VOWELS)
    return stem[-1] not in VOWELS and one_vowel


def _unknown_stem(stem: str) -> str:
    """Guess the silent e of a verb that the lexicon does not know."""
    if stem.endswith("i"):
        return stem[:-1] + "y"
    if stem.endswith(_E_AFTER) and not stem.endswith("our"):
        return stem + "e"
    doubled = stem[-1] == stem[-2] and stem[-1] not in VOWELS and stem[-1] not in "lsz"
    return stem[:-1] if doubled else stem
