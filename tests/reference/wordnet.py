"""WordNet's nouns read line by line into dictionaries, as its manual (wndb, morphy) describes."""

ENDINGS = [
    ("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"),
    ("men", "man"), ("ies", "y"), ("ves", "f"),
]  # fmt: skip


def synsets(folder):
    """Return offset → (words, first hypernym or None)."""
    found = {}
    for line in (folder / "data.noun").read_text(encoding="latin-1").splitlines():
        if line.startswith(" "):
            continue
        fields = line.partition(" | ")[0].split()
        n_words = int(fields[3], 16)
        words = fields[4 : 4 + 2 * n_words : 2]
        rest = fields[4 + 2 * n_words :]
        pointers = [rest[1 + 4 * i : 5 + 4 * i] for i in range(int(rest[0]))]
        above = [target for kind, target, _, _ in pointers if kind in {"@", "@i"}]
        found[fields[0]] = (words, above[0] if above else None)
    return found


def senses(folder):
    """Return lemma → offsets, most frequent first."""
    found = {}
    for line in (folder / "index.noun").read_text(encoding="latin-1").splitlines():
        if not line.startswith(" "):
            fields = line.split()
            found[fields[0]] = fields[-int(fields[2]) :]
    return found


def exceptions(folder):
    """Return irregular plural → singulars; four forms stand in two lines."""
    found = {}
    for line in (folder / "noun.exc").read_text(encoding="latin-1").splitlines():
        form, *bases = line.split()
        known = found.setdefault(form, [])
        known += [base for base in dict.fromkeys(bases) if base not in known]
    return found


def way(parents, node):
    """Return a node and everything above it."""
    found = [node]
    while parents[found[-1]] is not None:
        found.append(parents[found[-1]])
    return found


def wu_palmer(parents, a, b):
    up, other = way(parents, a), way(parents, b)
    shared = next(node for node in up if node in other)
    return 2 * len(way(parents, shared)) / (len(up) + len(other))


def path_similarity(parents, a, b):
    up, other = way(parents, a), way(parents, b)
    shared = next(node for node in up if node in other)
    return 1 / (1 + up.index(shared) + other.index(shared))
