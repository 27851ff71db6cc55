from __future__ import annotations

import tomllib

from hypothesis import given
from hypothesis import strategies as st

from sidrec.core.toml_text import to_toml

PLAIN = st.booleans() | st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False) | st.text()
VALUES = st.recursive(
    st.dictionaries(st.text(min_size=1), PLAIN | st.lists(PLAIN, max_size=3), max_size=3),
    lambda inner: st.dictionaries(st.text(min_size=1), PLAIN | inner, max_size=3),
    max_leaves=6,
)


@given(VALUES)
def test_what_is_written_is_read_back(values):
    assert tomllib.loads(to_toml(values)) == values


def test_it_reads_like_a_recipe():
    values = {"model": {"key": "sasrec-ce", "nothing": None, "d_model": 64, "training": {"betas": [0.9, 0.98]}}}
    assert to_toml(values) == '[model]\nkey = "sasrec-ce"\nd_model = 64\n\n[model.training]\nbetas = [0.9, 0.98]\n'
