"""`import sidrec` offers everything by name, costs nothing, and shows type checkers what it really gives."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import sidrec

ASKED = """LLaDARec LLaDARecPlus SASRec SASRecSoftmax GRU4Rec BERT4Rec FMLPRec LRURec DreamRec DiffuRec Popularity
Dataset read_dataset load evaluate compare tokenize embed models SidrecError __version__ recommend_many benchmark report
demo_shop model register VQRec RPG TIGER LCRec tune"""


def test_every_name_is_there():
    assert sorted(ASKED.split()) == sorted(sidrec.__all__) == dir(sidrec)
    assert all(getattr(sidrec, name) is not None for name in sidrec.__all__)
    with pytest.raises(AttributeError, match="no attribute 'LLaDaRec'"):
        sidrec.LLaDaRec  # noqa: B018


def test_type_checkers_see_the_very_objects():
    """The imports under TYPE_CHECKING and the table of places cannot drift apart."""
    tree = ast.parse(Path(sidrec.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {alias.name: node.module for node in block.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen.pop("models") == "sidrec.models.registry"
    assert {*seen, "models", "__version__"} == {*sidrec.__all__}
    assert seen == sidrec._MODULE_OF


def test_the_import_stays_light():
    heavy = ("torch", "numpy", "polars", "pydantic")
    code = f"import sys, sidrec; dir(sidrec); sys.exit(', '.join(set(sys.modules) & {set(heavy)}) or 0)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert found.returncode == 0, found.stderr


def test_models_are_listed_one_in_a_line():
    lines = repr(sidrec.models()).split("\n")
    assert len(lines) == len(sidrec.models()) >= 10
    assert any(
        line.split(maxsplit=2) == ["llada-rec", "semantic-id", "masked discrete diffusion of IDs"] for line in lines
    )
    listed = import_module("sidrec.models.registry").models()  # the room, too, has been imported
    assert sidrec.models() == listed
