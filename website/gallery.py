"""The pictures of docs/gallery.md: ``python -m website.gallery`` draws them anew.

They come from the invented clinic with a fixed seed and from charts of the report, so that they
show what a reader would get, and anybody can repeat them.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from setveil.anonymize import Clump, Coat, Disassociate, Gather, Partition
from setveil.attack import Linkage
from setveil.audit import audit
from setveil.audit.figures import frontier
from setveil.core.charts import bars, curves, draw, stacks, standing_alone
from setveil.measure import draw_targets, ggd_share, items_exact, items_suppressed, score
from setveil.measure.uniqueness import uniqueness
from setveil.release import publish_suppressed
from setveil.synthetic import clinic
from website.pages import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable

    from setveil.release.base import Key, Release
    from setveil.synthetic import Synthetic

HOME = ROOT / "docs" / "img" / "gallery"
RECORDS = 2000
SIZES = (2, 5, 10, 25)

Spec = dict[str, Any]


def singled_out(data: Synthetic) -> Spec:
    """Draw how many records a few known items single out, before anything is done."""
    found = [(m, uniqueness(data.table, m).value) for m in (1, 2, 3, 4, 5)]
    values = [
        {"x": str(m), "y": share, "label": f"{share:.1%}" if share > 0.001 else "< 0.1%"}
        for m, share in found
    ]
    return bars(values, x_title="items somebody knows", y_title="records singled out")


def detail_lost(data: Synthetic) -> Spec:
    """Draw what three methods lose that make whole records alike."""
    tree = data.taxonomy.for_items(data.table.vocabulary.names)
    points = []
    for method in (Gather, Clump, Partition):
        for k in SIZES:
            made = method(k=k).anonymize(data.table, taxonomy=tree)
            loss = ggd_share(made.release, data.table)
            points.append({"x": k, "y": loss, "series": method.__name__, "ok": True})
    return curves(points, x_title="k", y_title="detail lost")


def what_became(data: Synthetic) -> Spec:
    """Draw what became of the items under Gather."""
    tree = data.taxonomy.for_items(data.table.vocabulary.names)
    parts = ("as it was", "more general", "left out")
    values = []
    for k in SIZES:
        release = Gather(k=k).anonymize(data.table, taxonomy=tree).release
        exact, gone = items_exact(release, data.table), items_suppressed(release, data.table)
        shares = (exact, 1 - exact - gone, gone)
        values += [
            {"row": f"k = {k}", "part": part, "share": share}
            for part, share in zip(parts, shares, strict=True)
        ]
    return stacks(values, parts=parts, x_title="items of the original")


def people_named(data: Synthetic) -> Spec:
    """Draw how often an adversary who knows the rarest items of a person names their record."""
    table = data.table
    tree = data.taxonomy.for_items(table.vocabulary.names)
    generalized = Gather(k=5).anonymize(table, taxonomy=tree)
    pieces = Disassociate(k=5, m=2).anonymize(table)
    sets = Coat(k=20, constrained=1).anonymize(table)
    releases: dict[str, tuple[Release, Key]] = {
        "published as it is": publish_suppressed(table, [True] * table.n_items),
        "COAT, k = 20": (sets.release, sets.key),
        "Disassociate, k = 5": (pieces.release, pieces.key),
        "Gather, k = 5": (generalized.release, generalized.key),
    }
    points = []
    for m in (1, 2, 3):
        targets = draw_targets(table, m=m, knowledge="rarest", sample=500)
        for name, (release, key) in releases.items():
            guess = Linkage(k=5).run(release, targets=targets, taxonomy=tree)
            named = score(guess, release=release, original=table, key=key)["named"]
            value = 0.0 if named is None else named.value
            points.append({"x": m, "y": value, "series": name, "ok": True})
    return curves(points, x_title="rarest items known", y_title="right record named")


def weighed(data: Synthetic) -> Spec:
    """Draw what releases of four kinds risk and lose, as the report and notebooks do."""
    tried = [f"{method}:k={k}" for method in ("gather", "partition") for k in SIZES]
    tried += [f"{method}:k={k},m=2" for method in ("disassociate", "apriori-km") for k in SIZES]
    with TemporaryDirectory() as out:
        found = audit(
            data.table, out=out, taxonomy=data.taxonomy, methods=tried,
            attacks=("linkage", "prior"),
            target=0.05, seed=1, workers=0,
        )  # fmt: skip
    return frontier(found, width=460, links=False)


PICTURES: dict[str, Callable[[Synthetic], Spec]] = {
    "singled-out": singled_out,
    "detail-lost": detail_lost,
    "what-became": what_became,
    "people-named": people_named,
    "weighed": weighed,
}


def write(folder: Path, *, records: int = RECORDS) -> list[Path]:
    """Draw all pictures into a folder; return their files."""
    folder.mkdir(parents=True, exist_ok=True)
    data = clinic(n=records, seed=1)
    files = []
    for name, picture in PICTURES.items():
        file = folder / f"{name}.svg"
        file.write_text(draw(standing_alone(picture(data))) + "\n", encoding="utf-8")
        files.append(file)
    return files


def main() -> None:
    """Draw the pictures of the gallery."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, default=HOME)
    parser.add_argument("--records", type=int, default=RECORDS)
    given = parser.parse_args()
    for file in write(given.out, records=given.records):
        print(file)


if __name__ == "__main__":
    main()
