"""LLaDA-Rec Plus as a recommender: one pass, then the exact best of all allowed items."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
import torch
from torch import Tensor

from sidrec.core.settings import Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.data.item_filter import FilterLike
from sidrec.decoding.marginals import code_marginals
from sidrec.decoding.search_space import ItemSearchSpace
from sidrec.models.capabilities import Explains, Steers
from sidrec.models.coded_scorer import CodedScorer
from sidrec.models.id_search import Generation, IdSearch, SearchSettings
from sidrec.models.item_objective import ItemObjective, scores_of, user_queries
from sidrec.models.llada_rec_plus.config import LLaDARecPlusSettings
from sidrec.models.llada_rec_plus.network import PlusNetwork
from sidrec.models.llada_rec_plus.objective import PlusObjective
from sidrec.models.llada_rec_plus.steering import Condition
from sidrec.models.ranking import Ranking, Recommendations
from sidrec.models.request import Request
from sidrec.models.samples import Samples
from sidrec.models.stock import Stock
from sidrec.nn.item_vectors import ItemFeatures


class LLaDARecPlus(CodedScorer, Explains, Steers):
    """Catalogue-exact masked diffusion over items that are sums of identity, codes and text."""

    key = "llada-rec-plus"
    settings_class: ClassVar[type[Settings]] = LLaDARecPlusSettings
    settings: LLaDARecPlusSettings
    network: PlusNetwork | None
    _condition: Condition | None = None

    # ---- learning ---------------------------------------------------------------------------------------------------

    def _build(self, n_items: int, features: ItemFeatures) -> PlusNetwork:
        return PlusNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:
        samples = Samples.windows(data.train_sequences(), self.settings.max_history)
        codes = None if features.codes is None else features.codes.numpy()
        return PlusObjective(samples, validation, self.settings, codes, data.train_counts())

    def _fitted(self) -> PlusNetwork:
        return cast(PlusNetwork, super()._fitted())

    # ---- recommending under a condition, and showing how ------------------------------------------------------------

    def asked_by(self) -> dict[str, Any]:
        return {"condition": repr(self._condition)}

    def steered(self, like: str | None, keep: Sequence[int | str]) -> Self:
        stock = self.stock
        n_slots = 0 if stock.ids is None else stock.ids.codes.shape[1]
        model = copy.copy(self)
        model._condition = Condition.parse(stock.catalog, like, keep, n_slots)
        return model

    def recommend(
        self,
        histories: Sequence[Sequence[str]],
        k: int = 10,
        *,
        like: str | None = None,
        keep: Sequence[int | str] = (),
        **rest: Any,
    ) -> Recommendations:
        """The k best items for each history; with `like`, only such as agree with that item in `keep`.

        `keep` names slots of its code (from 1, as `explain` shows them) and columns: `like="B01", keep=["brand"]`.
        """
        model = self if like is None and len(keep) == 0 else self.steered(like, keep)
        return super(LLaDARecPlus, model).recommend(histories, k, **rest)

    def _ranked(self, request: Request, stock: Stock) -> Ranking:
        """The condition binds the popular items of somebody unknown, too."""
        return super()._ranked(self._conditioned(request, stock), stock)

    def _queries(self, request: Request, stock: Stock) -> Tensor:
        network, condition = self._fitted(), self._condition
        learned = network.target_row and self.settings.partly_hidden_weight > 0
        if condition is None or not learned:
            return super()._queries(request, stock)
        kept = torch.zeros(network.items.n_slots, dtype=torch.int64, device=network.items.device)
        kept[self._shown_slots(condition, stock)] = 1
        shown = network.items.tokens_of(torch.tensor(condition.item, device=kept.device)) * kept

        def ask(items: Tensor) -> Tensor:
            return network.queries_given(items, shown.expand(len(items), -1))

        return user_queries(network, request.histories, self.settings.max_history, ask=ask)

    def _shown_slots(self, condition: Condition, stock: Stock) -> list[int]:
        """Slots of the network: those of the semantic ID, then one for each attribute."""
        columns = () if self._facts.attributes is None else self._facts.attributes.columns
        first = 0 if stock.ids is None else stock.ids.codes.shape[1]
        kept = [first + slot for slot, name in enumerate(columns) if name in condition.columns]
        return [*condition.slots, *kept]

    def _conditioned(self, request: Request, stock: Stock) -> Request:
        if self._condition is None:
            return request
        codes = None if stock.ids is None else stock.ids.codes
        return request.without(~self._condition.agreeing(stock.catalog, codes))

    def explain(
        self,
        history: Sequence[str],
        k: int = 10,
        *,
        exclude_seen: bool = False,
        allow: FilterLike | None = None,
        deny: FilterLike | None = None,
        user: str | None = None,
    ) -> Generation:
        """The one pass told slot by slot: code probabilities are sums of the items' own, so all steps add up."""
        stock, ids = self.stock, self.semantic_ids
        asked = stock.asked_for_one(history, k, allow, deny, exclude_seen=exclude_seen).by(user)
        request = self._conditioned(asked, stock)
        codes, width = torch.from_numpy(ids.codes).long(), max(ids.codebook_sizes)
        predict = code_marginals(self._log_probs(request, stock), codes, width)
        space = ItemSearchSpace(ids.codes, ids.codebook_sizes) if stock.ids is None else stock.ids.search_space
        found = IdSearch(space, SearchSettings(), lambda _: predict, self.settings.max_history, 1).explain(request)
        return dataclasses.replace(found, titles=stock.catalog.titles)

    @torch.no_grad()
    def _log_probs(self, request: Request, stock: Stock) -> Tensor:
        """p(i | history) of one user over the items that may be returned."""
        network = self._fitted()
        table = network.item_table()[: len(stock)]
        scores = scores_of(network, self._queries(request, stock), table, request.histories)(slice(0, 1))[0]
        forbidden = np.zeros(len(stock), bool) if request.allowed is None else ~request.allowed
        if request.exclude_seen:
            forbidden[request.histories.items] = True
        return scores.masked_fill(torch.from_numpy(forbidden), -torch.inf).log_softmax(0)
