"""HTML: recognised, stripped, and never slow."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setveil.text.documents import html_to_text, looks_like_html


@pytest.mark.parametrize(
    "text",
    [
        "<!DOCTYPE html><html></html>",
        " \n<html lang='en'>",
        "<?xml version='1.0'?>\n<html>",
        "one<br>two<br/>three",
        "<p class='x'>one</p>",
        "a <b>bold</b> and <i>slanted</i> word",
    ],
)
def test_recognised(text):
    assert looks_like_html(text)


@pytest.mark.parametrize(
    "text", ["", "a < b and c > d", "x <5 mg> y <6 mg>", "<me@x.org>", "<note>x</note>", "one<br>"]
)
def test_other_texts_are_left_alone(text):
    assert not looks_like_html(text)


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("<p>one</p><p>two</p>", "one\n\ntwo"),
        ("<b>bo</b>ld", "bold"),
        ("a<!-- <p>hidden</p> -->b", "a b"),
        ("a<!-- never closed", "a"),
        ("a<script>if (a<b) {'</p>'}</script>b", "a b"),
        ("a<SCRIPT>x</Script >b", "a b"),
        ("a<style>never closed", "a"),
        ("<head><title>T</title></head><body>B</body>", "B"),
        ("<header>H</header>", "H"),
        ('<a title="x > y" href=z>link</a>', "link"),
        ("3 < 4 &lt; 5 &amp; &eacute;&#233;", "3 < 4 < 5 & éé"),
        ("a<![CDATA[x]]>b<!DOCTYPE y>c<?php z?>d", "a b c d"),
        ("<![xx[ a ]]>", ""),
        ("half a <tag", "half a <tag"),
    ],
)
def test_stripped(markup, text):
    assert html_to_text(markup) == text


@given(st.text(alphabet="<>/!-ab='\" &;", max_size=200))
def test_anything_can_be_stripped(text):
    looks_like_html(text)
    assert isinstance(html_to_text(text), str)


@pytest.mark.parametrize(
    "part", ["<a ", "<!--", "</a", "<a href='", '<a "', "<script>", "<p", "<![", "&amp", "< "]
)
def test_markup_that_is_never_closed_takes_linear_time(part):
    seconds = []
    for size in (100_000, 800_000):
        text = part * (size // len(part))
        started = time.process_time()
        looks_like_html(text)
        html_to_text(text)
        seconds.append(time.process_time() - started)
    assert seconds[1] < 24 * seconds[0] + 0.2  # quadratic would be 64 times
