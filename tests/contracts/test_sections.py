"""Naming one setting of a section changes that setting and nothing else, whatever has the section.

And which settings make another model: all but those of the run and of the search, in every row of the registries.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import ValidationError

import sidrec
from sidrec.core.errors import SettingsError
from sidrec.core.settings import Settings
from sidrec.models.registry import MODELS
from sidrec.sids.registry import TOKENIZERS

CLASSES = {row.key: row.load_class().settings_class for row in (*MODELS, *TOKENIZERS)}
OTHER_VALUES = (1, 0.5, 64, 32, 0.25, True, False, "x", None, (0.5, 0.5), (12, 11), ("x",), {"x": 1})

GOES_ALONG = {("embedding", "encoder")}
"""Says that vectors are given, where they are."""


def sections(cls: type[Settings], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Settings]]:
    """Every section below a settings class, by its path, with its default."""
    for name, field in cls.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if isinstance(default, Settings):
            yield (*path, name), default
            yield from sections(type(default), (*path, name))


def words_of(annotation: Any) -> list[Any]:
    """The words that a choice offers."""
    parts = get_args(annotation)
    return [word for part in parts for word in words_of(part)] + [part for part in parts if isinstance(part, str)]


def nested(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    for name in reversed(path):
        value = {name: value}
    return value  # type: ignore[no-any-return]


def leaves(values: dict[str, Any], path: tuple[str, ...] = ()) -> dict[tuple[str, ...], Any]:
    found: dict[tuple[str, ...], Any] = {}
    for name, value in values.items():
        inner = isinstance(value, dict) and value
        found |= leaves(value, (*path, name)) if inner else {(*path, name): value}
    return found


def with_another_value(cls: type[Settings], path: tuple[str, ...], annotation: Any) -> Settings | None:
    """The settings with only this one named, at the first value that it takes and does not have already.

    None for the few that are refused without another beside them, such as embedding.whiten without embedding.pca.
    """
    words = words_of(annotation)
    for value in (*OTHER_VALUES, *words, *((word,) for word in words)):
        try:
            changed = cls.model_validate(nested(path, value))
        except ValidationError:
            continue
        if changed != cls():
            return changed
    return None


def changes(cls: type[Settings]) -> Iterator[tuple[tuple[str, ...], Settings]]:
    """Every setting by its path, with the settings in which only this one is another."""
    for path, section in [((), cls()), *sections(cls)]:
        for name, field in type(section).model_fields.items():
            if not isinstance(getattr(section, name), Settings):
                changed = with_another_value(cls, (*path, name), field.annotation)
                if changed is not None:
                    yield (*path, name), changed


@pytest.mark.parametrize("key", CLASSES)
def test_a_named_setting_of_a_section_leaves_the_others(key):
    cls = CLASSES[key]
    before = leaves(cls().model_dump())
    for path, changed in changes(cls):
        after = leaves(changed.model_dump())
        different = {place for place in before | after if before.get(place) != after.get(place)} - GOES_ALONG
        assert {place[: len(path)] for place in different} == {path} - GOES_ALONG


OF_THE_RUN = {"training." + name for name in ("minutes", "device", "checkpoint_seconds", "keep_state", "trackers")}
OF_THE_RUN |= {"embedding.batch_size", "embedding.device", "index_from"}


@pytest.mark.parametrize("key", CLASSES)
def test_only_the_method_makes_another_model(key):
    cls = CLASSES[key]
    usual = cls().method_values()
    for path, changed in changes(cls):
        apart = ".".join(path) in OF_THE_RUN or path[0] == "search"
        try:
            assert (changed.method_values() == usual) == apart, path
        except SettingsError:  # the tokenizer "x" is not one
            assert path[0] == "tokenize"


@pytest.mark.parametrize("options", [{"n_codes": 4}, {"training": {"device": "cpu", "minutes": 3}}])
def test_a_tokenizer_by_its_defaults_or_another_run_is_the_same_method(options):
    plain, named = (sidrec.LLaDARec(tokenize=given).settings for given in ({}, {"options": options}))
    assert plain.method_values() == named.method_values()
    other = sidrec.LLaDARec(tokenize={"options": {**options, "codebook_size": 8}}).settings
    assert plain.method_values() != other.method_values()


def test_model_selection_survives_another_number_of_epochs():
    training = sidrec.LLaDARec(training={"epochs": 12}).settings.training
    assert (training.epochs, training.metric, training.patience) == (12, "ndcg@10", 20)
