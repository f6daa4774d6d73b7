"""Noun phrases by regular expressions over a line of kinds: a twin written another way."""

import re


def phrases(words, kinds):
    """Return the phrases of a sentence; kinds are N (noun), A (adjective), L (letter) or a dot."""
    found = []
    for match in re.finditer("[NA]N|NL|N", kinds):
        phrase = " ".join(words[match.start() : match.end()])
        if phrase not in found:
            found.append(phrase)
    return found


def without_contained(items):
    """Return the items no other item holds as a run of whole words."""
    distinct = list(dict.fromkeys(items))
    return [
        item
        for item in distinct
        if not any(other != item and f" {item} " in f" {other} " for other in distinct)
    ]
