"""Counts from a search engine or another counter over HTTP: asked politely, each answer kept.

Nothing is asked unless the user names a configuration. Whoever runs the counter sees the terms.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
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
from setveil.core.files import user_cache
from setveil.core.registry import register
from setveil.relatedness.base import IntArray, place_of
from setveil.relatedness.cooccurrence import NGD
from setveil.relatedness.web_config import WebConfig, count_in, steps_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from http.client import HTTPMessage

    from setveil.release.base import Release

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
                    found[query] = self._fetched(self.config.address(query))
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

    def _fetched(self, address: str) -> int:
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
                    raise self._failed(
                        f"{reason}, and where it leads is not followed",
                        "name the address that it leads to as url",
                    ) from None
                if error.code not in AGAIN:
                    raise self._failed(reason, "check url and headers") from None
            except (ValueError, OverflowError, InvalidURL):
                # Their words hold the address or a header.
                raise self._failed("the address cannot be asked", "check url and headers") from None
            except (OSError, HTTPException) as error:  # no connection, a time-out, a broken answer
                reason = f"there is no answer: {getattr(error, 'reason', None) or error}"
                asked_for = None
            else:
                return self._count(content)
            if attempt + 1 < tries:
                self.sleep(min(max(wait, asked_for or 0), LONGEST_WAIT))
                wait *= 2
        raise self._failed(f"{reason} ({tries} tries)", "try again later: answers so far are kept")

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
            raise self._failed("the answer is not JSON", "check url") from None
        count = count_in(answer, steps_of(self.config.count))
        if count is None or count >= 2**63:
            raise self._failed(f"the answer holds no count at {self.config.count}", "check count")
        return count

    @cached_property
    def _headers(self) -> dict[str, str]:
        return self.config.sent_headers()

    @property
    def _host(self) -> str:
        # Never the whole address in a message: a key may stand in it.
        return urllib.parse.urlsplit(self.config.url).netloc.rpartition("@")[2]

    def _failed(self, what: str, fix: str) -> InputError:
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
