from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from pydantic import Field, ValidationError, model_validator

from sidrec.core.errors import SettingsError
from sidrec.core.settings import LENGTH, RUN, SEARCH, Settings, merge, parse_assignments, read_toml


class Inner(Settings):
    epochs: int = Field(10, ge=1)
    learning_rate: float = 1e-3


class Outer(Settings):
    d_model: int = 64
    attention: str = "causal"
    training: Inner = Inner()
    name: str


def problems(values, **words) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        Outer.parse(values, owner="llada-rec", where="mine.toml", **words)
    return str(caught.value).splitlines()


class Longer(Settings):
    """A section whose defaults are its owner's, two levels deep."""

    model: Outer = Outer(name="x", training=Inner(epochs=99))


def test_a_section_named_in_part_keeps_what_its_owner_chose():
    chosen = Longer.parse({"model": {"training": {"learning_rate": 0.5}}}, owner="longer")
    assert chosen.model.training == Inner(epochs=99, learning_rate=0.5)
    assert chosen.model.name == "x"
    assert Longer.model_validate({"model": Outer(name="y")}).model == Outer(name="y")


class Loose(Settings):
    options: Mapping[str, Any] = {"a": 1, "b": 2}


def test_options_named_in_part_keep_the_others_too():
    assert Loose.parse({"options": {"b": 3}}, owner="loose").options == {"a": 1, "b": 3}


class Base(Settings):
    epochs: Annotated[int, LENGTH] = 10
    minutes: Annotated[float | None, RUN] = None
    width: tuple[int, ...] = (1, 2)
    search: Annotated[Inner, SEARCH] = Inner()


class Derived(Base):
    epochs: int = Field(5, ge=1)  # a new default does not make it another kind of setting
    minutes: float | None = 3.0
    section: Base = Base(width=(7,))


def test_the_method_is_what_is_not_marked():
    assert Derived().method_values() == {
        "epochs": 5,
        "width": [1, 2],
        "section": {"epochs": 10, "width": [7]},
    }
    assert Derived().method_values(LENGTH) == {"width": [1, 2], "section": {"width": [7]}}


def test_a_misspelt_key_gets_the_nearest_name():
    assert problems({"name": "x", "d_modle": 128}) == [
        "mine.toml: d_modle is not a setting of llada-rec; did you mean d_model?"
    ]


def test_the_hint_looks_at_the_level_of_the_key_and_the_section_is_named():
    assert problems({"name": "x", "training": {"epoch": 3}}, section="model") == [
        "mine.toml: model.training.epoch is not a setting of llada-rec; did you mean epochs?"
    ]


def test_a_key_like_no_other_lists_what_there_is():
    (line,) = problems({"name": "x", "training": {"zzzzzzzz": 3}})
    assert line.endswith("training.zzzzzzzz is not a setting of llada-rec; it has: epochs, learning_rate")


def test_every_problem_at_once():
    lines = problems({"d_model": "wide", "training": {"epochs": 0}, "atention": "x"})
    assert len(lines) == 4
    assert "mine.toml: name is needed by llada-rec and not given" in lines
    assert any("d_model: should be a valid integer" in line and "(got 'wide')" in line for line in lines)
    assert any("training.epochs: should be greater than or equal to 1 (got 0)" in line for line in lines)
    assert any("atention is not a setting of llada-rec; did you mean attention?" in line for line in lines)


def test_a_huge_wrong_value_stays_one_short_line():
    (line,) = problems({"name": "x", "d_model": "9" * 5000 + "x"})
    assert len(line) < 200


def test_settings_do_not_change():
    settings = Outer.parse({"name": "x"}, owner="llada-rec")
    with pytest.raises(ValidationError):
        settings.d_model = 3  # type: ignore[misc]
    assert settings == Outer(name="x")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("1e-3", 1e-3),
        ("true", True),
        ("[1, 2]", [1, 2]),
        ("sasrec", "sasrec"),
        ('"two words"', "two words"),
        ("two words", "two words"),
        ("#fff", "#fff"),
        ('a"b\\c', 'a"b\\c'),
        ("", ""),
        ("a=b", "a=b"),
        ("{x = 1}", {"x": 1}),
        ("__import__('os').getcwd()", "__import__('os').getcwd()"),
    ],
)
def test_an_assignment_is_read_as_toml_and_never_run(text, value):
    assert parse_assignments([f"model.d = {text}"]) == {"model": {"d": value}}


def test_assignments_join_and_the_last_one_wins():
    given_ = ["model.a=1", "model.b=2", "seed=3", "model.a=4"]
    assert parse_assignments(given_) == {"model": {"a": 4, "b": 2}, "seed": 3}
    assert parse_assignments([]) == {}


@pytest.mark.parametrize("text", ["epochs", "=3", "  =3", "a..b=1", "two words=1", "a=one\ntwo"])
def test_an_assignment_that_is_none(text):
    with pytest.raises(SettingsError, match=r"write a setting as name=value|cannot be read as TOML"):
        parse_assignments([text])


@hypothesis_settings(max_examples=100, deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=20))
def test_any_text_is_a_value_or_a_plain_error(text):
    try:
        assert "key" in parse_assignments([f"key={text}"])
    except SettingsError as error:
        assert error.arguments == ("set",)


def test_merge_goes_section_by_section_and_leaves_its_arguments():
    base, over = {"a": {"x": 1, "y": 2}, "b": 3}, {"a": {"y": 5}, "b": {"c": 1}, "d": 4}
    assert merge(base, over) == {"a": {"x": 1, "y": 5}, "b": {"c": 1}, "d": 4}
    assert base == {"a": {"x": 1, "y": 2}, "b": 3}


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "no such file"), (b"a = = 1", "not valid TOML"), (b"a = '\xff'", "not valid UTF-8")],
)
def test_an_unreadable_recipe(tmp_path, content, words):
    path = tmp_path / "recipe.toml"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SettingsError, match=f"recipe.toml: {words}"):
        read_toml(path)


def test_a_readable_recipe(tmp_path):
    path = tmp_path / "recipe.toml"
    path.write_text('[model]\nkey = "größe"\n', encoding="utf-8")
    assert read_toml(path) == {"model": {"key": "größe"}}


def test_settings_that_do_not_go_together_are_one_plain_sentence():
    class Pair(Settings):
        low: int = 0
        high: int = 1

        @model_validator(mode="after")
        def _ordered(self):
            if self.low > self.high:
                raise ValueError("Low is above high")
            return self

    with pytest.raises(SettingsError) as error:
        Pair.parse({"low": 3}, owner="pair", where="mine.toml")
    assert str(error.value) == "mine.toml: low is above high"


def test_hints_look_into_sections() -> None:
    assert problems({"epochs": 3, "name": "x"}) == [
        "mine.toml: epochs is not a setting of llada-rec; did you mean training.epochs?"
    ]
    with pytest.raises(SettingsError, match=r"learning_rate is not a setting of x; did you mean model.training.learn"):
        Longer.parse({"learning_rate": 1}, owner="x")
