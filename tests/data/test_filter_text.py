from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidrec.core.errors import InputError
from sidrec.data.column_test import ColumnTest
from sidrec.data.filter_text import parse_tests


@pytest.mark.parametrize(
    ("text", "tests"),
    [
        ("brand=Acme", [ColumnTest("brand", ("Acme",))]),
        ("brand = Acme , Zoll", [ColumnTest("brand", ("Acme", "Zoll"))]),
        (
            "kind=Garden Lamps and price<20",
            [ColumnTest("kind", ("Garden Lamps",)), ColumnTest("price", (), (("<", "20"),))],
        ),
        ("20<=price<50", [ColumnTest("price", (), ((">=", "20"), ("<", "50")))]),
        ("20 < price", [ColumnTest("price", (), ((">", "20"),))]),
        ("price>=-1.5e3", [ColumnTest("price", (), ((">=", "-1.5e3"),))]),
        ("2024-05-01<=added", [ColumnTest("added", (), ((">=", "2024-05-01"),))]),
        ("not in_stock=false", [ColumnTest("in_stock", ("false",), negated=True)]),
        ("NOT brand!=Acme AND a==b", [ColumnTest("brand", ("Acme",)), ColumnTest("a", ("b",))]),
        ('brand="Black and ""D"", Co"', [ColumnTest("brand", ('Black and "D", Co',))]),
        ('"my column"=null,"null"', [ColumnTest("my column", (None, "null"))]),
        ("my column=x", [ColumnTest("my column", ("x",))]),
        ("Größe=Über,ß", [ColumnTest("Größe", ("Über", "ß"))]),
    ],
)
def test_by_hand(text: str, tests: list[ColumnTest]) -> None:
    assert list(parse_tests(text)) == tests


@pytest.mark.parametrize(
    "text",
    ["", " ", "12", "brand", "brand=", "=x", "brand=a,", "brand=,a", "brand=a and", "brand=Black and Decker", "a<b<",
     "a>b>c", "a<b=c", 'brand="open', 'brand="a" b', "not", "a=b or=c", "a=b=c", "!a=b", "a<1,2", "a=<"],
)  # fmt: skip
def test_what_is_not_clear_is_refused_in_one_sentence(text: str) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        parse_tests(text)


NAMES = st.text(min_size=1, max_size=8).filter(lambda text: "\x00" not in text)
VALUES = NAMES | st.sampled_from(["", "and", "not", "null", "12", "a b", '"', "<", None])
BOUNDS = st.sampled_from([((">=", "1"), ("<", "2")), (("<", "2024-05-01"),), ((">", "x y"), ("<=", "7"))])


@given(
    st.builds(ColumnTest, NAMES, st.lists(VALUES, min_size=1, max_size=3).map(tuple), negated=st.booleans())
    | st.builds(ColumnTest, NAMES | st.sampled_from(["12", "2024-05-01"]), st.just(()), BOUNDS, st.booleans())
)
@pytest.mark.slow
def test_what_is_written_reads_back_as_itself(test: ColumnTest) -> None:
    assert parse_tests(f"{test} and {test}") == (test, test)


@given(st.text(alphabet='ab =<>!,"n', max_size=12) | st.text(max_size=12))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        tests = parse_tests(text)
    except InputError:
        return
    assert parse_tests(" and ".join(map(str, tests))) == tests
