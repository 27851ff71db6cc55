from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidrec.core.errors import InputError
from sidrec.data.catalog import Catalog
from sidrec.embeddings.item_text import clean, item_texts, text_fields


def catalog(**columns) -> Catalog:
    n_items = len(next(iter(columns.values())))
    return Catalog(pl.DataFrame({"item_id": [str(item) for item in range(n_items)], **columns}))


@pytest.mark.parametrize(
    ("dirty", "plain"),
    [
        ("<p>Soft <b>wool</b></p><br/>Warm", "Soft wool Warm"),
        ("Tom &amp; Jerry&#39;s", "Tom & Jerry's"),
        ("Tom &amp;amp; Jerry", "Tom & Jerry"),
        ("&lt;b&gt;bold&lt;/b&gt; word", "bold word"),
        ("<script>alert(1)</script>kept<!-- gone -->", "kept"),
        ("<STYLE type='x'>p {}</STYLE>kept", "kept"),
        ('<a href="http://x.y/z">link</a>', "link"),
        ("H<sub>2</sub>O", "H2O"),
        ("width <x and y> 3, 2 < 5", "width <x and y> 3, 2 < 5"),
        ("&lt;5 mm", "<5 mm"),
        ("see https://shop.example/a?b=c&d=e now", "see now"),
        ("a\tb\r\n  c\u00a0d", "a b c d"),
        ("zero\u200bwidth\ufeff \x07bell", "zerowidth bell"),
        ("cafe\u0301", "caf\u00e9"),
        ("  ", ""),
    ],
)
def test_markup_goes_and_words_stay(dirty, plain):
    assert clean(dirty) == plain


@pytest.mark.parametrize(
    "text",
    ["日本語の本。とても良い！", "كتاب عربيّ جديد", "हिन्दी किताब", "می‌خواهم", "ภาษาไทย", "Größe 5 – 10 €", "👩‍🔬 kit"],
)
def test_no_script_is_lost(text):
    assert clean(text) == text


@settings(max_examples=200, deadline=None)
@given(st.text())
def test_cleaning_leaves_no_control_characters_and_single_spaces(text):
    cleaned = clean(text)
    assert cleaned == " ".join(cleaned.split())
    assert not set(cleaned) & set(map(chr, [*range(32), 127, 0xAD, 0xFEFF]))


def test_title_comes_first_then_catalogue_order_and_lists_are_joined():
    items = catalog(brand=["Acme"], price=[3.5], tags=[["red", "", "wool"]], title=["A coat"])
    assert text_fields(items) == ["title", "brand", "tags"]
    assert item_texts(items) == ["A coat. Acme. red, wool"]
    assert item_texts(items, ["tags", "title"]) == ["A coat. red, wool"]


def test_a_sentence_is_said_once_but_short_pieces_may_repeat():
    items = catalog(title=["A very warm coat."], text=["A VERY WARM COAT! Size: 5 in. Wide: 5 in."])
    assert item_texts(items) == ["A very warm coat. Size: 5 in. Wide: 5 in."]


def test_items_that_say_nothing_give_the_empty_text():
    items = catalog(title=[None, " ", "<br>", "x"], tags=[None, [], [None, " "], ["y"]])
    assert item_texts(items) == ["", "", "", "x. y"]


def test_unknown_fields_and_catalogues_without_text_are_refused():
    items = catalog(title=["a"], price=[1])
    with pytest.raises(InputError, match="'titel' is not a text field of the catalogue; did you mean title"):
        item_texts(items, ["titel"])
    with pytest.raises(InputError, match="'price' is not a text field"):
        item_texts(items, ["price"])
    with pytest.raises(InputError, match=r"no text column \(it has: item_id, price\)"):
        item_texts(catalog(price=[1]))
