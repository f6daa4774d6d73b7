"""How a counter on the web is asked: a TOML file with a URL, a place in its answer, and manners."""

from __future__ import annotations

import dataclasses
import math
import os
import re
import string
import urllib.parse
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setveil.core.errors import InputError, ParameterError
from setveil.core.files import shown_name
from setveil.core.untrusted import read_settings

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_STEP = re.compile(r"\.?([^.\[\]]+)|\[(-?\d{1,9})\]")
_ENVIRONMENT = re.compile(r"\$\{(\w+)\}")
_HEADER_NAME = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)
_HEADER_VALUE = re.compile(r"[\t -~\xa0-\xff]*")
_ADDRESS = re.compile(r"[!-~]+")
_DAY = 86_400.0
_DIGITS = 19
"""Digits of the largest count that is kept."""


@dataclass(frozen=True, kw_only=True)
class WebConfig:
    r"""What to ask, where the count stands in the answer, and how politely to ask.

    Parameters
    ----------
    url
        Address with ``{query}`` where the query goes, as in ``https://a.org/search?q={query}``.
        No message shows it, as a key may stand in it.
    count
        Where the number stands in the JSON of an answer: names joined by dots, places of lists in
        brackets, as in ``hits.total`` or ``results[0].count``.
    total
        How many pages the counter covers; must exceed every count.
    term, pair
        How a query for one term ``{a}`` and for two terms ``{a}`` and ``{b}`` is written.
    rate
        Most requests in a second.
    retries
        How often a request that failed is made again, after 1, 2, 4 … seconds or as long as the
        server asks for.
    timeout
        Seconds after which a request has failed.
    most_requests
        Refuse, before any is made, what needs more requests than this.
    cache
        File that keeps every answer; beside the configuration if relative, and in the user's
        cache directory if not given.
    headers
        Sent with each request; ``${NAME}`` is replaced from the environment, so that keys need
        not stand in the file.

    Examples
    --------
    >>> config = WebConfig(url="https://a.org/?q={query}", count="hits.total", total=10**9)
    >>> config.query("flu", "gout"), config.address(config.query("high fever"))
    ('"flu" "gout"', 'https://a.org/?q=%22high+fever%22')
    """

    url: str
    count: str
    total: int
    term: str = '"{a}"'
    pair: str = '"{a}" "{b}"'
    rate: float = 1.0
    retries: int = 4
    timeout: float = 20.0
    most_requests: int = 5_000
    cache: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, holes in (("url", {"query"}), ("term", {"a"}), ("pair", {"a", "b"})):
            _check_holes(name, getattr(self, name), holes)
        _check_address(self.url)
        steps_of(self.count)
        if not _is_number(self.total, int) or not 2 <= self.total < 2**63:
            raise ParameterError(
                f"total = {self.total!r} is not a number of pages",
                fix="say how many pages the counter covers, such as 10000000000",
            )
        _check_seconds("rate", self.rate, 1 / _DAY, math.inf, "once a day at least")
        _check_seconds("timeout", self.timeout, 0, _DAY, "a day at most")
        for name, floor in (("retries", 0), ("most_requests", 1)):
            value = getattr(self, name)
            if not _is_number(value, int) or value < floor:
                raise ParameterError(
                    f"{name} = {value!r} is not a whole number of {floor} or more",
                    fix=f"correct {name}",
                )
        if self.cache is not None and not isinstance(self.cache, str):
            raise ParameterError(f"cache = {self.cache!r} is no path", fix="write it in quotes")
        pairs = self.headers.items() if isinstance(self.headers, dict) else [(0, 0)]
        if not all(isinstance(k, str) and isinstance(v, str) for k, v in pairs):
            raise ParameterError(
                "headers are not texts", fix='write a table [headers] of lines such as Key = "x"'
            )
        for name, value in self.headers.items():
            _check_header(name, value)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> WebConfig:
        r"""Read a TOML file with these parameters.

        Examples
        --------
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = Path(folder, "web.toml")
        ...     _ = file.write_text('url = "https://a.org/?q={query}"\ncount = "n"\n')
        ...     try: WebConfig.read(file)
        ...     except InputError as error: print(error.what)
        there is no total in it
        """
        where = shown_name(path)
        fix = "see docs/relatedness.md for an example"
        try:
            content = read_settings(path)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot be read: {reason}", where=where, fix=fix) from None
        names = {f.name: f for f in dataclasses.fields(cls)}
        strange = sorted(set(content) - set(names))
        if strange:
            raise InputError(
                f"{strange[0]!r} is no setting", where=where, fix=f"use {', '.join(names)}"
            )
        for name in ("url", "count", "total"):
            if name not in content:
                raise InputError(f"there is no {name} in it", where=where, fix=fix)
        if isinstance(content.get("cache"), str):
            content["cache"] = str(Path(path).parent / content["cache"])
        try:
            return cls(**content)
        except ParameterError as error:
            raise InputError(error.what, where=where, fix=error.fix) from None

    def query(self, a: str, b: str | None = None) -> str:
        """Return what is asked for one term, or for two together.

        >>> WebConfig(url="https://a.org/{query}", count="n", total=9).query('5" screen')
        '"5  screen"'
        """
        # A quotation mark inside a term would end the quotation around it.
        first, second = (each.replace('"', " ") for each in (a, b or ""))
        return self.term.format(a=first) if b is None else self.pair.format(a=first, b=second)

    def address(self, query: str) -> str:
        """Return the URL that asks a query."""
        return self.url.format(query=urllib.parse.quote_plus(query))

    def sent_headers(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """Return the headers with what stands in the environment filled in.

        >>> config = WebConfig(url="https://a.org/?q={query}", count="n", total=9,
        ...                    headers={"Key": "${SECRET}"})
        >>> config.sent_headers({"SECRET": "s"})["Key"]
        's'
        """
        sent = {"User-Agent": "setveil", "Accept": "application/json"}
        for name, value in self.headers.items():
            from_environment = _ENVIRONMENT.findall(value)
            for wanted in from_environment:
                if wanted not in environment:
                    raise ParameterError(
                        f"the header {name} needs ${{{wanted}}}, which is not in the environment",
                        fix=f"set it: export {wanted}=...",
                    )
            sent[name] = _ENVIRONMENT.sub(lambda found: environment[found[1]], value)
            _check_header(name, sent[name], from_environment)
        return sent


def steps_of(path: str) -> list[str | int]:
    """Return the steps of a place in JSON.

    >>> steps_of("results[0].count")
    ['results', 0, 'count']
    """
    at, steps = 0, list[str | int]()
    while isinstance(path, str) and at < len(path):
        found = _STEP.match(path, at)
        if found is None or (at == 0 and path.startswith(".")):
            break
        steps.append(found[1] if found[1] is not None else int(found[2]))
        at = found.end()
    if not steps or at < len(path):
        raise ParameterError(
            f"count = {path!r} is no place in an answer",
            fix="join names by dots, with [0] for the first of a list, such as hits.total",
        )
    return steps


def count_in(answer: Any, steps: list[str | int]) -> int | None:  # noqa: ANN401  (any JSON)
    """Return the count that stands at a place of an answer; None if there is none.

    Some counters write numbers as texts, with or without commas.

    >>> count_in({"results": [{"count": "1,200"}]}, ["results", 0, "count"])
    1200
    """
    for step in steps:
        try:
            answer = answer[step]
        except (LookupError, TypeError):
            return None
    if isinstance(answer, str) and re.fullmatch(r"\d[\d,]*", answer.strip()):
        digits = answer.replace(",", "").strip()
        return int(digits) if len(digits) <= _DIGITS else None
    if isinstance(answer, float) and answer.is_integer():
        return int(answer) if answer >= 0 else None
    whole = isinstance(answer, int) and not isinstance(answer, bool) and answer >= 0
    return answer if whole else None


def _is_number(value: object, *kinds: type) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)


def _check_seconds(name: str, value: float, least: float, most: float, limit: str) -> None:
    if not _is_number(value, int, float) or not 0 < value < math.inf:
        raise ParameterError(f"{name} = {value!r} is not above 0", fix=f"correct {name}")
    if not least <= value <= most:
        raise ParameterError(f"{name} = {value!r} is not {limit}", fix=f"correct {name}")


def _check_holes(name: str, text: object, holes: set[str]) -> None:
    """See that a template has the holes it needs and no others."""
    wanted = " and ".join(f"{{{hole}}}" for hole in sorted(holes))
    try:
        found = [
            (hole, kind, conversion)
            for _, hole, kind, conversion in string.Formatter().parse(str(text))
            if hole is not None
        ]
    except ValueError:
        found = []
    if not isinstance(text, str) or set(found) != {(hole, "", None) for hole in holes}:
        raise ParameterError(
            f"{name} should hold {wanted} and no other braces",
            fix=f"write {wanted} where it goes",
        )


def _check_address(url: str) -> None:
    """See that requests can be made to an address; it is never shown, as a key may stand in it."""
    if not _ADDRESS.fullmatch(url):
        raise ParameterError(
            "url holds other characters than an address may: blanks, or others than ASCII",
            fix="write them as %XX (a blank is %20), and a host's name in its xn-- form",
        )
    try:
        parts = urllib.parse.urlsplit(url)
        host = (parts.hostname or "").encode("idna")
        usable = parts.scheme in {"http", "https"} and host and b"{" not in host
        parts.port  # noqa: B018  (raises where it is none)
    except ValueError:
        usable = False
    if not usable:
        raise ParameterError("url is no address on the web", fix="write it as https://host/path")
    if "@" in parts.netloc:
        raise ParameterError(
            "url holds a name or a password before its host",
            fix="send it as a header: Authorization",
        )


def _check_header(name: str, value: str, variables: Sequence[str] = ()) -> None:
    """See that a header can be sent; its value is never shown, as it may be a key."""
    if not _HEADER_NAME.fullmatch(name):
        raise ParameterError(
            f"{name!r} is no name of a header", fix="use letters, digits and hyphens"
        )
    if not _HEADER_VALUE.fullmatch(value):
        places = f" in {' and '.join(variables)}" if variables else ""
        raise ParameterError(
            f"the header {name} holds characters that no header may",
            fix=f"take line ends and others than Latin-1 out of its value{places}",
        )
