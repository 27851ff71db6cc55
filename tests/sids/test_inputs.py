from __future__ import annotations

import numpy as np
import pytest

from sidrec.core.errors import InputError, SettingsError
from sidrec.sids.inputs import JoinedInputs, Part, TokenizerInputs, as_inputs
from sidrec.sids.opq import OPQ
from sidrec.sids.rq_kmeans import RQKMeans


def two_sides(n_items: int = 120, seed: int = 0) -> TokenizerInputs:
    """Text tells 4 kinds apart, who had them 3 others: together 12."""
    rng = np.random.default_rng(seed)
    text = np.eye(4, 5)[np.arange(n_items) % 4] * 100 + 0.1 * rng.normal(size=(n_items, 5))
    collaborative = np.eye(3, 4)[np.arange(n_items) % 3] + 0.001 * rng.normal(size=(n_items, 4))
    return TokenizerInputs(text.astype(np.float32), collaborative.astype(np.float32))


def purity(codes: np.ndarray) -> float:
    """Share of items that are of the kind most frequent among those with their code."""
    kinds = np.arange(len(codes)) % 12
    return sum(np.bincount(kinds[codes[:, 0] == code]).max() for code in np.unique(codes)) / len(codes)


def test_a_part_has_no_mean_and_the_variance_of_its_weight() -> None:
    vectors = np.array([[1, 2], [3, 2], [5, 2]], np.float32)
    part = Part.fit(vectors, weight=2.0)
    assert part.mean.tolist() == [3, 2]
    assert part.scale == pytest.approx(2 / np.sqrt(8 / 3))
    assert (part.apply(vectors) ** 2).sum(1).mean() == pytest.approx(4)
    same = Part.fit(np.ones((3, 2), np.float32))
    assert (same.apply(np.ones((3, 2), np.float32)) == 0).all()


def test_the_text_alone_passes_as_it_is() -> None:
    inputs = two_sides()
    assert JoinedInputs().apply(inputs) is inputs.text
    assert JoinedInputs().state() == {} and JoinedInputs.from_state({}) == JoinedInputs()


def test_both_stand_side_by_side_with_the_same_variance() -> None:
    inputs = two_sides()
    joined = JoinedInputs.fit(inputs, weight=1.0)
    found = joined.apply(inputs)
    assert found.shape == (120, 9) and found.dtype == np.float32
    assert (
        (found[:, :5] ** 2).sum() == pytest.approx((found[:, 5:] ** 2).sum(), rel=1e-4) == pytest.approx(120, rel=1e-4)
    )
    again = JoinedInputs.from_state(joined.state())
    assert (again.apply(inputs) == found).all()


def test_a_new_item_without_collaborative_vector_stands_in_the_middle() -> None:
    inputs = two_sides()
    joined = JoinedInputs.fit(inputs, weight=1.0)
    alone = joined.apply(TokenizerInputs(inputs.text[:3]))
    assert (alone[:, :5] == joined.apply(inputs)[:3, :5]).all()
    assert (alone[:, 5:] == 0).all()


@pytest.mark.parametrize("kind", [OPQ, RQKMeans])
def test_ids_from_both_tell_apart_what_one_side_cannot(kind) -> None:
    inputs = two_sides(600)
    shape = {"codebook_size": 30, "n_codes": 1, "whiten": False, "pca": None}
    text = kind(**shape).fit(inputs.text)
    both = kind(**shape, inputs="both").fit(inputs)
    assert purity(both.encode(inputs)) > 0.95
    assert purity(text.encode(inputs.text)) < 0.6
    restored = type(both).from_state(both.settings, both.state())
    assert (restored.encode(inputs) == both.encode(inputs)).all()
    assert restored.encode(TokenizerInputs(inputs.text[:5])).shape == (5, 1)


def test_what_is_missing_or_unused_is_one_sentence() -> None:
    inputs = two_sides()
    with pytest.raises(
        SettingsError, match="this opq needs collaborative vectors as well; give the vectors of a trained"
    ):
        OPQ(inputs="both").fit(inputs.text)
    with pytest.raises(SettingsError, match="this opq takes no collaborative vectors; set inputs to both"):
        OPQ().fit(inputs)
    with pytest.raises(InputError, match="7 collaborative vectors for 120 items"):
        OPQ(inputs="both").fit(TokenizerInputs(inputs.text, inputs.collaborative[:7]))
    fitted = RQKMeans(inputs="both", codebook_size=4).fit(inputs)
    with pytest.raises(InputError, match="collaborative vectors have 2 numbers, this tokenizer was fitted on 4"):
        fitted.encode(TokenizerInputs(inputs.text, inputs.collaborative[:, :2]))
    with pytest.raises(InputError, match="vectors have 3 numbers, this tokenizer was fitted on 5"):
        fitted.encode(inputs.text[:, :3])
    bad = inputs.collaborative.copy()
    bad[4, 1] = np.nan
    with pytest.raises(InputError, match=r"collaborative vectors have NaN .* first in row 4"):
        OPQ(inputs="both").fit(TokenizerInputs(inputs.text, bad))


def test_rows_are_taken_of_both() -> None:
    inputs = two_sides()
    some = inputs.take(np.array([5, 2]))
    assert len(some) == 2 and (some.collaborative == inputs.collaborative[[5, 2]]).all()
    assert as_inputs(inputs.text).take(np.array([1])).collaborative is None
