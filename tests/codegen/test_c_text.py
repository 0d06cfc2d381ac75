from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from match.codegen.c_text import WIDTH, comment, quoted, wrap
from match.ir.names import identifier, identifiers, network_prefix

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("serving_default_input:0", "serving_default_input_0"),
        ("Identity", "identity"),
        ("3x3", "_3x3"),
        ("double", "_double"),
        ("_Bool", "_bool"),
        ("class", "_class"),
        ("linux", "_linux"),
        ("", "_"),
        ("größe", "gr_e"),
    ],
)
def test_identifier(name: str, expected: str) -> None:
    assert identifier(name) == expected


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("key.words", "key_words"),
        ("3d", "network_3d"),
        ("int", "network_int"),
        ("Math", "network_math"),
        ("stdint", "network_stdint"),
        ("layers", "network_layers"),
        ("match", "network_match"),
        ("match_io", "network_match_io"),
        ("matches", "matches"),
        ("strings", "strings"),
    ],
)
def test_a_network_s_header_is_no_other(name: str, expected: str) -> None:
    assert network_prefix(name) == expected


@given(st.lists(st.text(max_size=6), max_size=8))
def test_identifiers_are_distinct_and_valid(names: list[str]) -> None:
    made = identifiers(names)
    assert len(set(made)) == len(names)
    assert all(name.isidentifier() and name.isascii() for name in made)


def test_comment_cannot_be_ended() -> None:
    assert comment("a */ int x; /*\nb") == "a * / int x; / * b"
    assert comment("*/*/ ???/") == "* / * / ? ? ?/"


def test_what_cannot_be_seen_has_a_number_in_comments() -> None:
    assert comment("x\u202ey\x07 gr\u00f6\u00dfe") == "x<U+202E>y<U+0007> gr\u00f6\u00dfe"


def test_string_literals_stay_whole() -> None:
    literal = quoted("one, two && (three, " * 8)
    assert wrap(f"    call(first, {literal}, 1);").split("\n")[1].strip().startswith(literal)


def test_lines_are_broken_outside_inner_parentheses() -> None:
    call = f"    f({'a' * 40}, g({'b' * 40}, {'c' * 20}), h(1, 2));"
    assert wrap(call).split("\n") == [f"    f({'a' * 40}, g({'b' * 40}, {'c' * 20}),", "        h(1, 2));"]


@given(st.lists(st.integers(0, 10**9), min_size=1, max_size=60))
def test_wrapping_keeps_the_words(numbers: list[int]) -> None:
    line = f"  f({', '.join(map(str, numbers))});"
    assert "".join(wrap(line).split()) == "".join(line.split())
    assert all(len(part) <= WIDTH for part in wrap(line).split("\n"))


@pytest.mark.parametrize("begin", ["/* ", " * ", "    /* ", "     * "])
def test_a_comment_is_broken_between_words_and_goes_on_behind_an_asterisk(begin: str) -> None:
    lead = begin[: -len(begin.lstrip())] if begin.lstrip().startswith("/") else begin[: begin.index(" *")]
    first, second = wrap(f"{begin}{'word, ' * 18}{'a' * 20} + b */").split("\n")
    assert first == f"{begin}{'word, ' * 18}".rstrip()
    assert second == f"{lead} * {'a' * 20} + b */"
