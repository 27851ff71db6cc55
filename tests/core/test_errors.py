from __future__ import annotations

import inspect

import pytest

from sidrec.core import errors
from sidrec.core.errors import SidrecError

TREE = [value for value in vars(errors).values() if inspect.isclass(value) and issubclass(value, Exception)]


@pytest.mark.parametrize("kind", TREE)
def test_every_error_is_caught_by_the_one_base(kind):
    with pytest.raises(SidrecError, match=r"^cause; next step\.$"):
        raise kind("cause; next step.")


def test_the_drawn_tree_is_the_real_one():
    drawn = {line.split()[1] for line in errors.__doc__.splitlines() if line.startswith(("├", "└"))}
    assert drawn | {"SidrecError"} == {kind.__name__ for kind in TREE}
