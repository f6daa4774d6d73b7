"""A counter on the web, played by a server in this process."""

import json
import sqlite3
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from setveil.core.errors import InputError, ParameterError
from setveil.relatedness import NGD, WebConfig, WebCounts, ngd, parse_relatedness
from setveil.relatedness.web import count_in, same_server, steps_of

PAGES = {
    '"flu"': 40,
    '"gout"': 10,
    '"cough" "flu"': 5,
    '"cough"': 20,
    '"flu" "gout"': 99,  # counters estimate: more than gout has alone
    '"high fever"': 3,
}


class Counter(HTTPServer):
    """Counts pages; can be told to fail first, and remembers what it was asked."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.failures: list[tuple[int, dict[str, str]]] = []
        self.body = None

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/search?q={{query}}&n=1"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        query = parse_qs(urlsplit(self.path).query)["q"][0]
        self.server.asked.append(query)
        self.server.headers.append(dict(self.headers))
        status, extra = self.server.failures.pop(0) if self.server.failures else (200, {})
        answer = {"hits": [{"total": PAGES.get(query, 0)}]}
        body = self.server.body or json.dumps(answer).encode()
        self.send_response(status)
        for name, value in extra.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@contextmanager
def running(server):
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield
    server.shutdown()
    thread.join()


@pytest.fixture
def server():
    with Counter() as made, running(made):
        yield made


class Time:
    """Time that passes only by sleeping."""

    def __init__(self):
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.now += seconds

    def clock(self):
        return self.now


@pytest.fixture
def made(server, tmp_path):
    """Return a function that makes counts with their own time, all over one cache."""

    def make(**changes):
        time = Time()
        settings = {
            "url": server.url,
            "count": "hits[0].total",
            "total": 1000,
            "cache": str(tmp_path / "answers.sqlite"),
        }
        config = WebConfig(**{**settings, **changes})
        return WebCounts(config=config, sleep=time.sleep, clock=time.clock), time

    return make


def test_counts_and_distances(made, server):
    counts, _ = made()
    assert counts.counts(["flu", "gout", "mumps", " "]).tolist() == [40, 10, 0, 0]
    assert counts.pair_counts(["flu"], ["cough", "gout", "flu", "mumps"]).tolist() == [
        [5, 99, 40, 0]
    ]
    found = NGD(counts).distances(["flu"], ["cough", "gout", "flu"])[0]
    assert found[0] == ngd(40, 20, 5, 1000)
    assert found[1] == ngd(40, 10, 10, 1000)
    assert found[2] == 0
    assert '"flu" "mumps"' not in server.asked  # of an unknown term no pair is asked


def test_every_answer_is_kept_and_asked_once(made, server):
    counts, _ = made()
    counts.pair_counts(["flu", "cough"], ["cough", "flu"])
    asked = list(server.asked)
    assert sorted(asked) == ['"cough"', '"cough" "flu"', '"flu"']  # in one order only
    again, time = made()
    assert again.pair_counts(["flu"], ["cough"]).tolist() == [[5]]
    assert server.asked == asked
    assert time.slept == []
    other, _ = made(term="{a}")  # another question has other answers
    other.counts(["flu"])
    assert server.asked[len(asked) :] == ["flu"]


def test_the_rate_is_kept(made):
    counts, time = made(rate=0.5)
    counts.counts(["flu", "gout", "mumps"])
    assert time.slept == [2.0, 2.0]


def test_a_failure_that_passes_is_tried_again(made, server):
    server.failures = [(503, {}), (429, {"Retry-After": "7"}), (500, {"Retry-After": "soon"})]
    counts, time = made(rate=1000)
    assert counts.counts(["flu"]).tolist() == [40]
    assert [round(seconds) for seconds in time.slept] == [1, 7, 4]
    assert len(server.asked) == 4


def test_a_failure_that_stays_ends_the_run_and_keeps_the_answers(made, server):
    counts, _ = made(retries=2, rate=1000)
    counts.counts(["flu"])
    server.failures = [(502, {})] * 3
    with pytest.raises(InputError, match=r"502 Bad Gateway \(3 tries\)") as caught:
        counts.counts(["flu", "gout"])
    assert "answers so far are kept" in str(caught.value)
    assert len(server.asked) == 4
    assert made()[0].counts(["flu"]).tolist() == [40]
    assert len(server.asked) == 4


def test_a_refusal_is_not_tried_again(made, server):
    server.failures = [(403, {})]
    with pytest.raises(InputError, match="403 Forbidden"):
        made()[0].counts(["flu"])
    assert len(server.asked) == 1


def test_nobody_answers(made):
    counts, time = made(url="http://127.0.0.1:1/{query}?key=secret", retries=1)
    with pytest.raises(InputError, match="no answer") as caught:
        counts.counts(["flu"])
    assert "secret" not in str(caught.value)
    assert sum(time.slept) >= 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"<html>", "not JSON"),
        (b'{"hits": []}', r"no count at hits\[0\]\.total"),
        (b'{"hits": [{"total": -1}]}', "no count"),
        (b'{"hits": [{"total": true}]}', "no count"),
        (b'{"hits": [{"total": 5000}]}', "total is 1,000"),
        (b'{"hits": [{"total": 1e30}]}', "no count"),
    ],
)
def test_answers_that_are_none(made, server, body, message):
    server.body = body
    with pytest.raises(InputError, match=message):
        made()[0].counts(["flu"])


def test_too_many_requests_are_refused_before_the_first(made, server):
    counts, _ = made(most_requests=5, rate=0.001)
    with pytest.raises(ParameterError, match="needs 6 requests") as caught:
        counts.counts([f"w{i}" for i in range(6)])
    assert "1.7 hours" in str(caught.value)
    assert server.asked == []


def test_headers_and_secrets(made, server, monkeypatch, tmp_path):
    monkeypatch.setenv("COUNTER_KEY", "hush")
    counts, _ = made(headers={"X-Key": "Bearer ${COUNTER_KEY}"})
    counts.counts(["flu"])
    assert server.headers[0]["X-Key"] == "Bearer hush"
    assert server.headers[0]["User-Agent"].startswith("setveil")
    assert b"hush" not in (tmp_path / "answers.sqlite").read_bytes()
    assert "hush" not in counts.fingerprint()
    monkeypatch.delenv("COUNTER_KEY")
    with pytest.raises(ParameterError, match="export COUNTER_KEY"):
        made(headers={"X-Key": "${COUNTER_KEY}"})[0].counts(["gout"])


def test_from_a_file(server, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    config = tmp_path / "web.toml"
    config.write_text(
        f'url = "{server.url}"\ncount = "hits[0].total"\ntotal = 1000\nrate = 1000\n'
        'cache = "kept/answers.sqlite"\n[headers]\nAccept-Language = "en"\n'
    )
    source = parse_relatedness(f"web:{config}")
    assert source.known(["high fever", "mumps"]).tolist() == [True, False]
    assert (tmp_path / "kept" / "answers.sqlite").exists()
    config.write_text(f'url = "{server.url}"\ncount = "hits[0].total"\ntotal = 1000\n')
    parse_relatedness(f"web:{config}").known(["flu"])
    assert len(list((tmp_path / "cache" / "setveil").glob("web-*.sqlite"))) == 1
    assert server.headers[0]["Accept-Language"] == "en"


def test_a_cache_that_is_none(made, tmp_path):
    (tmp_path / "answers.sqlite").write_bytes(b"no database" * 100)
    with pytest.raises(InputError, match="answers cannot be kept here"):
        made()[0].counts(["flu"])


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('url = "ftp://a.org/{query}"', "no address on the web"),
        ('url = "https://a.org/"', "should hold {query}"),
        ('url = "https://a.org/{query}{x}"', "no other braces"),
        ('url = "https://a.org/{query"', "should hold"),
        ("url = 3", "should hold"),
        ('pair = "{a}"', "should hold {a} and {b}"),
        ('count = ""', "no place in an answer"),
        ('count = "a[x]"', "no place in an answer"),
        ('count = ".a"', "no place in an answer"),
        ("total = 1", "not a number of pages"),
        ("total = 1e9", "not a number of pages"),
        ("rate = 0", "not above 0"),
        ("timeout = inf", "not above 0"),
        ("retries = -1", "whole number of 0 or more"),
        ("most_requests = 0.5", "whole number of 1 or more"),
        ("cache = 1", "no path"),
        ("headers = 1", "headers are not texts"),
        ("headers = {a = 1}", "headers are not texts"),
        ("speed = 1", "'speed' is no setting"),
        ("total =", "cannot be read"),
        ('url = "http://[::1/?q={query}"', "no address on the web"),
        ('url = "https://a..b/{query}"', "no address on the web"),
        (f'url = "https://{"a" * 64}.org/{{query}}"', "no address on the web"),
        ('url = "https://a.org:http/{query}"', "no address on the web"),
        ('url = "https://{query}.org/"', "no address on the web"),
        ('url = "https://a.org/caf\u00e9?q={query}"', "other characters than an address"),
        ('url = "https://a.org/?k=a b&q={query}"', "other characters than an address"),
        ('url = "https://me:pass@a.org/{query}"', "before its host"),
        ('url = "https://a.org/{query:d}"', "no other braces"),
        ('url = "https://a.org/{query!r}"', "no other braces"),
        ('term = "{a:5d}"', "no other braces"),
        (f'count = "a[{"9" * 5000}]"', "no place in an answer"),
        (f"total = {'9' * 400}", "more than 128 bits"),
        ("timeout = 1e300", "a day at most"),
        ("rate = 1e-300", "once a day at least"),
        ('headers = {"X Y:" = "1"}', "'X Y:' is no name of a header"),
        ('headers = {Key = "\u20ac"}', "the header Key holds characters"),
        ('headers = {Key = "a\\nb"}', "the header Key holds characters"),
    ],
)
def test_configurations_that_are_wrong(tmp_path, line, message):
    lines = {
        "url": 'url = "https://a.org/{query}"',
        "count": 'count = "n"',
        "total": "total = 1000",
    }
    lines[line.split(" ")[0]] = line
    path = tmp_path / "web.toml"
    path.write_text("\n".join(lines.values()))
    with pytest.raises(InputError) as caught:
        WebConfig.read(path)
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        "htps://a.org/?key=hush&q={query}",
        "https://a.org/?key=hush&q={query",
        "https://a.org/?key=hush &q={query}",
        "https://me:hush@a.org/?q={query}",
        "https://a.org:hush/?q={query}",
    ],
)
def test_no_message_shows_an_address(url):
    with pytest.raises(ParameterError) as caught:
        WebConfig(url=url, count="n", total=9)
    assert "hush" not in str(caught.value)


def test_a_key_with_a_line_end_is_refused_and_not_shown(made, server, monkeypatch):
    monkeypatch.setenv("COUNTER_KEY", "hush\n")
    with pytest.raises(ParameterError, match="header X-Key holds characters") as caught:
        made(headers={"X-Key": "${COUNTER_KEY}"})[0].counts(["flu"])
    assert "hush" not in str(caught.value)
    assert "COUNTER_KEY" in str(caught.value)
    assert server.asked == []


@pytest.fixture
def another():
    with Counter() as made, running(made):
        yield made


@pytest.mark.parametrize("location", ["{other}", "file:///etc/passwd?hush", "http://[?hush"])
def test_a_redirect_to_another_server_is_not_followed(made, server, another, location):
    server.failures = [(302, {"Location": location.format(other=another.url + "&hush")})]
    with pytest.raises(InputError, match="302 Found") as caught:
        made(headers={"X-Key": "hush"})[0].counts(["flu"])
    assert "hush" not in str(caught.value)
    assert "as url" in str(caught.value)
    assert another.asked == []


def test_a_redirect_on_the_same_server_is_followed(made, server):
    server.failures = [(302, {"Location": "/elsewhere?q=%22flu%22"})]
    assert made(headers={"X-Key": "hush"})[0].counts(["flu"]).tolist() == [40]
    assert [sent["X-Key"] for sent in server.headers] == ["hush", "hush"]


@pytest.mark.parametrize(
    ("asked", "told", "stays"),
    [
        ("http://a.org/x", "http://a.org:80/y", True),
        ("http://a.org/x", "https://A.org/y", True),
        ("https://a.org/x", "http://a.org/y", False),
        ("http://a.org/x", "http://a.org:81/y", False),
        ("http://a.org/x", "http://b.org/y", False),
        ("http://a.org/x", "http://a.org:port/y", False),
    ],
)
def test_what_the_same_server_is(asked, told, stays):
    assert same_server(asked, told) == stays


@pytest.mark.parametrize("kept", ["'many'", "NULL", "-3", "2.5"])
def test_a_kept_answer_that_is_no_count_is_asked_again(made, server, tmp_path, kept):
    made()[0].counts(["flu"])
    with sqlite3.connect(tmp_path / "answers.sqlite") as cache:
        cache.execute(f"UPDATE counts SET pages = {kept}")
    cache.close()
    assert made()[0].counts(["flu"]).tolist() == [40]
    assert len(server.asked) == 2


def test_a_cache_that_breaks_later(made, tmp_path):
    counts, _ = made()
    counts.counts(["flu"])
    with sqlite3.connect(tmp_path / "answers.sqlite") as cache:
        cache.execute(
            "CREATE TRIGGER no BEFORE INSERT ON counts BEGIN SELECT RAISE(FAIL, 'no'); END"
        )
    cache.close()
    with pytest.raises(InputError, match="answers cannot be kept here"):
        counts.counts(["gout"])


@pytest.mark.parametrize(
    ("answer", "path", "count"),
    [
        ({"n": 3}, "n", 3),
        ([{"a b": ["1,234"]}], "[0].a b[-1]", 1234),
        ({"n": 2.0}, "n", 2),
        ({"n": 2.5}, "n", None),
        ({"n": "many"}, "n", None),
        ({"n": "9" * 5000}, "n", None),
        ({"n": None}, "n.m", None),
        ([], "[0]", None),
    ],
)
def test_places_in_answers(answer, path, count):
    assert count_in(answer, steps_of(path)) == count
