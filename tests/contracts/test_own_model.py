"""The example of docs/own_model.md passes what every model has to pass."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from contracts import test_recommenders as suite
from sidrec.models import registry

PAGE = Path(__file__).resolve().parents[2] / "docs" / "own_model.md"
PROMISES = sorted(name for name in vars(suite) if name.startswith("test_"))


@pytest.fixture(scope="module", autouse=True)
def own_model():
    code = re.search(r"^```python\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    exec(compile(code.group(1), str(PAGE), "exec"), {"__name__": "own_model"})
    yield
    del registry.REGISTRY.added["follows"]


@pytest.mark.parametrize("name", PROMISES)
def test_the_example_keeps_the_promise(name, tmp_path):
    promise = getattr(suite, name)
    wanted = promise.__code__.co_varnames[: promise.__code__.co_argcount]
    promise(**{argument: {"key": "follows", "tmp_path": tmp_path}[argument] for argument in wanted})
