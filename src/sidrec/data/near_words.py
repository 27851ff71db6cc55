"""Which word of a column was perhaps meant; quick, because a service is asked for words that are not there, too."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

_LOOKED_AT = 200
"""Words that are compared letter by letter at most."""


class NearWords:
    """Of many words the one that is the same but for its case, or else the nearest with the same first letter."""

    def __init__(self, words: Sequence[str]) -> None:
        self._same: dict[str, str] = {}
        self._by_letter: dict[str, list[str]] = {}
        for word in words:
            low = word.lower()
            self._same.setdefault(low, word)
            group = self._by_letter.setdefault(low[:1], [])
            if len(group) < _LOOKED_AT:
                group.append(word)

    def to(self, word: str) -> str | None:
        """None where nothing is near."""
        low = word.lower()
        if low in self._same:
            return self._same[low]
        found = difflib.get_close_matches(word, self._by_letter.get(low[:1], []), n=1)
        return found[0] if found else None
