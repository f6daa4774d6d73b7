"""Invented patients of an invented clinic: the data of the demo, of examples and of tests.

All shares are round guesses that make plausible records, not medical facts.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import numpy.typing as npt

from setveil.core.arrays import offsets_of
from setveil.core.table import TransactionTable
from setveil.core.taxonomy import Taxonomy
from setveil.synthetic.dataset import Synthetic, check_size_and_seed

Flags = npt.NDArray[np.bool_]


def clinic(n: int = 2000, seed: int = 0) -> Synthetic:
    """Generate patients with their conditions, drugs and symptoms.

    Age, smoking and the like (never recorded) and earlier conditions raise the chance of others,
    so that conditions come in co-morbid groups; each brings drugs and symptoms. Some records
    hold a general item, such as "diabetes", where a precise one would have been known. A patient
    with nothing at all came for a routine check-up.

    Parameters
    ----------
    n
        Number of patients.
    seed
        Draws the patients.

    Returns
    -------
    Synthetic
        With a hand-written tree of five levels and twelve sensitive conditions.

    Examples
    --------
    >>> data = clinic(n=500, seed=1)
    >>> len(data.table), data.taxonomy.height
    (500, 4)
    >>> "HIV infection" in data.sensitive
    True
    """
    check_size_and_seed(n, seed)
    rng = np.random.default_rng(seed)
    traits = {name: rng.random(n) < share for name, share in TRAITS.items()}
    traits["man"] = ~traits["woman"]
    held = _with_conditions(rng, n, traits)
    _add_drugs_and_symptoms(rng, n, held, traits)
    tree = clinic_taxonomy()
    _blur(rng, held, tree)
    healthy = ~np.any(list(held.values()), axis=0)
    held["routine check-up"] |= healthy
    names = [name for name, flags in held.items() if flags.any()]
    matrix = np.column_stack([held[name] for name in names])
    offsets = offsets_of(matrix.sum(axis=1))
    table = TransactionTable.from_csr(offsets, np.nonzero(matrix)[1], names)
    return Synthetic(
        table=table,
        taxonomy=tree,
        sensitive=tuple(item for item in SENSITIVE if item in table.vocabulary),
        description=f"{n:,} invented patients of a clinic: conditions, drugs and symptoms",
    )


@cache
def clinic_taxonomy() -> Taxonomy:
    """Return the clinic's tree of items.

    >>> tree = clinic_taxonomy()
    >>> [tree.names[v] for v in tree.ancestors(tree.node("type 2 diabetes"))]
    ['type 2 diabetes', 'diabetes', 'metabolism and hormones', 'condition', 'clinic record']
    """
    parents: dict[str, str | None] = {}
    way: list[str] = []
    for line in TREE.strip().splitlines():
        name = line.strip()
        level = (len(line) - len(name)) // 2
        way[level:] = [name]
        parents[name] = way[level - 1] if level else None
    return Taxonomy.from_parents(parents)


def _happens(
    rng: np.random.Generator,
    n: int,
    share: float,
    raised_by: dict[str, Flags],
    by: dict[str, float],
) -> Flags:
    """Draw who has something of this share, raised or lowered by what else they have."""
    chance = np.full(n, share)
    for cause, factor in by.items():
        chance[raised_by[cause]] *= factor
    drawn: Flags = rng.random(n) < np.minimum(chance, 0.95)
    return drawn


def _with_conditions(
    rng: np.random.Generator, n: int, traits: dict[str, Flags]
) -> dict[str, Flags]:
    known = dict(traits)
    for name, (share, by) in CONDITIONS.items():
        known[name] = _happens(rng, n, share, known, by)
    return {name: known[name] for name in CONDITIONS}


def _add_drugs_and_symptoms(
    rng: np.random.Generator, n: int, held: dict[str, Flags], traits: dict[str, Flags]
) -> None:
    nobody = np.zeros(n, dtype=bool)
    for item, (share, by) in EVERYDAY.items():
        held[item] = _happens(rng, n, share, traits, by)
    for condition, brought in BRINGS.items():
        for item, share in brought.items():
            held[item] = held.get(item, nobody) | (held[condition] & (rng.random(n) < share))


def _blur(rng: np.random.Generator, held: dict[str, Flags], tree: Taxonomy) -> None:
    """Write the general name instead of the precise one, now and then."""
    for general, share in VAGUE.items():
        node = tree.node(general)
        below = [tree.names[v] for v in range(node + 1, tree.ends[node])]
        vague = rng.random(len(next(iter(held.values())))) < share
        precise = [name for name in below if name in held]
        held[general] = np.any([held[name] for name in precise], axis=0) & vague
        for name in precise:
            held[name] &= ~vague


# One node per line, indented under its parent. An item may have children: "diabetes" is what a
# hurried doctor writes for "type 2 diabetes".
TREE = """
clinic record
  condition
    heart and vessels
      hypertension
      coronary heart disease
        angina pectoris
        heart attack
      heart failure
      atrial fibrillation
      stroke
      venous thrombosis
    metabolism and hormones
      diabetes
        type 1 diabetes
        type 2 diabetes
        gestational diabetes
      thyroid disorder
        hypothyroidism
        hyperthyroidism
      obesity
      high cholesterol
      gout
    lungs
      asthma
      chronic bronchitis
      emphysema
      pneumonia
      sleep apnea
    infection
      influenza
      common cold
      urinary tract infection
      tuberculosis
      sexually transmitted infection
        HIV infection
        chlamydia
        syphilis
      viral hepatitis
        hepatitis B
        hepatitis C
    mind
      mood disorder
        depression
        bipolar disorder
      anxiety disorder
        panic disorder
        post-traumatic stress disorder
      schizophrenia
      dependence
        alcohol dependence
        opioid dependence
        nicotine dependence
    nerves
      migraine
      epilepsy
      multiple sclerosis
      dementia
      nerve damage in the feet
    bones and joints
      arthritis
        osteoarthritis
        rheumatoid arthritis
      osteoporosis
      hip fracture
      slipped disc
    digestion
      acid reflux
      stomach ulcer
      irritable bowel syndrome
      liver cirrhosis
      gallstones
    kidneys and bladder
      chronic kidney disease
      kidney stones
      enlarged prostate
    skin
      eczema
      psoriasis
      shingles
    cancer
      breast cancer
      lung cancer
      bowel cancer
      skin cancer
    pregnancy
      pregnancy with twins
  drug
    heart drug
      ACE inhibitor
      beta blocker
      diuretic
      statin
      nitroglycerin
    blood thinner
      aspirin
      warfarin
    diabetes drug
      insulin
      metformin
    hormone
      thyroid hormone
      contraceptive
      cortisone
    lung drug
      inhaled salbutamol
      inhaled steroid
    painkiller
      ibuprofen
      paracetamol
      opioid
        codeine
        morphine
    anti-infective
      antibiotic
        amoxicillin
        doxycycline
      antiretroviral drug
      antiviral for hepatitis
    drug for the mind
      antidepressant
      lithium
      antipsychotic
      sedative
      methadone
      nicotine patch
    antiepileptic
    triptan
    stomach acid blocker
    bisphosphonate
    allopurinol
    methotrexate
    chemotherapy
    folic acid
  symptom
    pain
      chest pain
      back pain
      joint pain
      headache
      stomach ache
    breathing
      cough
      shortness of breath
      wheezing
    general
      fever
      fatigue
      weight loss
      weight gain
      night sweats
    mood and sleep
      insomnia
      low mood
      restlessness
    dizziness
    palpitations
    swollen legs
    thirst
    nausea
    diarrhea
    skin rash
    numbness
    frequent urination
    forgetfulness
  visit
    routine check-up
    vaccination
    sick note
"""

# Share of patients with each trait; traits are never recorded. Man is what is not woman.
TRAITS = {"woman": 0.52, "old": 0.35, "smoker": 0.22, "sedentary": 0.4, "at risk": 0.07}

# Share of patients with a condition, and by how much a trait or an earlier condition multiplies
# it: the co-morbidity. A condition stands after those that raise it.
CONDITIONS: dict[str, tuple[float, dict[str, float]]] = {
    "obesity": (0.06, {"sedentary": 3.0}),
    "hypertension": (0.07, {"old": 3.5, "obesity": 2.0}),
    "high cholesterol": (0.06, {"old": 2.5, "obesity": 1.8}),
    "type 2 diabetes": (0.02, {"old": 2.5, "obesity": 4.0, "hypertension": 1.5}),
    "type 1 diabetes": (0.006, {}),
    "pregnancy": (0.04, {"man": 0.0, "old": 0.0}),
    "pregnancy with twins": (0.0003, {"pregnancy": 60.0, "man": 0.0, "old": 0.0}),
    "gestational diabetes": (0.0008, {"pregnancy": 60.0, "obesity": 2.0, "man": 0.0, "old": 0.0}),
    "hypothyroidism": (0.02, {"woman": 2.5}),
    "hyperthyroidism": (0.007, {"woman": 2.0}),
    "gout": (0.008, {"old": 2.0, "obesity": 2.5, "woman": 0.4}),
    "angina pectoris": (0.006, {"old": 4.0, "smoker": 1.8, "high cholesterol": 2.5}),
    "heart attack": (0.003, {"old": 3.0, "smoker": 2.5, "angina pectoris": 6.0}),
    "heart failure": (0.002, {"old": 5.0, "hypertension": 2.5, "heart attack": 8.0}),
    "atrial fibrillation": (0.004, {"old": 5.0, "heart failure": 5.0}),
    "stroke": (0.002, {"old": 3.0, "hypertension": 2.5, "atrial fibrillation": 5.0}),
    "venous thrombosis": (0.004, {"old": 2.0, "sedentary": 1.8}),
    "asthma": (0.05, {"old": 0.8}),
    "chronic bronchitis": (0.008, {"smoker": 6.0, "old": 2.0}),
    "emphysema": (0.002, {"smoker": 5.0, "chronic bronchitis": 8.0}),
    "pneumonia": (0.006, {"old": 2.0, "chronic bronchitis": 4.0, "emphysema": 3.0}),
    "sleep apnea": (0.01, {"obesity": 5.0}),
    "influenza": (0.05, {}),
    "common cold": (0.12, {}),
    "urinary tract infection": (0.02, {"woman": 3.0, "pregnancy": 2.0}),
    "HIV infection": (0.001, {"at risk": 40.0}),
    "tuberculosis": (0.0006, {"HIV infection": 40.0, "at risk": 6.0}),
    "syphilis": (0.0006, {"at risk": 25.0, "HIV infection": 4.0}),
    "chlamydia": (0.005, {"at risk": 12.0, "old": 0.1}),
    "hepatitis B": (0.001, {"at risk": 15.0}),
    "opioid dependence": (0.001, {"at risk": 40.0}),
    "hepatitis C": (0.001, {"at risk": 8.0, "opioid dependence": 20.0}),
    "alcohol dependence": (0.01, {"at risk": 6.0, "woman": 0.5}),
    "nicotine dependence": (0.002, {"smoker": 60.0}),
    "liver cirrhosis": (0.0008, {"alcohol dependence": 40.0, "hepatitis C": 30.0}),
    "depression": (0.04, {"woman": 1.6, "alcohol dependence": 3.0, "opioid dependence": 3.0}),
    "bipolar disorder": (0.004, {"at risk": 2.0}),
    "schizophrenia": (0.003, {"at risk": 3.0}),
    "panic disorder": (0.01, {"woman": 1.6, "depression": 3.0}),
    "post-traumatic stress disorder": (0.006, {"at risk": 5.0, "depression": 3.0}),
    "migraine": (0.03, {"woman": 2.5, "old": 0.5}),
    "epilepsy": (0.007, {}),
    "multiple sclerosis": (0.001, {"woman": 2.5}),
    "dementia": (0.0005, {"old": 60.0}),
    "nerve damage in the feet": (0.001, {"type 2 diabetes": 60.0, "alcohol dependence": 30.0}),
    "osteoarthritis": (0.02, {"old": 5.0, "obesity": 2.0}),
    "rheumatoid arthritis": (0.005, {"woman": 2.5, "smoker": 1.5}),
    "osteoporosis": (0.004, {"old": 6.0, "woman": 3.0}),
    "hip fracture": (0.0005, {"old": 6.0, "osteoporosis": 12.0}),
    "slipped disc": (0.012, {"sedentary": 1.8}),
    "acid reflux": (0.04, {"obesity": 2.0}),
    "stomach ulcer": (0.006, {"smoker": 2.5}),
    "irritable bowel syndrome": (0.02, {"woman": 1.8, "panic disorder": 2.5}),
    "gallstones": (0.008, {"woman": 2.0, "obesity": 2.5}),
    "chronic kidney disease": (0.003, {"old": 3.0, "type 2 diabetes": 4.0, "hypertension": 2.5}),
    "kidney stones": (0.008, {"gout": 4.0}),
    "enlarged prostate": (0.006, {"old": 15.0, "woman": 0.0}),
    "eczema": (0.03, {"asthma": 2.5}),
    "psoriasis": (0.015, {"rheumatoid arthritis": 2.0}),
    "shingles": (0.005, {"old": 3.0, "HIV infection": 5.0}),
    "breast cancer": (0.004, {"man": 0.02, "old": 3.0}),
    "lung cancer": (0.0006, {"smoker": 15.0, "old": 3.0}),
    "bowel cancer": (0.0015, {"old": 4.0}),
    "skin cancer": (0.003, {"old": 3.0}),
}

# What a condition brings: chance of each drug and symptom.
BRINGS: dict[str, dict[str, float]] = {
    "obesity": {"weight gain": 0.4, "fatigue": 0.15},
    "hypertension": {"ACE inhibitor": 0.6, "diuretic": 0.3, "beta blocker": 0.2, "dizziness": 0.1},
    "high cholesterol": {"statin": 0.7},
    "type 2 diabetes": {"metformin": 0.75, "insulin": 0.2, "thirst": 0.2},
    "type 1 diabetes": {"insulin": 0.97, "thirst": 0.3, "weight loss": 0.15},
    "pregnancy": {"folic acid": 0.7, "nausea": 0.5, "fatigue": 0.2},
    "gestational diabetes": {"insulin": 0.3, "thirst": 0.2},
    "hypothyroidism": {"thyroid hormone": 0.9, "fatigue": 0.3, "weight gain": 0.2},
    "hyperthyroidism": {"palpitations": 0.4, "weight loss": 0.3, "restlessness": 0.3},
    "gout": {"allopurinol": 0.6, "joint pain": 0.6},
    "angina pectoris": {"nitroglycerin": 0.6, "aspirin": 0.6, "chest pain": 0.7},
    "heart attack": {"beta blocker": 0.7, "aspirin": 0.8, "statin": 0.7, "chest pain": 0.6},
    "heart failure": {"diuretic": 0.8, "swollen legs": 0.5, "shortness of breath": 0.6},
    "atrial fibrillation": {"warfarin": 0.7, "beta blocker": 0.5, "palpitations": 0.6},
    "stroke": {"aspirin": 0.7, "numbness": 0.4, "dizziness": 0.3},
    "venous thrombosis": {"warfarin": 0.7, "swollen legs": 0.6},
    "asthma": {"inhaled salbutamol": 0.8, "inhaled steroid": 0.5, "wheezing": 0.5},
    "chronic bronchitis": {"cough": 0.8, "inhaled salbutamol": 0.5, "amoxicillin": 0.2},
    "emphysema": {"shortness of breath": 0.8, "inhaled steroid": 0.5},
    "pneumonia": {"amoxicillin": 0.6, "doxycycline": 0.2, "fever": 0.7, "cough": 0.7},
    "sleep apnea": {"fatigue": 0.5, "headache": 0.15},
    "influenza": {"fever": 0.8, "paracetamol": 0.5, "fatigue": 0.4, "sick note": 0.5},
    "common cold": {"cough": 0.5, "headache": 0.3, "ibuprofen": 0.2, "sick note": 0.3},
    "urinary tract infection": {"amoxicillin": 0.4, "frequent urination": 0.6, "fever": 0.2},
    "HIV infection": {"antiretroviral drug": 0.9, "night sweats": 0.2, "weight loss": 0.2},
    "tuberculosis": {"cough": 0.8, "night sweats": 0.5, "weight loss": 0.5},
    "syphilis": {"doxycycline": 0.5, "skin rash": 0.5},
    "chlamydia": {"doxycycline": 0.8},
    "hepatitis B": {"antiviral for hepatitis": 0.5, "fatigue": 0.4},
    "hepatitis C": {"antiviral for hepatitis": 0.7, "fatigue": 0.4},
    "opioid dependence": {"methadone": 0.6, "restlessness": 0.3, "insomnia": 0.3},
    "alcohol dependence": {"insomnia": 0.3, "low mood": 0.2, "sedative": 0.2},
    "nicotine dependence": {"nicotine patch": 0.4, "cough": 0.2},
    "liver cirrhosis": {"diuretic": 0.4, "fatigue": 0.4, "weight loss": 0.3},
    "depression": {"antidepressant": 0.7, "low mood": 0.7, "insomnia": 0.4},
    "bipolar disorder": {"lithium": 0.6, "antipsychotic": 0.3, "low mood": 0.4},
    "schizophrenia": {"antipsychotic": 0.9, "restlessness": 0.3},
    "panic disorder": {"antidepressant": 0.4, "sedative": 0.3, "palpitations": 0.4},
    "post-traumatic stress disorder": {"antidepressant": 0.5, "insomnia": 0.6},
    "migraine": {"triptan": 0.6, "headache": 0.8, "nausea": 0.3},
    "epilepsy": {"antiepileptic": 0.9},
    "multiple sclerosis": {"numbness": 0.6, "fatigue": 0.5, "cortisone": 0.4},
    "dementia": {"forgetfulness": 0.9, "restlessness": 0.2},
    "nerve damage in the feet": {"numbness": 0.8, "antiepileptic": 0.3},
    "osteoarthritis": {"joint pain": 0.8, "ibuprofen": 0.5, "codeine": 0.1},
    "rheumatoid arthritis": {"joint pain": 0.8, "methotrexate": 0.6, "cortisone": 0.4},
    "osteoporosis": {"bisphosphonate": 0.6},
    "hip fracture": {"morphine": 0.6},
    "slipped disc": {"back pain": 0.9, "ibuprofen": 0.5, "codeine": 0.2, "numbness": 0.2},
    "acid reflux": {"stomach acid blocker": 0.7, "chest pain": 0.1},
    "stomach ulcer": {"stomach acid blocker": 0.8, "stomach ache": 0.7},
    "irritable bowel syndrome": {"diarrhea": 0.6, "stomach ache": 0.6},
    "gallstones": {"stomach ache": 0.7, "nausea": 0.3},
    "chronic kidney disease": {"ACE inhibitor": 0.4, "swollen legs": 0.3, "fatigue": 0.3},
    "kidney stones": {"back pain": 0.5, "morphine": 0.2},
    "enlarged prostate": {"frequent urination": 0.7},
    "eczema": {"skin rash": 0.8, "cortisone": 0.5},
    "psoriasis": {"skin rash": 0.7, "methotrexate": 0.15},
    "shingles": {"skin rash": 0.8, "antiepileptic": 0.1},
    "breast cancer": {"chemotherapy": 0.5},
    "lung cancer": {"chemotherapy": 0.6, "cough": 0.6, "weight loss": 0.5, "morphine": 0.3},
    "bowel cancer": {"chemotherapy": 0.5, "weight loss": 0.4, "diarrhea": 0.3},
}

# What people have without any of the conditions, and by which trait it changes.
EVERYDAY: dict[str, tuple[float, dict[str, float]]] = {
    "headache": (0.08, {}),
    "back pain": (0.09, {"sedentary": 1.8}),
    "cough": (0.05, {"smoker": 2.5}),
    "fatigue": (0.06, {}),
    "insomnia": (0.05, {"old": 1.8}),
    "dizziness": (0.03, {"old": 2.0}),
    "stomach ache": (0.04, {}),
    "joint pain": (0.03, {"old": 2.5}),
    "nausea": (0.02, {}),
    "diarrhea": (0.03, {}),
    "paracetamol": (0.1, {}),
    "ibuprofen": (0.1, {}),
    "contraceptive": (0.28, {"man": 0.0, "old": 0.0}),
    "aspirin": (0.02, {"old": 4.0}),
    "vaccination": (0.15, {"old": 1.6}),
    "sick note": (0.06, {"old": 0.2}),
    "routine check-up": (0.2, {"old": 1.6}),
}

# How often the general name is written instead of the precise one below it.
VAGUE = {
    "diabetes": 0.25,
    "thyroid disorder": 0.2,
    "arthritis": 0.3,
    "anxiety disorder": 0.25,
    "viral hepatitis": 0.2,
    "antibiotic": 0.4,
    "opioid": 0.25,
    "coronary heart disease": 0.3,
}

SENSITIVE = (
    "HIV infection",
    "alcohol dependence",
    "bipolar disorder",
    "chlamydia",
    "depression",
    "hepatitis B",
    "hepatitis C",
    "opioid dependence",
    "post-traumatic stress disorder",
    "schizophrenia",
    "syphilis",
    "viral hepatitis",
)
