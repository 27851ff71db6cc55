"""Which of a file's columns is which of ours."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sidrec.core.errors import InputError, SettingsError
from sidrec.core.plain_text import short
from sidrec.data.schema import ITEM_ID, RATING, TIMESTAMP, TITLE, USER_ID

_TIME = re.compile(r"time|date|datum|zeit|^(ts|when|day|tag)$", re.IGNORECASE)
_OF_EVENTS = (USER_ID, ITEM_ID, TIMESTAMP, RATING)
_OF_ITEMS = (ITEM_ID, TITLE)
MAPPABLE = (*_OF_EVENTS, TITLE)


@dataclass(frozen=True)
class Columns:
    """Ours -> theirs: for both tables, and what only one of them calls so."""

    both: Mapping[str, str] = field(default_factory=dict)
    only_events: Mapping[str, str] = field(default_factory=dict)
    only_items: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        both: Mapping[str, str] | None = None,
        events: Mapping[str, str] | None = None,
        items: Mapping[str, str] | None = None,
    ) -> Columns:
        """Only our own names can be mapped."""
        return cls(
            _checked(both or {}, MAPPABLE, "columns"),
            _checked(events or {}, _OF_EVENTS, "interaction_columns"),
            _checked(items or {}, _OF_ITEMS, "item_columns"),
        )

    @property
    def events(self) -> dict[str, str]:
        return {**self.both, **self.only_events}

    @property
    def items(self) -> dict[str, str]:
        return {**self.both, **self.only_items}

    def over(self, defaults: Mapping[str, str]) -> Columns:
        """These, and where they say nothing the defaults."""
        return Columns({**defaults, **self.both}, self.only_events, self.only_items)

    def as_settings(self) -> dict[str, dict[str, str]]:
        """As part of what a dataset is made from."""
        own = {"interaction_columns": dict(self.only_events), "item_columns": dict(self.only_items)}
        return {"columns": dict(self.both)} | {name: value for name, value in own.items() if value}


def event_columns(present: Sequence[str], mapping: Mapping[str, str], file: object) -> dict[str, str]:
    """Ours -> theirs for an interactions table; a rating and times are taken where there are such."""
    timed = TIMESTAMP in mapping or TIMESTAMP in present or _other_time(present, mapping)
    wanted = {name: mapping.get(name, name) for name in (USER_ID, ITEM_ID, *((TIMESTAMP,) if timed else ()))}
    missing = [theirs for theirs in wanted.values() if theirs not in present]
    if missing == [TIMESTAMP] and TIMESTAMP not in mapping:
        when = next(name for name in present if name not in mapping.values() and _TIME.search(name))
        words = (
            f"no column {TIMESTAMP}; is it {when}? Then say {TIMESTAMP}={when}; or leave {when} out of the file, and"
        )
        raise InputError(f"{file}: {words} the order of its rows counts.", arguments=("interaction_columns",))
    if missing:
        raise _missing(file, missing, present)
    rating = mapping.get(RATING, RATING)
    if RATING in mapping and rating not in present:
        raise _missing(file, [rating], present)
    return wanted | ({RATING: rating} if rating in present else {})


def _other_time(present: Sequence[str], mapping: Mapping[str, str]) -> bool:
    """Whether a column that nobody named looks like the time: then it is not for us to take the order of the rows."""
    return any(_TIME.search(name) for name in present if name not in mapping.values())


def item_columns(present: Sequence[str], columns: Columns, file: object) -> dict[str, str]:
    """Theirs -> ours for an items table; every further column keeps its name."""
    absent = [theirs for theirs in columns.only_items.values() if theirs not in present]
    if absent:
        raise _missing(file, absent, present, "item_columns")
    mapping = columns.items
    mapped = mapping.get(ITEM_ID, ITEM_ID)
    id_column = mapped if mapped in present else ITEM_ID
    if id_column not in present:
        raise _missing(file, [mapped], present, "item_columns")
    renamed = {id_column: ITEM_ID}
    if TITLE in mapping and mapping[TITLE] in present:
        renamed[mapping[TITLE]] = TITLE
    clash = [new for old, new in renamed.items() if old != new and new in present]
    if clash:
        words = f"has a column {clash[0]} already; leave it out of the file or out of the mapped columns."
        raise InputError(f"{file}: {words}", arguments=("columns", "item_columns"))
    return renamed


def theirs(renamed: Mapping[str, str]) -> dict[str, str]:
    """Ours -> theirs of what `item_columns` gave."""
    return {ours: name for name, ours in renamed.items()}


def parse_columns(text: str, argument: str = "columns") -> dict[str, str]:
    """`user_id=reviewerID,item_id=asin` as a mapping ours -> theirs."""
    pairs = [part.partition("=") for part in text.split(",") if part.strip()]
    if any(not equals or not theirs.strip() for _, equals, theirs in pairs):
        words = "write columns as user_id=reviewerID,item_id=asin."
        raise SettingsError(f"{text}: {words}", arguments=(argument,))
    return {ours.strip(): theirs.strip() for ours, _, theirs in pairs}


def _checked(mapping: Mapping[str, str], ours: Sequence[str], argument: str) -> dict[str, str]:
    strange = [name for name in mapping if name not in ours]
    if strange and mapping[strange[0]] in ours:
        turned = f"{mapping[strange[0]]}={strange[0]}"
        raise SettingsError(f"{argument}: our name comes first, then yours: {turned}.", arguments=(argument,))
    if strange:
        words = f"{strange[0]} is not one of ours; map {', '.join(ours)}, other columns keep their names."
        raise SettingsError(f"{argument}: {words}", arguments=(argument,))
    return dict(mapping)


def refuse_repeats(names: Sequence[str], file: object) -> None:
    twice = [name for column, name in enumerate(names) if name in names[:column]]
    if twice:
        raise InputError(f"{file}, row 1: the column {short(twice[0])} appears twice; rename one of them.")


def _missing(
    file: object, missing: Sequence[str], present: Sequence[str], argument: str = "interaction_columns"
) -> InputError:
    word = "column" if len(missing) == 1 else "columns"
    seen = ", ".join(name[:60] for name in list(present)[:20]) or "none"
    example = f"{ITEM_ID}=sku,{TITLE}=name" if argument == "item_columns" else f"{USER_ID}=reviewerID,{ITEM_ID}=asin"
    words = f"it has: {seen}. Say which columns they are, for example {example}."
    return InputError(f"{file}: no {word} {', '.join(missing)}; {words}", arguments=(argument,))
