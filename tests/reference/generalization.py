"""Losses of generalized records, in exact fractions and straight from the definitions."""

from fractions import Fraction

from tests.reference.worlds import all_leaves, leaves_below


def loss_metric(tree, node):
    """LM: (leaves below the node - 1) / (all leaves - 1)."""
    every = len(all_leaves(tree))
    return Fraction(len(leaves_below(tree, node)) - 1, every - 1) if every > 1 else Fraction(0)


def group_distortion(tree, published, originals):
    """GGD: LM of every published node, and 1 for every item that is published no more."""
    loss = sum(loss_metric(tree, v) for row in published for v in row)
    return loss + sum(map(len, originals)) - sum(map(len, published))


def certainty_penalty(tree, node):
    """NCP: 0 for one leaf, else leaves below the node / all leaves."""
    below = len(leaves_below(tree, node))
    return Fraction(0) if below == 1 else Fraction(below, len(all_leaves(tree)))


def mean_certainty_penalty(tree, published, originals, *, hides):
    """NCP per original item; `published` and `originals` (rows of leaves) are lined up."""
    loss = Fraction(0)
    total = 0
    for nodes, items in zip(published, originals, strict=True):
        total += len(items)
        if hides:
            loss += sum(certainty_penalty(tree, v) for v in nodes) + len(items) - len(nodes)
        else:
            for item in items:
                (image,) = [v for v in nodes if item in leaves_below(tree, v)]
                loss += certainty_penalty(tree, image)
    return loss / total if total else None
