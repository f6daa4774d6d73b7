"""English words whose dictionary form no rule gives: forms first, the dictionary form last."""

from __future__ import annotations

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
