"""Which of a file's columns is which of ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.plain_text import short
from sidrec.data.schema import ITEM_ID, RATING, TIMESTAMP, TITLE, USER_ID

MAPPABLE = (USER_ID, ITEM_ID, TIMESTAMP, RATING, TITLE)


def event_columns(present: Sequence[str], mapping: Mapping[str, str], file: object) -> dict[str, str]:
    """Ours -> theirs for an interactions table; a rating is taken where there is one."""
    wanted = {name: mapping.get(name, name) for name in (USER_ID, ITEM_ID, TIMESTAMP)}
    missing = [theirs for theirs in wanted.values() if theirs not in present]
    if missing:
        raise _missing(file, missing, present)
    rating = mapping.get(RATING, RATING)
    if RATING in mapping and rating not in present:
        raise _missing(file, [rating], present)
    return wanted | ({RATING: rating} if rating in present else {})


def item_columns(present: Sequence[str], mapping: Mapping[str, str], file: object) -> dict[str, str]:
    """Theirs -> ours for an items table; every further column keeps its name."""
    mapped = mapping.get(ITEM_ID, ITEM_ID)
    id_column = mapped if mapped in present else ITEM_ID
    if id_column not in present:
        raise _missing(file, [mapped], present)
    renamed = {id_column: ITEM_ID}
    if TITLE in mapping and mapping[TITLE] in present:
        renamed[mapping[TITLE]] = TITLE
    clash = [new for old, new in renamed.items() if old != new and new in present]
    if clash:
        words = f"has a column {clash[0]} already; leave it out of the file or out of the mapped columns."
        raise InputError(f"{file}: {words}", arguments=("columns",))
    return renamed


def parse_columns(text: str) -> dict[str, str]:
    """`user_id=reviewerID,item_id=asin` as a mapping ours -> theirs."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if any(not equals or not theirs.strip() for _, equals, theirs in pairs):
        words = "write columns as user_id=reviewerID,item_id=asin."
        raise SettingsError(f"{text}: {words}", arguments=("columns",))
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def check_columns(mapping: Mapping[str, str]) -> dict[str, str]:
    """Only our own names can be mapped."""
    strange = [name for name in mapping if name not in MAPPABLE]
    if strange:
        raise SettingsError(f"columns: {strange[0]} is not one of ours; map {', '.join(MAPPABLE)}.")
    return dict(mapping)


def refuse_repeats(names: Sequence[str], file: object) -> None:
    twice = [name for column, name in enumerate(names) if name in names[:column]]
    if twice:
        raise InputError(f"{file}, row 1: the column {short(twice[0])} appears twice; rename one of them.")


def _missing(file: object, missing: Sequence[str], present: Sequence[str]) -> InputError:
    word = "column" if len(missing) == 1 else "columns"
    seen = ", ".join(name[:60] for name in list(present)[:20]) or "none"
    return InputError(
        f"{file}: no {word} {', '.join(missing)}; it has: {seen}. "
        f"Say which columns they are, for example {USER_ID}=reviewerID,{ITEM_ID}=asin.",
        arguments=("columns",),
    )
