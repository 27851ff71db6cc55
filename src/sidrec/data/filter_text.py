"""Filters as text: `brand=Acme,Zoll and 20<=price<50 and not in_stock=false`.

A name or value with a comma, an operator or the word `and` in it stands in double quotes ("" is a quote inside);
`null` is a missing value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

from sidrec.core.errors import InputError
from sidrec.data.column_test import FLIPPED, LITERAL, ColumnTest, Comparison, Value

_TOKEN = re.compile(r'\s*(?:"(?P<quoted>(?:[^"]|"")*)"|(?P<sign><=|>=|!=|==|[=<>,])|(?P<bare>[^\s=<>!,"]+))')


@dataclass(frozen=True)
class _Word:
    """A name or a value: what stands between two signs, several bare words joined by a space."""

    text: str
    quoted: bool

    @property
    def value(self) -> Value:
        return None if self.text == "null" and not self.quoted else self.text

    @property
    def is_not(self) -> bool:
        return not self.quoted and self.text.lower() == "not"

    @property
    def is_literal(self) -> bool:
        return not self.quoted and LITERAL.fullmatch(self.text) is not None


def parse_tests(text: str) -> tuple[ColumnTest, ...]:
    """The tests that all must hold; anything unclear is refused."""
    return tuple(_test(text, parts) for parts in _split_at_and(text))


def _split_at_and(text: str) -> Iterator[list[_Word | str]]:
    """Words and signs of each condition."""
    parts: list[_Word | str] = []
    for token in _tokens(text):
        if token == _Word("and", quoted=False):
            yield parts
            parts = []
        elif isinstance(token, _Word) and parts and isinstance(parts[-1], _Word):
            before = parts[-1]
            if len(parts) == 1 and before.is_not:
                parts.append(token)
            elif token.quoted or before.quoted:
                raise _unclear(text, f"{before.text!r} and {token.text!r} stand beside each other without a sign")
            else:
                parts[-1] = _Word(f"{before.text} {token.text}", quoted=False)
        else:
            parts.append(token)
    yield parts


def _tokens(text: str) -> Iterator[_Word | str]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            raise _unclear(text, "a double quote or ! has no partner")
        at = found.end()
        if found["quoted"] is not None:
            yield _Word(found["quoted"].replace('""', '"'), quoted=True)
        else:
            word = found["bare"]
            keyword = word is not None and word.lower() == "and"
            yield found["sign"] if word is None else _Word("and" if keyword else word, quoted=False)


def _test(text: str, parts: list[_Word | str]) -> ColumnTest:
    negated = bool(parts) and isinstance(parts[0], _Word) and parts[0].is_not
    match parts[1:] if negated else parts:
        case [_Word(text=name), "=" | "==" | "!=" as sign, *rest] if rest:
            return ColumnTest(name, _values(text, rest), negated=negated != (sign == "!="))
        case [_Word() as low, ("<" | "<=") as above, _Word() as column, ("<" | "<=") as below, _Word() as high]:
            bounds = ((_flipped(above), low.value), (cast(Comparison, below), high.value))
            return ColumnTest(column.text, bounds=bounds, negated=negated)
        case [_Word() as left, ("<" | "<=" | ">" | ">=") as sign, _Word() as right]:
            if left.is_literal:
                return ColumnTest(right.text, bounds=((_flipped(sign), left.value),), negated=negated)
            return ColumnTest(left.text, bounds=((sign, right.value),), negated=negated)
    raise _unclear(text, "it has no column, sign and value")


def _values(text: str, parts: list[_Word | str]) -> tuple[Value, ...]:
    words, commas = parts[::2], parts[1::2]
    values = tuple(word.value for word in words if isinstance(word, _Word))
    if len(parts) % 2 == 0 or len(values) < len(words) or any(sign != "," for sign in commas):
        raise _unclear(text, "values are separated by single commas")
    return values


def _flipped(sign: str) -> Comparison:
    return FLIPPED[cast(Comparison, sign)]


def _unclear(text: str, why: str) -> InputError:
    return InputError(
        f"the filter {text!r} cannot be read, {why}; write it like brand=Acme,Zoll and 20<=price<50 and not "
        'in_stock=false, with names and values that hold signs, commas or "and" in double quotes, and item ids as a '
        "list."
    )
