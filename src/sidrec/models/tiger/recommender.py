"""TIGER as a recommender; TIGER-SAS and LETTER are rows of it with other IDs and another temperature."""

from __future__ import annotations

from typing import ClassVar

import torch

from sidrec.core.settings import Settings
from sidrec.data.dataset import Dataset
from sidrec.decoding.diffusion import Predict
from sidrec.models.id_search import Ask, SearchSettings
from sidrec.models.sid_generator import SidGenerator, Validate
from sidrec.models.tiger.config import TigerSettings
from sidrec.models.tiger.network import IdWriter
from sidrec.models.tiger.objective import NextIdObjective
from sidrec.models.tiger.predict import make_predict
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.training.objective import Objective

ROWS_AT_ONCE = 2048
"""Beams of all users of a search: larger temporaries only cost page faults."""


class TIGER(SidGenerator[IdWriter]):
    """Reads user and history as codes and writes the next item's ID, code by code."""

    key = "tiger"
    settings_class: ClassVar[type[Settings]] = TigerSettings
    settings: TigerSettings

    def _build(self, ids: SemanticIds) -> IdWriter:
        return IdWriter(ids, self.settings)

    def _objective(self, data: Dataset, ids: SemanticIds, validate: Validate | None) -> Objective:
        return NextIdObjective(data, ids.n_codes, self.settings, validate)

    def _predict(self, network: IdWriter, ask: Ask, search: SearchSettings) -> Predict:  # noqa: ARG002
        nobody = torch.full((len(ask.items),), network.nobody)
        users = nobody if ask.users is None else torch.from_numpy(network.user_tokens(ask.users))
        return make_predict(network, ask.items, users)

    def _users_at_once(self, network: IdWriter, search: SearchSettings) -> int:  # noqa: ARG002
        return max(1, ROWS_AT_ONCE // search.beam_size)

    def _with_items(self, network: IdWriter, ids: SemanticIds) -> IdWriter:
        return network.with_items(ids)
