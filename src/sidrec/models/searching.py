"""Searching as the settings say, or in another way for one call or for a copy of the model."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

from sidrec.core.settings import Settings
from sidrec.models.capabilities import Searches


class SearchesBySettings(Searches):
    """For models whose settings have a section `search`."""

    settings: Any

    def parsed_search(self, search: Settings | Mapping[str, Any]) -> Settings:
        own = self.search
        if isinstance(search, type(own)):
            return search
        named = search.model_dump(exclude_unset=True) if isinstance(search, Settings) else search
        return type(own).parse({**own.model_dump(), **named}, owner="search", where="search")

    def with_search(self, search: Settings | Mapping[str, Any]) -> Self:
        model = copy.copy(self)
        model.settings = self.settings.model_copy(update={"search": self.parsed_search(search)})
        return model

    def asked_by(self) -> dict[str, Any]:
        """What decides its answers beside what it has learned."""
        return {"search": self.search.model_dump(mode="json")}
