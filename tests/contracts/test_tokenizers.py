"""What every tokenizer of the registry must do."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from sidrec.core.errors import InputError, SettingsError
from sidrec.sids.base import Tokenizer
from sidrec.sids.id_keys import id_keys
from sidrec.sids.inputs import TokenizerInputs
from sidrec.sids.quality import relative_error
from sidrec.sids.registry import TOKENIZERS, find_tokenizer
from sidrec.sids.unique_ids import make_unique

KEYS = [row.key for row in TOKENIZERS]
TRAINED = ("multi-head-vqvae", "rq-vae", "letter")
QUICK = {"hidden": (32,), "code_width": 8, "training": {"epochs": 40, "batch_size": 64, "learning_rate": 0.01}}


def clustered(n_items: int = 200, width: int = 10, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(12, width))
    return (centres[rng.integers(0, 12, n_items)] + 0.2 * rng.normal(size=(n_items, width))).astype(np.float32)


def build(key: str, **values: object) -> Tokenizer:
    kind = find_tokenizer(key).load_class()
    quick = QUICK if key in TRAINED else {}
    return kind(kind.settings_class.parse({"codebook_size": 8, "n_codes": 3, **quick, **values}, owner=key))


def given(tokenizer: Tokenizer, vectors: np.ndarray) -> np.ndarray | TokenizerInputs:
    """What a tokenizer needs to be fitted: the text's vectors, and others beside them where it asks for both."""
    others = np.random.default_rng(1).normal(size=(len(vectors), 4)).astype(np.float32)
    return TokenizerInputs(vectors, others) if tokenizer.needs_collaborative else vectors


def learned(tokenizer: Tokenizer, vectors: np.ndarray) -> Tokenizer:
    return tokenizer.fit(given(tokenizer, vectors))


@pytest.fixture(scope="module", params=KEYS)
def fitted(request: pytest.FixtureRequest) -> Tokenizer:
    return learned(build(request.param), clustered())


def test_rows_name_their_classes(fitted: Tokenizer) -> None:
    assert type(fitted) is find_tokenizer(fitted.key).load_class()


def test_codes_fit_their_codebooks_and_are_all_used(fitted: Tokenizer) -> None:
    codes = fitted.encode(clustered())
    assert codes.dtype == np.int32 and codes.shape == (200, 3)
    assert (codes >= 0).all() and (codes < 8).all()
    assert len(np.unique(codes[:, 0])) >= 6


def test_codes_carry_information(fitted: Tokenizer) -> None:
    vectors = clustered()
    restored = fitted.reconstruct(fitted.encode(vectors))
    shuffled = fitted.reconstruct(np.random.default_rng(0).permutation(fitted.encode(vectors)))
    assert relative_error(vectors, restored) < 0.75 < relative_error(vectors, shuffled)


def test_the_chosen_codes_of_the_last_slot_are_the_nearest(fitted: Tokenizer) -> None:
    """For residual tokenizers the earlier slots are greedy; the last one is nearest given all others."""
    vectors = clustered()
    distances = fitted.code_distances(vectors)
    assert (distances[:, -1].argmin(-1) == fitted.encode(vectors)[:, -1]).all()


def test_state_brings_the_tokenizer_back(fitted: Tokenizer) -> None:
    vectors, new = clustered(), clustered(seed=9)
    again = type(fitted).from_state(fitted.settings, fitted.state())
    assert (again.encode(new) == fitted.encode(new)).all()
    assert (again.reconstruct(again.encode(vectors)) == fitted.reconstruct(fitted.encode(vectors))).all()


@pytest.mark.slow
def test_the_same_seed_gives_the_same_codes(fitted: Tokenizer) -> None:
    assert (learned(build(fitted.key), clustered()).encode(clustered()) == fitted.encode(clustered())).all()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.slow
def test_ids_can_speak_of_text_and_collaborative_vectors(key: str) -> None:
    inputs, new = TokenizerInputs(clustered(), clustered(width=4, seed=3)), clustered(seed=9)
    with pytest.raises(SettingsError, match=f"this {key} needs collaborative vectors"):
        build(key, inputs="both").fit(clustered())
    fitted = build(key, inputs="both").fit(inputs)
    codes = fitted.encode(inputs)
    assert codes.shape == (200, 3) and fitted.reconstruct(codes).shape == (200, 14)
    again = type(fitted).from_state(fitted.settings, fitted.state())
    assert (again.encode(inputs) == codes).all()
    assert (again.encode(new) == fitted.encode(TokenizerInputs(new))).all()  # new items have no collaborative vectors


def test_wrong_width_and_nan_are_refused(fitted: Tokenizer) -> None:
    with pytest.raises(InputError, match="fitted on 10"):
        fitted.encode(clustered(width=7))
    broken = clustered()
    broken[3, 2] = np.nan
    with pytest.raises(InputError, match="first in row 3"):
        fitted.encode(broken)
    with pytest.raises(InputError, match="first in row 3"):
        learned(build(fitted.key), broken)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("sizes", [(8,), (3, 5, 9), (4, 4, 4, 4, 4, 4)])
def test_any_number_and_size_of_codebooks(key: str, sizes: tuple[int, ...]) -> None:
    vectors = clustered(60)
    tokenizer = (
        build(key, codebook_sizes=sizes, training={"epochs": 2}) if key in TRAINED else build(key, codebook_sizes=sizes)
    )
    codes = learned(tokenizer, vectors).encode(vectors)
    assert codes.shape == (60, len(sizes)) and (codes < np.array(sizes)).all()
    distances = tokenizer.code_distances(vectors)
    assert distances.shape == (60, len(sizes), max(sizes))
    for slot, size in enumerate(sizes):
        assert np.isfinite(distances[:, slot, :size]).all() and np.isinf(distances[:, slot, size:]).all()
    n_kept = min(60, prod(sizes))
    unique = make_unique(codes[:n_kept], sizes, lambda items: distances[items])
    assert len(np.unique(id_keys(unique, sizes))) == n_kept


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("width", [1, 2, 7])
@pytest.mark.slow
def test_few_items_narrow_vectors(key: str, width: int) -> None:
    """Fewer items than codes, and widths that are no multiple of the number of codes."""
    vectors = clustered(5, width)
    codes = learned(build(key), vectors).encode(vectors)
    assert codes.shape == (5, 3)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.slow
def test_identical_vectors_are_no_trouble(key: str) -> None:
    vectors = np.full((20, 6), 0.3, np.float32)
    tokenizer = learned(build(key), vectors)
    codes = tokenizer.encode(vectors)
    assert len(np.unique(codes, axis=0)) == 1
    unique = make_unique(
        codes, tokenizer.codebook_sizes, lambda items: tokenizer.code_distances(vectors[items], codes[items])
    )
    assert len(np.unique(unique, axis=0)) == 20
    assert np.isfinite(tokenizer.reconstruct(unique)).all()


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.slow
def test_one_item(key: str) -> None:
    assert learned(build(key), np.ones((1, 4), np.float32)).encode(np.ones((1, 4), np.float32)).shape == (1, 3)


@pytest.mark.parametrize("key", KEYS)
def test_not_fitted_and_misspelt_settings_are_said_in_words(key: str) -> None:
    with pytest.raises(InputError, match="not fitted yet"):
        build(key).encode(clustered())
    with pytest.raises(SettingsError, match="did you mean codebook_size"):
        build(key, codebook_sice=3)
    with pytest.raises(SettingsError, match="did you mean"):
        find_tokenizer(key[:-1])
