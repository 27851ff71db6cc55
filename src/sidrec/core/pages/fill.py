"""Templates filled in so that what a catalogue says is text, never markup."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from sidrec.core.plain_text import one_line

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

_HERE = "sidrec.core.pages"


def fill(template: str, room: str = _HERE, **values: object) -> Markup:
    """A template of `room` (a package with a folder `templates`) filled in; every value is escaped."""
    from markupsafe import Markup

    return Markup(_environment(room).get_template(template).render(values))


@cache
def _environment(room: str) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader(room),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=_plain,
    )


def _plain(value: Any) -> Any:
    from markupsafe import Markup

    return one_line(value) if isinstance(value, str) and not isinstance(value, Markup) else value
