"""The patients that the lecture's examples are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

JOBS = {
    "Engineer": "Professional",
    "Lawyer": "Professional",
    "Dancer": "Artist",
    "Writer": "Artist",
    "Professional": "ANY Job",
    "Artist": "ANY Job",
}
"""What stands above each job."""

SEXES = {"Male": "ANY Sex", "Female": "ANY Sex"}
"""What stands above each sex."""


def patients() -> pl.DataFrame:
    """Return the seven patients.

    >>> patients().rows()[0]
    ('Engineer', 'Male', 35, 'Hepatitis')
    """
    import polars as pl

    return pl.DataFrame(
        [
            ("Engineer", "Male", 35, "Hepatitis"),
            ("Engineer", "Male", 38, "Hepatitis"),
            ("Lawyer", "Male", 38, "HIV"),
            ("Writer", "Female", 30, "Flu"),
            ("Writer", "Female", 30, "HIV"),
            ("Dancer", "Female", 30, "HIV"),
            ("Dancer", "Female", 30, "HIV"),
        ],
        schema=["Job", "Sex", "Age", "Disease"],
        orient="row",
    )
