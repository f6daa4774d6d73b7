"""Query logs: the printed example, sessions, untidy files, and what must never come through."""

import gzip
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setveil.core.errors import InputError, ParameterError
from setveil.synthetic import write_query_log
from setveil.text import query_log
from setveil.text.query_log import query_items, read_queries, transactions

HEADER = "AnonID\tQuery\tQueryTime\tItemRank\tClickURL"
# Fig. 11 (a) of the paper on elimination attacks.
PRINTED = [
    "13508\tgood wine\t3/1/2006 21:29\t7\thttp://www.wines.com",
    "13508\taccent marks\t3/1/2006 22:04\t1\thttp://faculty.weber.edu",
    "13508\taccent marks\t3/1/2006 22:04\t2\thttp://fog.ccsf.cc.ca.us",
    "13508\tbody mass index\t3/2/2006 20:34\t2\thttp://www.halls.md",
    "13508\tpor que te vas\t3/2/2006 21:04\t1\thttp://members.fortunecity.es",
    "13508\tsudden weight loss\t3/3/2006 19:21\t1\thttp://menshealth.about.com",
    "13508\tnot enough sleep\t3/3/2006 19:26\t4\thttp://search400.techtarget.com",
]


def write(path, lines, header=HEADER):
    path.write_text("\n".join([header, *lines]) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def printed(tmp_path):
    return read_queries(write(tmp_path / "log.txt", PRINTED))


def test_the_printed_example(printed):
    table, report = transactions(printed)
    [row] = table.to_rows()
    expected = {
        "good wine",
        "accent mark",
        "body mass",
        "index",
        "por que",
        "sudden weight",
        "loss",
    }
    assert expected <= set(row)
    # Printed "te va": there the last word of a Spanish song's title is taken for a plural.
    assert set(row) - expected == {"te vas"}
    assert (report.users, report.lines, report.queries) == (1, 7, 6)


def test_neither_identifiers_nor_times_nor_addresses_come_through(printed):
    for per in ("user", "session", "query"):
        for items in ("queries", "noun-phrases", "nouns", "tokens"):
            table, _ = transactions(printed, per=per, items=items)
            text = " ".join(item for row in table for item in row)
            for secret in ("13508", "2006", "http", "wines.com", "21:29"):
                assert secret not in text


def test_sessions_end_with_a_long_pause(printed):
    rows = transactions(printed, per="session", items="queries")[0].to_rows()
    assert sorted(rows) == sorted(
        [
            ["good wine"],
            ["accent marks"],
            ["body mass index", "por que te vas"],
            ["not enough sleep", "sudden weight loss"],
        ]
    )
    longer, _ = transactions(printed, per="session", items="queries", gap_minutes=60)
    assert len(longer) == 3
    every, _ = transactions(printed, per="session", items="queries", gap_minutes=10**6)
    assert len(every) == 1


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("2006-03-01 21:29:00.250", "2006-03-01 21:58:59.9"),
        ("2006-03-01T21:29:00Z", "2006-03-01T21:58:59.123456Z"),
        ("2006-03-01 21:29:00 UTC", " 2006-03-01T21:58"),
        ("1141248540.5", "1141250339"),
        ("03/01/2006 21:29:00.5", "03/01/2006 21:58"),
    ],
)
def test_ways_to_write_times(tmp_path, first, second):
    third = "2006-03-01 23:00:00"
    lines = [f"7\tflu\t{first}", f"7\tcough\t{second}", f"7\tgout\t{third}"]
    log = read_queries(write(tmp_path / "log.txt", lines, "AnonID\tQuery\tQueryTime"))
    table, report = transactions(log, per="session", items="queries")
    assert report.without_time == 0
    assert table.to_rows() == [["cough", "flu"], ["gout"]]


@st.composite
def logs(draw):
    """Draw lines of a log: user, query, minute."""
    user = st.sampled_from(["7", "8", "9"])
    query = st.sampled_from(["a b", "b", "c d e", "A  B"])
    return draw(st.lists(st.tuples(user, query, st.integers(0, 300)), min_size=1, max_size=12))


@settings(max_examples=60)
@given(logs(), st.integers(1, 120), st.sampled_from(["user", "session", "query"]))
def test_records_are_those_of_a_plain_loop(tmp_path_factory, lines, gap, per):
    folder = tmp_path_factory.mktemp("log")
    written = [f"{u}\t{q}\t2006-03-01 {m // 60:02}:{m % 60:02}:00" for u, q, m in lines]
    log = read_queries(write(folder / "log.txt", written, "AnonID\tQuery\tQueryTime"))
    table, report = transactions(log, per=per, gap_minutes=gap, items="queries")
    expected = []
    for user in sorted({u for u, _, _ in lines}):
        mine = sorted((m, " ".join(q.lower().split())) for u, q, m in lines if u == user)
        groups = [{mine[0][1]}]
        for (before, _), (minute, query) in pairwise(mine):
            if per == "session" and minute - before > gap:
                groups.append(set())
            groups[-1].add(query)
        if per == "query":
            groups = [{query} for query in groups[0]]
        expected += [sorted(group) for group in groups]
    assert sorted(table.to_rows()) == sorted(expected)
    assert report.lines == len(lines)
    assert report.records == len(table)
    shuffled = read_queries(write(folder / "r.txt", written[::-1], "AnonID\tQuery\tQueryTime"))
    again = transactions(shuffled, per=per, gap_minutes=gap, items="queries")[0]
    assert again.to_rows() == table.to_rows()


def test_several_files_compressed_and_in_a_folder(tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    write(folder / "a.txt", PRINTED[:3])
    with gzip.open(folder / "b.txt.gz", "wt") as out:
        out.write("\n".join([HEADER, *PRINTED[3:], "99\tgolf\t2006-03-01 10:00:00\t\t"]))
    (folder / "README.md").write_text("not a log")
    whole = transactions(read_queries(folder))[0]
    assert len(whole) == 2
    named = transactions(read_queries([folder / "b.txt.gz", folder / "a.txt"]))[0]
    assert named.to_rows() == whole.to_rows()


def test_any_table_with_columns_for_users_and_queries(tmp_path):
    lines = ['u1,"flu, or a cold",x', 'u1,"he said ""hi""\nin two lines",x', "u2,flu,x"]
    file = write(tmp_path / "log.csv", lines, "Who,Asked,Other")
    log = read_queries(file, user="who", query="Asked")
    assert transactions(log, items="queries")[0].to_rows() == [
        ["flu, or a cold", 'he said "hi" in two lines'],
        ["flu"],
    ]
    with pytest.raises(InputError, match="no column for the user in 'Who', 'Asked'") as caught:
        read_queries(file)
    assert "--user-column" in str(caught.value)
    with pytest.raises(InputError, match="no column 'when'"):
        read_queries(file, user="Who", query="Asked", time="when")
    with pytest.raises(ParameterError, match="sessions need times"):
        transactions(log, per="session")


def test_untidy_lines_are_left_out_and_counted(tmp_path):
    lines = [
        "1\tgolf\t2006-03-01 10:00:00\t\t",
        "\tnobody\t2006-03-01 10:00:00\t\t",
        "1\t-\t2006-03-01 10:00:00\t\t",
        "1",
        '1\t"half a quote\t2006-03-01 10:01:00',
        "1\ttennis\tyesterday\t\t\tand\tmore\tcolumns",
        "",
    ]
    file = tmp_path / "log.txt"
    file.write_bytes(
        "\n".join([HEADER, *lines]).encode() + b"\n2\tcaf\xe9\t2006-03-01 10:00:00\r\n"
    )
    table, report = transactions(read_queries(file), items="queries")
    assert sorted(map(len, table.to_rows())) == [1, 3]
    assert (report.lines, report.without_user, report.without_query) == (7, 1, 2)
    _, timed = transactions(read_queries(file), per="session", items="queries")
    assert timed.without_time == 1
    assert any("time" in sentence for sentence in timed.sentences())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "nothing in it"),
        (b"PK\x03\x04", "zip archive"),
        (b"a\0b", "binary"),
        (b"AnonID\tQuery\n", "no line of the log"),
        (b"AnonID\tQuery\n1\t-\n", "no line of the log"),
        (b"AnonID\tQuery\n1\tthe\n", "gives an item"),
    ],
)
def test_files_that_give_nothing(tmp_path, content, message):
    (tmp_path / "log.txt").write_bytes(content)
    with pytest.raises(InputError, match=message):
        transactions(read_queries(tmp_path / "log.txt"))


def test_files_and_folders_that_are_not_there(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_queries(tmp_path / "log.txt")
    with pytest.raises(InputError, match="holds no file"):
        read_queries(tmp_path)
    with pytest.raises(InputError, match="no file is named"):
        read_queries([])
    a, b = write(tmp_path / "a.txt", PRINTED), write(tmp_path / "b.txt", ["1\tx"], "AnonID\tQuery")
    with pytest.raises(InputError, match="other columns"):
        transactions(read_queries([a, b]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"per": "day"},
        {"items": "letters"},
        {"gap_minutes": 0},
        {"gap_minutes": float("inf")},
        {"gap_minutes": 1e300},
        {"gap_minutes": 1e-9},
        {"short": -1},
    ],
)
def test_parameters_that_mean_nothing(printed, wrong):
    with pytest.raises(ParameterError, match=f"{next(iter(wrong))} is"):
        transactions(printed, **wrong)


def test_only_words_of_a_taxonomy(printed):
    table, report = transactions(printed, items="nouns", words={"wine", "index", "loss"})
    assert table.to_rows() == [["index", "loss", "wine"]]
    assert report.items == 3
    with pytest.raises(InputError, match="words to keep"):
        transactions(printed, words={"zinc"})


def test_short_queries_are_whole_items_and_long_ones_are_not():
    assert query_items(["new york hotels"], short=3) == [["new york hotel"]]
    assert query_items(["accent marks", "the of"], short=1) == [["accent mark"], []]


def test_processes_give_what_one_does(monkeypatch):
    queries = [f"{word} weight loss" for word in ("sudden", "quick", "slow", "big", "no")]
    alone = query_items(queries, workers=1)
    monkeypatch.setattr(query_log, "WORTH_IT", 1)
    monkeypatch.setattr(query_log, "BATCH", 2)
    told = []
    both = query_items(queries, workers=2, progress=lambda *args: told.append(args))
    assert both == alone
    assert told[-1] == ("extracting", 5, 5)


def test_an_invented_log(tmp_path):
    counts = [
        write_query_log(tmp_path / f"{i}.txt", users=200, seed=seed)
        for i, seed in enumerate((1, 1, 2))
    ]
    texts = [(tmp_path / f"{i}.txt").read_bytes() for i in range(3)]
    assert texts[0] == texts[1] != texts[2]
    table, report = transactions(read_queries(tmp_path / "0.txt"), items="tokens")
    assert report.users == len(table) == 200
    assert report.lines == counts[0]
    # Words of one topic are held together: the interests of a user are few.
    assert 5 < table.lengths.mean() < 40
    assert np.median(table.supports()) < table.supports().max() / 5


def test_names_and_addresses_are_no_plurals():
    kept = ["mcdonald's", "lowe’s", "las vegas", "james", "kansas", "www.news"]
    assert query_items([*kept, "cheap hotels"]) == [[name] for name in [*kept, "cheap hotel"]]


def test_standard_input_is_refused_in_words():
    with pytest.raises(InputError, match="standard input"):
        read_queries("-")
