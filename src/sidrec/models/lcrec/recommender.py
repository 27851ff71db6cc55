"""LC-Rec as a recommender: a causal language model that speaks semantic IDs and the words of the catalogue."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from sidrec.core.artifacts import Artifact
from sidrec.core.errors import ArtifactError, InputError
from sidrec.core.progress import Progress
from sidrec.core.settings import Settings
from sidrec.core.storage import sha256_of_folder
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Dataset
from sidrec.decoding.diffusion import Predict
from sidrec.embeddings.item_text import item_texts
from sidrec.models.id_search import Ask, SearchSettings
from sidrec.models.item_ids import ItemIds
from sidrec.models.lcrec import lessons
from sidrec.models.lcrec.config import LCRecSettings
from sidrec.models.lcrec.language_model import named_model, small_model, with_adapter
from sidrec.models.lcrec.network import IdSpeaker
from sidrec.models.lcrec.objective import LessonObjective
from sidrec.models.lcrec.predict import make_predict
from sidrec.models.lcrec.words import Words
from sidrec.models.sid_generator import SidGenerator, Validate
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.training.objective import Objective

ROWS_AT_ONCE = 2048
"""Beams of all users of a search: larger temporaries only cost page faults."""
BASE = "base"


class LCRec(SidGenerator[IdSpeaker]):
    """Tuned to name the next item, titles of IDs, IDs of titles and of what somebody looks for."""

    key = "lc-rec"
    settings_class: ClassVar[type[Settings]] = LCRecSettings
    settings: LCRecSettings
    _words: Words | None = None
    _base_hash: str | None = None

    def _check(self, data: Dataset) -> None:
        super()._check(data)
        self._hash_of_base()
        item_texts(data.catalog)

    def _fit(self, data: Dataset, workdir: Path | None, progress: Progress) -> ItemIds:
        if self.settings.base is not None:
            self._words = Words.of_base(self.settings.base)
        elif self._earlier is not None:
            self._words = Words.read_files(self._earlier)
        else:
            self._words = Words.learned([*item_texts(data.catalog), lessons.CHOSEN], self.settings.n_words)
        return super()._fit(data, workdir, progress)

    def _build(self, ids: SemanticIds) -> IdSpeaker:
        settings = self.settings
        if settings.base is None:
            return IdSpeaker(ids, small_model(settings, self._spoken().size), settings.dropout)
        return IdSpeaker(ids, with_adapter(named_model(settings.base), settings.lora), settings.dropout)

    def _objective(self, data: Dataset, ids: SemanticIds, validate: Validate | None) -> Objective:  # noqa: ARG002
        return LessonObjective(data, self.settings, self._spoken(), validate)

    def _predict(self, network: IdSpeaker, ask: Ask, search: SearchSettings) -> Predict:  # noqa: ARG002
        opening = [network.begin, *self._spoken().encode(lessons.CHOSEN, self.settings.text_tokens)]
        return make_predict(network, opening, ask.items)

    def _users_at_once(self, network: IdSpeaker, search: SearchSettings) -> int:  # noqa: ARG002
        return max(1, ROWS_AT_ONCE // search.beam_size)

    def _with_items(self, network: IdSpeaker, ids: SemanticIds) -> IdSpeaker:
        return network.with_items(ids)

    def _spoken(self) -> Words:
        assert self._words is not None
        return self._words

    # ---- files: what was learned, and the name and hash of what was not ---------------------------------------------

    def _made_from(self) -> dict[str, str]:
        base = self._hash_of_base()
        return {**super()._made_from(), **({} if base is None else {BASE: base})}

    def _hash_of_base(self) -> str | None:
        base = self.settings.base
        if base is not None and self._base_hash is None:
            if not base.is_dir():
                raise InputError(f"{base}: no such directory; base is one with a Hugging Face causal language model.")
            self._base_hash = sha256_of_folder(base)
        return self._base_hash

    def _write_files(self, directory: Path) -> None:
        super()._write_files(directory)
        if self.settings.base is None:
            self._spoken().write_files(directory)

    def _read_files(self, artifact: Artifact, catalog: Catalog) -> ItemIds:
        base = self.settings.base
        if base is None:
            self._words = Words.read_files(artifact)
        elif not base.is_dir():
            raise ArtifactError(f"{artifact.path}: was tuned on the language model at {base}, which is not there.")
        elif self._hash_of_base() != artifact.made_from.get(BASE):
            raise ArtifactError(f"{artifact.path}: was tuned on another language model than lies at {base} now.")
        else:
            self._words = Words.of_base(base)
        return super()._read_files(artifact, catalog)
