"""The runner of the docs itself: it must see what it claims to see."""

import pytest
from tests.docs.pages import agrees, blocks_of, commands_of, shell_line


@pytest.mark.parametrize(
    ("expected", "got", "same"),
    [
        ("a", "a\n", True),
        ("a", "b", False),
        ("a", "a\nb", False),
        ("a\n...", "a\nb\nc", True),
        ("...\nc", "a\nb\nc", True),
        ("a\n...\nc", "a\nc", True),
        ("took ... s", "took 1.25 s", True),
        ("took ... s", "took 1.25 min", False),
        ("a.c", "abc", False),
    ],
)
def test_agrees(expected, got, same):
    assert agrees(expected, got) is same


def test_blocks_and_commands(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# x\n```csv a.csv\n1,2\n```\ntext\n"
        "```console\n$ setveil verify \\\n    r\nfine\nyes\n$ ls\n```\n"
    )
    file, console = blocks_of(page)
    assert (file.language, file.file, file.body) == ("csv", "a.csv", "1,2\n")
    first, second = commands_of(console)
    assert first.text == "setveil verify \\\n    r"
    assert first.expected == "fine\nyes"
    assert (second.text, second.expected) == ("ls", "")


def test_what_is_run():
    assert shell_line("make demo") == "setveil demo"
    assert shell_line("make test") is None
    assert shell_line("setveil methods") == "setveil methods"
