"""Counts from a search engine or another counter over HTTP: asked politely, each answer kept.

Nothing is asked unless the user names a configuration. Whoever runs the counter sees the terms.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import os
import re
import sqlite3
import string
import time
import urllib.error
import urllib.parse
import urllib.request
from contextlib import closing
from dataclasses import dataclass, field
from functools import cached_property
from http.client import HTTPException, InvalidURL, responses
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from setveil.core.errors import InputError, ParameterError
from setveil.core.files import shown_name, user_cache
from setveil.core.params import is_whole
from setveil.core.registry import register
from setveil.core.untrusted import read_settings
from setveil.relatedness.base import IntArray, place_of
from setveil.relatedness.cooccurrence import NGD

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from http.client import HTTPMessage

    from setveil.release.base import Release


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
    whole = is_whole(answer, 0)
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


AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request may succeed later."""
AWAY = frozenset({301, 302, 303, 307, 308})
"""Answers that lead to another address."""
LARGEST = 1 << 24
"""Bytes of an answer that are read at most."""
PORTS = {"http": 80, "https": 443}
"""Ports where an address names none."""
LONGEST_WAIT = 300.0
"""Seconds that a server may ask us to wait; beyond that the run is better ended."""


@dataclass(frozen=True, kw_only=True, eq=False)
class WebCounts:
    """Counts of pages that hold one term or two, from a counter on the web.

    Answers are kept in a small database as they come: what was asked once is not asked again,
    and a run that was broken off goes on where it was. Two terms are asked in one order only.

    Parameters
    ----------
    config
        What to ask, and how.
    sleep, clock
        How time passes; tests have their own.

    Examples
    --------
    >>> config = WebConfig(url="https://a.org/?q={query}", count="n", total=10, most_requests=1)
    >>> WebCounts(config=config).counts(["flu", "gout"])
    Traceback (most recent call last):
    setveil.core.errors.ParameterError: this needs 2 requests to a.org, and most_requests is 1. \
To ...
    """

    config: WebConfig
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)
    clock: Callable[[], float] = field(default=time.monotonic, repr=False)
    _next: list[float] = field(default_factory=lambda: [0.0], init=False, repr=False)

    @property
    def total(self) -> int:
        """Number of pages that the counter covers, as the configuration says."""
        return self.config.total

    def counts(self, terms: Sequence[str]) -> IntArray:
        """Return for each term how many pages hold it; 0 for an unknown one."""
        queries = {term: self.config.query(term) for term in terms if term.strip()}
        found = self._ask(queries.values())
        counts = np.array(
            [found[queries[term]] if term in queries else 0 for term in terms], dtype=np.int64
        )
        if np.any(counts >= self.total):
            worst = int(np.argmax(counts))
            raise InputError(
                f"{terms[worst]!r} is on {counts[worst]:,} pages, and total is {self.total:,}",
                where=self._host,
                fix="raise total in the configuration: it must exceed every count",
            )
        return counts

    def pair_counts(self, rows: Sequence[str], columns: Sequence[str]) -> IntArray:
        """Return for each row term and column term how many pages hold both.

        A term with itself counts as the term; a pair with a term that is on no page is not asked.
        """
        terms = list(dict.fromkeys([*rows, *columns]))
        alone = dict(zip(terms, self.counts(terms).tolist(), strict=True))
        queries = {
            (a, b): self.config.query(min(a, b), max(a, b))
            for a in rows
            for b in columns
            if a != b and alone[a] and alone[b]
        }
        found = self._ask(queries.values())
        counts = [
            [alone[a] if a == b else found[queries[a, b]] if (a, b) in queries else 0
             for b in columns]
            for a in rows
        ]  # fmt: skip
        return np.array(counts, dtype=np.int64).reshape(len(rows), len(columns))

    def fingerprint(self) -> str:
        """Return a hash of what is asked and where; a counter's answers may change with time."""
        asked = (self.config.url, self.config.count, self.config.term, self.config.pair, self.total)
        return hashlib.blake2b(json.dumps(asked).encode(), digest_size=16).hexdigest()

    # --- asking -------------------------------------------------------------------------------

    def _ask(self, queries: Iterable[str]) -> dict[str, int]:
        """Return the counts of all queries, from the database where it has them."""
        wanted = list(dict.fromkeys(queries))
        source = self.fingerprint()
        found = {}
        try:
            with closing(self._open()) as kept:
                for query in wanted:
                    row = kept.execute(
                        "SELECT pages FROM counts WHERE source = ? AND query = ?", (source, query)
                    ).fetchone()
                    if row is not None and isinstance(row[0], int) and row[0] >= 0:
                        found[query] = row[0]
                missing = [query for query in wanted if query not in found]
                self._check_number(len(missing))
                for query in missing:
                    found[query] = self._fetch(self.config.address(query))
                    with kept:
                        kept.execute(
                            "INSERT OR REPLACE INTO counts VALUES (?, ?, ?)",
                            (source, query, found[query]),
                        )
        except (OSError, sqlite3.Error) as error:
            raise InputError(
                f"the answers cannot be kept here: {error}",
                where=str(self._cache),
                fix="name another file as cache in the configuration",
            ) from None
        return found

    def _check_number(self, requests: int) -> None:
        if requests > self.config.most_requests:
            hours = requests / self.config.rate / 3600
            raise ParameterError(
                f"this needs {requests:,} requests to {self._host}, and most_requests is "
                f"{self.config.most_requests:,}",
                fix=f"ask for fewer terms, or raise it (about {hours:.1f} hours at this rate)",
            )

    @property
    def _cache(self) -> Path:
        return Path(self.config.cache or user_cache() / f"web-{self.fingerprint()}.sqlite")

    def _open(self) -> sqlite3.Connection:
        self._cache.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = sqlite3.connect(self._cache, timeout=30)
        # Queries and not addresses: a key may stand in an address.
        kept.execute(
            "CREATE TABLE IF NOT EXISTS counts "
            "(source TEXT, query TEXT, pages INTEGER, PRIMARY KEY (source, query))"
        )
        return kept

    def _fetch(self, address: str) -> int:
        """Return the count that the server gives, after as many tries as are allowed."""
        wait, tries = 1.0, self.config.retries + 1
        for attempt in range(tries):
            self._take_turn()
            try:
                content = self._read(address)
            except urllib.error.HTTPError as error:
                # Not in the words of the error: those of a redirect hold an address.
                reason = f"the answer is {error.code} {responses.get(error.code, '')}".rstrip()
                asked_for = _seconds(error.headers.get("Retry-After"))
                error.close()
                if error.code in AWAY:
                    raise self._failure(
                        f"{reason}, and where it leads is not followed",
                        "name the address that it leads to as url",
                    ) from None
                if error.code not in AGAIN:
                    raise self._failure(reason, "check url and headers") from None
            except (ValueError, OverflowError, InvalidURL):
                # Their words hold the address or a header.
                raise self._failure(
                    "the address cannot be asked", "check url and headers"
                ) from None
            except (OSError, HTTPException) as error:  # no connection, a time-out, a broken answer
                reason = f"there is no answer: {getattr(error, 'reason', None) or error}"
                asked_for = None
            else:
                return self._count(content)
            if attempt + 1 < tries:
                self.sleep(min(max(wait, asked_for or 0), LONGEST_WAIT))
                wait *= 2
        raise self._failure(f"{reason} ({tries} tries)", "try again later: answers so far are kept")

    def _take_turn(self) -> None:
        """Wait until the next request may be made."""
        now = self.clock()
        if now < self._next[0]:
            self.sleep(self._next[0] - now)
            now = self._next[0]
        self._next[0] = now + 1 / self.config.rate

    def _read(self, address: str) -> bytes:
        request = urllib.request.Request(address, headers=self._headers)  # noqa: S310  (http only: checked)
        with _OPENER.open(request, timeout=self.config.timeout) as answer:
            content: bytes = answer.read(LARGEST)
        return content

    def _count(self, content: bytes) -> int:
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            raise self._failure("the answer is not JSON", "check url") from None
        count = count_in(answer, steps_of(self.config.count))
        if count is None or count >= 2**63:
            raise self._failure(f"the answer holds no count at {self.config.count}", "check count")
        return count

    @cached_property
    def _headers(self) -> dict[str, str]:
        return self.config.sent_headers()

    @property
    def _host(self) -> str:
        # Never the whole address in a message: a key may stand in it.
        return urllib.parse.urlsplit(self.config.url).netloc.rpartition("@")[2]

    def _failure(self, what: str, fix: str) -> InputError:
        return InputError(what, where=self._host, fix=fix)


def same_server(asked: str, told: str) -> bool:
    """Tell whether an address is on the server that was asked, and as safe from listeners.

    >>> same_server("http://a.org/x", "https://a.org/y"), same_server("http://a.org", "http://b.org")
    (True, False)
    """
    try:
        one = urllib.parse.urlsplit(asked)
        other = urllib.parse.urlsplit(urllib.parse.urljoin(asked, told))
        ports = one.port or PORTS[one.scheme], other.port or PORTS[other.scheme]
    except (ValueError, KeyError):
        return False
    safer = (one.scheme, other.scheme) == ("http", "https")
    same = one.scheme == other.scheme and ports[0] == ports[1]
    return one.hostname == other.hostname and (same or safer)


class _SameServer(urllib.request.HTTPRedirectHandler):
    """Goes where an answer leads only on the same server: terms and keys are for no other."""

    def http_error_302(
        self,
        req: urllib.request.Request,
        fp: IO[bytes],
        code: int,
        msg: str,
        headers: HTTPMessage,
    ) -> Any:  # noqa: ANN401  (as urllib has it; None is an error with this code)
        told = headers.get("location") or headers.get("uri") or ""
        if not same_server(req.full_url, told):
            return None
        return super().http_error_302(req, fp, code, msg, headers)

    http_error_301 = http_error_303 = http_error_307 = http_error_308 = http_error_302


_OPENER = urllib.request.build_opener(_SameServer)


def _seconds(asked_for: str | None) -> float | None:
    """Return what Retry-After asks for, if it is a number of seconds.

    >>> _seconds("7"), _seconds("Wed, 21 Oct 2015 07:28:00 GMT")
    (7.0, None)
    """
    return float(asked_for) if asked_for is not None and asked_for.strip().isdecimal() else None


@register("relatedness", "web", paper="Cilibrasi & Vitányi 2007")
@dataclass(frozen=True, eq=False)
class Web(NGD):
    """Normalized distance by the counts of a search engine or another counter on the web.

    Examples
    --------
    >>> Web.from_spec("nowhere.toml")
    Traceback (most recent call last):
    setveil.core.errors.InputError: nowhere.toml: cannot be read: No such file or directory. To \
fix: ...
    """

    @classmethod
    def from_spec(cls, place: str, *, release: Release | None = None) -> Self:
        """Return the distance by the counter that a configuration describes."""
        del release
        return cls(WebCounts(config=WebConfig.read(place_of("web", place, "CONFIG"))))
