"""A small release of every form, made from records whose marked items must never be published."""

import numpy as np

from setveil import Taxonomy, TransactionTable
from setveil.anonymize import SecretSharing
from setveil.release import (
    ItemChannel,
    Plan,
    deal,
    publish_disassociated,
    publish_encoded,
    publish_grouped,
    publish_groups,
    publish_perturbed,
    publish_recoded,
    publish_sets,
    publish_suppressed,
)
from setveil.release.split import SplitRelease

HIDDEN = "ZQ-marker"
"""How the names of the items begin that no form below publishes."""

ROWS = [
    ["asthma", "flu", f"{HIDDEN}-1"],
    ["asthma", "flu"],
    ["asthma", "gout", f"{HIDDEN}-2"],
    ["flu", "gout"],
    ["bronchitis", "flu"],
    ["bronchitis", f"{HIDDEN}-1"],
    [f"{HIDDEN}-2"],
    ["asthma", '=1+1, "quoted"'],
]
TABLE = TransactionTable.from_rows(ROWS)
PLAIN = TransactionTable.from_rows(
    [[item for item in row if not item.startswith(HIDDEN)] or ["flu"] for row in ROWS]
)
TREE = Taxonomy.from_parents(
    {
        "asthma": "lungs", "bronchitis": "lungs", f"{HIDDEN}-1": "lungs", "flu": "infections",
        "gout": "joints", f"{HIDDEN}-2": "joints", '=1+1, "quoted"': "joints",
        "lungs": "all", "infections": "all", "joints": "all",
    }
)  # fmt: skip


def _kept(table):
    return np.array([not name.startswith(HIDDEN) for name in table.vocabulary.names])


def _recoded(*, hide):
    image = {"asthma": "lungs", "bronchitis": "lungs", f"{HIDDEN}-1": "lungs", "flu": "flu"}
    image |= {} if hide else {"gout": "joints", f"{HIDDEN}-2": "joints", '=1+1, "quoted"': "joints"}
    names = TABLE.vocabulary.names
    return publish_recoded(TREE, TABLE, [TREE.node(image[n]) if n in image else -1 for n in names])


def _groups():
    nodes = [TREE.node("lungs"), TREE.node("flu"), TREE.node("all")]
    return publish_groups(
        TREE,
        group_offsets=[0, 2, 3],
        group_nodes=nodes,
        group_of=[0, 0, 1, 1, 0, 1, 1, 1],
        hides=True,
    )


def _sets():
    group = {"asthma": 0, "bronchitis": 0, "flu": 1, "gout": 2, '=1+1, "quoted"': 3}
    return publish_sets(TABLE, [group.get(name, -1) for name in TABLE.vocabulary.names])


def _encoded():
    tags = {name: f"tag{place}" for place, name in enumerate(TABLE.vocabulary.names)}
    tags["flu"] = "flu"
    return publish_encoded(TABLE, tags, readable={"flu"})


def _chunks(*, joint=False):
    place = {name: number for number, name in enumerate(PLAIN.vocabulary.names)}
    asthma, flu, gout, bronchitis = (
        place[name] for name in ("asthma", "flu", "gout", "bronchitis")
    )
    first = (asthma,) if joint else (asthma, flu)
    second = ((bronchitis,),) if joint else ((flu,), (bronchitis,))
    plans = [
        Plan(records=[0, 1, 2, 3], domains=(first,), terms=(gout,)),
        Plan(records=[4, 5, 6, 7], domains=second, terms=(asthma, place['=1+1, "quoted"'])),
    ]
    return publish_disassociated(PLAIN, plans, joints=[(0, 2, (flu,))] if joint else [])


def _split():
    plain = publish_suppressed(PLAIN, _kept(PLAIN))[0]
    return SplitRelease(vocabulary=plain.vocabulary, offsets=plain.offsets, items=plain.items)


def _shared():
    return SecretSharing(k=3).anonymize(TABLE, secret=b"only for this test").release


def _grouped(*, whole=False):
    return publish_grouped(PLAIN, [0, 0, 0, 0, 1, 1, 1, 1], ["gout", "bronchitis"], whole=whole)


def releases():
    """Return a release of every form, by a name for the test."""
    channel = ItemChannel(beta="1/10", domain=9)
    sizes = ItemChannel(beta="1/10", domain=9, sizes=("1/10", "2/10", "7/10"))
    hidden = publish_suppressed(TABLE, np.zeros(TABLE.n_items, dtype=bool))[0]
    return {
        "suppressed": publish_suppressed(TABLE, _kept(TABLE))[0],
        "all-suppressed": hidden,
        "recoded": _recoded(hide=True)[0],
        "generalized": _recoded(hide=False)[0],
        "hiding": _groups()[0],
        "sets": _sets()[0],
        "encoded": _encoded()[0],
        "shared": _shared(),
        "split": _split(),
        "perturbed": publish_perturbed(PLAIN, channel)[0],
        "sized": publish_perturbed(PLAIN, sizes)[0],
        "disassociated": _chunks()[0],
        "joint": _chunks(joint=True)[0],
        "grouped": _grouped()[0],
        "grouped-parts": _grouped(whole=True)[0],
        "dealt": deal(_grouped(whole=True)[0]),
    }
