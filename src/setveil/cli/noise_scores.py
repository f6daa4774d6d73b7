"""What the scores of attacks on randomized releases say, and what stands beside them."""

NOISE = {
    "noise_removed": "share of the wrong cells of the release that the guess has right, net",
    "precision": "share of the items that records are believed to hold that they do",
    "recall": "share of the items of the records that the guess believes",
    "f1": "harmonic mean of the two",
}
"""For guesses about which items a record holds: a cell is an item in a record."""
BESIDE_NOISE = ("alone", "published", "control")
"""Each item by itself; the release as it is; the attack where nothing goes together."""

PUBLIC_RECORDS = {
    "first": "share of the records whose original is named first among the candidates",
    "rank": "mean share of the other candidates that are ranked above the original",
    "among": "share of the attacked records whose original is among the candidates",
    "sure": "share of these that it names with a chance of 0.9 and more",
    "precision": "share of those that it names rightly",
    "sure_absent": "share of the records it is sure of although their original is not there",
}
"""For guesses about which public record a randomized one was."""
BESIDE_PUBLIC_RECORDS = ("random", "control")
"""Naming blindly; the truth exchanged between the records."""
