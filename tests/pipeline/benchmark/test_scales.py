from __future__ import annotations

import pytest

from sidrec.models.llada_rec.config import LLaDARecSettings
from sidrec.models.popularity import PopularitySettings
from sidrec.models.registry import MODELS
from sidrec.models.sasrec import SASRecSettings
from sidrec.pipeline.benchmark.scales import SCALES, fitting, with_tokenizer
from sidrec.sids.registry import TOKENIZERS


def test_only_settings_that_exist_are_laid_over():
    wanted = {"d_model": 8, "search": {"beam_size": 3}, "training": {"epochs": 2, "no_such": 1}}
    assert fitting(SASRecSettings, wanted) == {"d_model": 8, "training": {"epochs": 2}}
    assert fitting(LLaDARecSettings, wanted)["search"] == {"beam_size": 3}


def test_the_models_own_tokenizer_options_win_over_the_scale():
    values = {"tokenize": {"tokenizer": "opq", "options": {"codebook_size": 9}}}
    found = with_tokenizer(LLaDARecSettings, values, {"codebook_size": 16, "pca": 32, "hidden": [64]})
    assert found["tokenize"]["options"] == {"codebook_size": 9, "pca": 32}  # OPQ has no hidden layers


def test_a_model_without_tokenizer_is_left_alone():
    assert with_tokenizer(PopularitySettings, {}, {"pca": 32}) == {}


def test_the_tokenizer_a_model_takes_by_itself_takes_what_it_knows():
    found = with_tokenizer(SASRecSettings, {}, {"pca": 32, "hidden": [64]})
    assert found == {"tokenize": {"options": {"pca": 32}}}  # OPQ has no hidden layers


@pytest.mark.parametrize("scale", SCALES.values(), ids=list(SCALES))
def test_every_scale_suits_every_model_and_tokenizer(scale):
    for row in MODELS:
        cls = row.load_class().settings_class
        for tokenizer in TOKENIZERS:
            over = {"tokenize": {"tokenizer": tokenizer.key}} if "tokenize" in cls.model_fields else {}
            values = with_tokenizer(cls, {**fitting(cls, scale.settings), **over}, scale.tokenizer)
            settings = cls.parse(values, owner=row.key)
            if "tokenize" in cls.model_fields:
                settings.tokenize.build()
