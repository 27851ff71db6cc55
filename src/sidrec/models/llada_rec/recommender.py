"""LLaDA-Rec: masked discrete diffusion over semantic IDs."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any, ClassVar, Self

from sidrec.core.progress import Progress
from sidrec.core.settings import Settings
from sidrec.data.dataset import Dataset
from sidrec.decoding.diffusion import Predict
from sidrec.models.capabilities import Exports
from sidrec.models.id_search import Ask, SearchSettings
from sidrec.models.llada_rec.config import LLaDARecSettings, LLaDASearch
from sidrec.models.llada_rec.engines import ExportedNetwork
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.models.llada_rec.objective import make_objective
from sidrec.models.llada_rec.predict import CodePredictor, make_predict
from sidrec.models.llada_rec.presets import AUTO
from sidrec.models.llada_rec.sizing import sized
from sidrec.models.sid_generator import SidGenerator, Validate
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.training.objective import Objective

SHARED_HISTORY_USERS, REPEATED_HISTORY_USERS = 64, 8
"""Users per search: with a shared history many are cheap; with a repeated one each brings all its beams."""


class LLaDARec(SidGenerator[MaskPredictor], Exports):
    """The paper's method: a bidirectional Transformer names the code behind every [MASK] of the next item's ID."""

    key = "llada-rec"
    settings_class: ClassVar[type[Settings]] = LLaDARecSettings
    settings: LLaDARecSettings
    engine = "torch"
    _exported: ExportedNetwork | None = None

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        super().__init__(settings, **values)
        self._asked, self._settled = self.settings, ""
        self.fits_size = settings is None and values.get("preset", AUTO) == AUTO

    def settle(self, data: Dataset, progress: Progress) -> None:
        if self.fits_size and not (self._settled and self._settled == data.fingerprint):
            found = sized(self._asked, data)
            self.settings, self._settled = found.settings, data.fingerprint
            progress.note(f"{self.key}: {found.words}")

    def _build(self, ids: SemanticIds) -> MaskPredictor:
        self.engine, self._exported = "torch", None
        return MaskPredictor(ids, self.settings)

    def _objective(self, data: Dataset, ids: SemanticIds, validate: Validate | None) -> Objective:
        return make_objective(data.train_sequences(), ids.n_codes, self.settings, validate)

    def _with_items(self, network: MaskPredictor, ids: SemanticIds) -> MaskPredictor:
        return network.with_items(ids)

    def _predict(self, network: MaskPredictor, ask: Ask, search: SearchSettings) -> Predict:
        assert isinstance(search, LLaDASearch)
        asked: CodePredictor = network if self._exported is None else self._exported.with_items_of(network)
        return make_predict(asked, ask.items, frozen_history=search.frozen_history)

    def _users_at_once(self, network: MaskPredictor, search: SearchSettings) -> int:
        return REPEATED_HISTORY_USERS if self._dear_beams(network, search) else SHARED_HISTORY_USERS

    def _dear_beams(self, network: MaskPredictor, search: SearchSettings) -> bool:
        assert isinstance(search, LLaDASearch)
        return not (network.history_is_fixed or search.frozen_history)

    def export(self, out: Path, progress: Progress | None = None) -> Path:
        from sidrec.models.llada_rec.export import export

        return export(self._fitted(), out, progress)

    def with_engine(self, engine: str, graphs: Path | None = None, progress: Progress | None = None) -> Self:
        """The same model run by `torch`, `onnx` (ONNX Runtime) or `openvino`: the same results to 1e-4.

        Exported graphs are kept in the directory `graphs` and found there again; without it they are made for now.
        """
        from sidrec.models.llada_rec.engines import check_engine
        from sidrec.models.llada_rec.export import run_by

        check_engine(engine)
        model, network = copy.copy(self), self._fitted()
        model._exported = None if engine == "torch" else run_by(engine, network, graphs, progress)
        model.engine = engine
        return model
