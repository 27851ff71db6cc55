"""RPG: long unordered IDs, every digit predicted at once; a walk over a graph of items finds the best ID."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal, Self, cast

import numpy as np
import polars as pl
import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional as F

from sidrec.core.choices import Between, Space
from sidrec.core.errors import InputError, TrainingError
from sidrec.core.settings import SEARCH, Settings
from sidrec.data.dataset import Cases, Dataset
from sidrec.decoding.graph_walk import WalkPlan, best_of, walk
from sidrec.decoding.item_graph import ItemGraph
from sidrec.decoding.permits import Permits
from sidrec.decoding.score_items import summed_scores
from sidrec.embeddings.given_vectors import GivenVectors
from sidrec.models.causal_transformer import CausalTransformer
from sidrec.models.coded_scorer import CodedScorer
from sidrec.models.item_features import ItemVectorSettings
from sidrec.models.item_objective import ItemObjective, NextItemObjective, Places, user_queries
from sidrec.models.item_scorer import AttentionSettings
from sidrec.models.ranking import Ranking
from sidrec.models.request import Request
from sidrec.models.samples import Samples
from sidrec.models.searching import SearchesBySettings
from sidrec.models.stock import Stock
from sidrec.nn.item_losses import cross_entropy
from sidrec.nn.item_vectors import NOTHING_KNOWN, ItemFeatures
from sidrec.sids.tokenize import TokenizeSettings

USERS_AT_ONCE = 64


class RPGSearch(Settings):
    """How the best items are found once every digit is predicted."""

    method: Literal["graph", "full"] = "graph"
    """`graph`: a walk over similar items, whose cost does not grow with the catalogue. `full`: every item, exactly."""
    beam_size: int = Field(64, ge=1)
    """Best items that a walk remembers, at least as many as items are asked for."""
    n_steps: int = Field(12, ge=1)
    """Most steps of a walk."""
    expanded: int = Field(16, ge=1)
    """Remembered items whose neighbours are looked at in one step."""
    likely_codes: int = Field(2, ge=1)
    """Codes of each digit from whose items a walk begins."""

    def plan(self, k: int) -> WalkPlan:
        return WalkPlan(k, max(self.beam_size, k), self.n_steps, self.expanded, self.likely_codes)


class GraphSettings(Settings):
    """The graph that walks go over."""

    n_edges: int = Field(32, ge=1)
    """Most similar items that each item leads to."""
    n_doors: int = Field(4, ge=1)
    """Items at which a walk can begin, for each code."""


class RPGSettings(AttentionSettings):
    """Settings of RPG."""

    d_model: int = Field(128, ge=1)
    item_vectors: ItemVectorSettings = ItemVectorSettings(identity=False, codes=True)
    tokenize: TokenizeSettings = TokenizeSettings(tokenizer="opq", options={"n_codes": 32})
    temperature: float = Field(0.07, gt=0)
    """A digit's codes are compared by cosines divided by it."""
    graph: GraphSettings = GraphSettings()
    search: Annotated[RPGSearch, SEARCH] = RPGSearch()
    tuned: ClassVar[Space] = {
        **AttentionSettings.tuned,
        "temperature": Between(0.03, 0.2, log=True),
    }

    @model_validator(mode="after")
    def _digits_score(self) -> Self:
        if not self.item_vectors.codes or self.item_vectors.attributes:
            raise ValueError(
                "rpg scores items by the codes of their IDs: keep item_vectors.codes, leave out attributes"
            )
        if self.repeat != "off":
            raise ValueError("rpg scores codes, and a repeat term belongs to items; leave repeat off")
        return self


class RPGNetwork(CausalTransformer):
    """A head for each digit behind the causal Transformer; a digit's codes are those that items are pooled of."""

    scores_are_products = False

    columns: Tensor
    beyond: Tensor

    def __init__(self, n_items: int, settings: RPGSettings, features: ItemFeatures = NOTHING_KNOWN) -> None:
        super().__init__(n_items, settings, features)
        width, sizes = settings.d_model, torch.tensor(self.items.slot_sizes)
        self.temperature = settings.temperature
        self.heads = nn.Linear(width, len(sizes) * width)
        nn.init.zeros_(self.heads.weight)  # a head begins as the identity
        nn.init.zeros_(self.heads.bias)
        places = torch.arange(int(sizes.max()))
        beyond = places >= sizes[:, None]  # (n_codes, K)
        self.register_buffer("columns", (1 + sizes.cumsum(0) - sizes)[:, None] + places, persistent=False)
        self.register_buffer("beyond", beyond, persistent=False)
        self.columns.masked_fill_(beyond, 0)

    def digits(self, hidden: Tensor) -> Tensor:
        """(places, d_model) to what each digit's head says, (n_codes, places, d_model), of length 1 / temperature."""
        said = F.silu(self.heads(hidden)).view(len(hidden), -1, hidden.shape[-1]) + hidden.unsqueeze(1)
        return F.normalize(said, dim=-1).transpose(0, 1) / self.temperature

    def code_vectors(self) -> Tensor:
        """(n_codes, K, d_model), of length 1; zero beyond a digit's own K."""
        return F.normalize(self.items.token_vectors(self.columns), dim=-1)

    def log_probs(self, hidden: Tensor) -> Tensor:
        """(places, d_model) to (places, n_codes, K)."""
        logits = torch.bmm(self.digits(hidden), self.code_vectors().mT)  # (n_codes, places, K)
        return logits.masked_fill(self.beyond.unsqueeze(1), -torch.inf).log_softmax(-1).transpose(0, 1)

    def codes(self, n_items: int) -> Tensor:
        """(n_items, n_codes)."""
        assert self.items.tokens is not None
        return self.items.tokens[:n_items] - self.columns[:, 0]

    def scores(self, queries: Tensor, table: Tensor) -> Tensor:
        """Every item by the sum of its codes' log-probabilities."""
        return summed_scores(self.log_probs(queries), self.codes(len(table)), self.items.slot_sizes)


class DigitObjective(NextItemObjective[RPGNetwork]):
    """Cross-entropy of every digit of the next item's ID, their mean."""

    def place_loss(self, network: RPGNetwork, places: Places) -> Tensor:
        said, vectors = network.digits(places.hidden), network.code_vectors()
        wanted = network.items.tokens_of(places.targets) - network.columns[:, 0]  # (places, n_codes)
        losses = [
            cross_entropy(said[digit], vectors[digit, :size], wanted[:, digit])
            for digit, size in enumerate(network.items.slot_sizes)
        ]
        return torch.stack(losses).mean()


class RPG(SearchesBySettings, CodedScorer):
    """Hou et al.: recommendation by parallel generation of long IDs."""

    key = "rpg"
    settings_class: ClassVar[type[Settings]] = RPGSettings
    settings: RPGSettings
    _graph: ItemGraph | None = None

    @property
    def search(self) -> RPGSearch:
        return self.settings.search

    def _build(self, n_items: int, features: ItemFeatures) -> RPGNetwork:
        self._graph = None
        if features.codes is None:
            raise InputError("rpg needs semantic IDs, and these items have no text to make them of; give IDs or text.")
        return RPGNetwork(n_items, self.settings, features)

    def _objective(self, data: Dataset, validation: Cases, features: ItemFeatures) -> ItemObjective[Any]:  # noqa: ARG002
        samples = Samples.windows(data.train_sequences(), self.settings.max_history)
        return DigitObjective(samples, validation, self.settings.max_history)

    def _fitted(self) -> RPGNetwork:
        return cast(RPGNetwork, super()._fitted())

    def _with_new_items(self, stock: Stock, frame: pl.DataFrame, given: GivenVectors | None) -> Stock:
        grown = super()._with_new_items(stock, frame, given)
        self._graph = None
        return grown

    # ---- recommending -----------------------------------------------------------------------------------------------

    def graph(self, stock: Stock) -> ItemGraph:
        """Built when it is first needed and after the catalogue has grown."""
        graph, how = self._graph, self.settings.graph
        if graph is None or len(graph.codes) < len(stock):
            network = self._fitted()
            codes, vectors = network.codes(network.items.n_items), network.code_vectors()
            graph = self._graph = ItemGraph.build(codes.cpu(), vectors.float().cpu(), how.n_edges, how.n_doors)
        return graph

    @torch.no_grad()
    def _rank(self, request: Request, stock: Stock) -> Ranking:
        search = self.search if request.search is None else cast(RPGSearch, self.parsed_search(request.search))
        if search.method == "full":
            return super()._rank(request, stock)
        ranking = self._walked(request, stock, search)
        possible = len(stock) if request.allowed is None else int(request.allowed.sum())
        short = np.flatnonzero((ranking.items >= 0).sum(1) < min(request.k, possible))
        if len(short):  # a walk that filters left too little: these users are answered exactly
            exact = super()._rank(request.take(short), stock)
            ranking.items[short], ranking.scores[short] = exact.items, exact.scores
        return ranking

    def _walked(self, request: Request, stock: Stock, search: RPGSearch) -> Ranking:
        network, graph = self._fitted(), self.graph(stock)
        queries = user_queries(network, request.histories, self.settings.max_history)
        parts = []
        for first in range(0, len(request), USERS_AT_ONCE):
            rows = np.arange(first, min(first + USERS_AT_ONCE, len(request)))
            log_probs = network.log_probs(queries[rows[0] : rows[-1] + 1]).cpu()
            parts.append(found_by(log_probs, graph, search, request.take(rows), len(stock)))
        items, scores = (torch.cat(part) for part in zip(*parts, strict=True))
        return Ranking(items.numpy().astype(np.int32), scores.numpy().astype(np.float32))


def found_by(
    log_probs: Tensor, graph: ItemGraph, search: RPGSearch, request: Request, n_items: int
) -> tuple[Tensor, Tensor]:
    """A walk; or, where fewer items are allowed than it would look at, all of these."""
    if log_probs.isnan().any():
        raise TrainingError("the model's scores are not numbers; train it again with a lower learning rate.")
    allowed = request.allowed
    if allowed is None and n_items < len(graph.codes):
        allowed = np.ones(n_items, bool)  # a request from before the catalogue grew
    if allowed is None and not request.exclude_seen:
        return walk(log_probs, graph, search.plan(request.k))
    permits = Permits.of(len(graph.codes), request.histories, allowed, request.exclude_seen)
    if allowed is not None and allowed.sum() <= search.n_steps * search.expanded * graph.neighbours.shape[1]:
        return best_of(log_probs, graph, torch.from_numpy(np.flatnonzero(allowed)), request.k, permits)
    return walk(log_probs, graph, search.plan(request.k), permits)
