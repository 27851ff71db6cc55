"""LLaDA-Rec as a recommender: embeds, tokenizes and trains by itself, and generates the codes of real items."""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, cast

import numpy as np
import polars as pl
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import nn

from sidrec.core.artifacts import Artifact
from sidrec.core.errors import ArtifactError, InputError
from sidrec.core.progress import Progress
from sidrec.core.settings import Settings
from sidrec.data.catalog import Catalog
from sidrec.data.dataset import Cases, Dataset
from sidrec.data.histories import Histories
from sidrec.data.schema import ITEM_ID
from sidrec.embeddings.embed import embed_catalog, embed_new
from sidrec.metrics.ranking import ndcg_at, ranks_of
from sidrec.models.base import Candidates, ItemFilter, Ranking, Recommendations, Recommender
from sidrec.models.llada_rec.config import LLaDARecSettings, SearchSettings
from sidrec.models.llada_rec.generate import Generation, Generator
from sidrec.models.llada_rec.network import MaskPredictor
from sidrec.models.llada_rec.objective import make_objective
from sidrec.models.rank_report import RankReport
from sidrec.sids.semantic_ids import SemanticIds
from sidrec.sids.tokenize import tokenize
from sidrec.sids.tokenized_items import TokenizedItems
from sidrec.training.loop import train

WEIGHTS_FILE = "weights.safetensors"
REMOVED_FILE = "removed.parquet"


class LLaDARec(Recommender):
    """Masked discrete diffusion over semantic IDs (the paper's method)."""

    key: ClassVar[str] = "llada-rec"
    settings_class: ClassVar[type[Settings]] = LLaDARecSettings
    settings: LLaDARecSettings

    def __init__(self, settings: Settings | None = None, **values: Any) -> None:
        """Settings may be named one by one; those of the search directly: `LLaDARec(d_model=128, beam_size=20)`."""
        named = {name: values.pop(name) for name in list(values) if name in SearchSettings.model_fields}
        if named:
            values["search"] = {**dict(values.get("search", {})), **named}
        super().__init__(settings, **values)
        self.tokenized: TokenizedItems | None = None
        self.network: MaskPredictor | None = None
        self._given_ids = ""
        self._removed: NDArray[np.bool_] | None = None
        self._catalog_changed = False
        self._generator: Generator | None = None
        self.engine = "torch"

    # ---- learning -------------------------------------------------------------------------------------------------

    def use_semantic_ids(self, path: Path, data: Dataset) -> None:
        tokenized = TokenizedItems.load(path)
        if tokenized.ids.item_ids != data.catalog.item_ids.to_list():
            raise ArtifactError(
                f"{path}: these are semantic IDs of another catalogue ({tokenized.ids.n_items} items, the dataset has "
                f"{data.n_items}); run `sidrec embed` and `sidrec tokenize` on this dataset."
            )
        self.tokenized, self._given_ids = tokenized, tokenized.ids.fingerprint

    def _fit(self, data: Dataset, workdir: Path | None, progress: Progress) -> None:
        if self.tokenized is None:
            self.tokenized = self._tokenize(data, workdir, progress)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.settings.training.seed)
            network = MaskPredictor(self.tokenized.ids.codebook_sizes, self.settings)
        cases = _sample(data.cases("validation"), self.settings.validation_users)
        generator = Generator(network, self.tokenized.ids, self.settings.max_history)
        search = self.settings.search.model_copy(update={"beam_size": self.settings.validation_beam})

        def validate(module: nn.Module) -> dict[str, float]:
            generator.network = cast(MaskPredictor, module)
            ranking = generator.rank(cases.histories, 10, Candidates(), search)
            return {"ndcg@10": ndcg_at(ranks_of(ranking.items, cases.targets), 10)}

        sequences = data.train_sequences()
        objective = make_objective(sequences, self.tokenized.ids, self.settings, validate if len(cases) else None)
        options = self.settings.training
        if not len(cases):
            options = options.model_copy(update={"metric": None, "patience": None})
        result = train(network, objective, options, workdir=workdir, progress=progress, name=self.key)
        self._training = result.summary()
        self._ready(network.cpu().eval())

    def _tokenize(self, data: Dataset, workdir: Path | None, progress: Progress) -> TokenizedItems:
        """Text to vectors to IDs; unfinished work is kept beside the training."""
        places = (None, None) if workdir is None else (workdir / "embeddings", workdir / "sids")
        embeddings = embed_catalog(data.catalog, self.settings.embedding, progress, places[0])
        return tokenize(embeddings, self.settings.tokenize, progress, places[1])

    def _ready(self, network: MaskPredictor) -> None:
        self.network = network
        self._generator = Generator(network, self.semantic_ids, self.settings.max_history)

    # ---- recommending ---------------------------------------------------------------------------------------------

    def recommend(
        self,
        histories: Sequence[Sequence[str]],
        k: int = 10,
        *,
        exclude_seen: bool = False,
        allow: ItemFilter | None = None,
        deny: ItemFilter | None = None,
        search: SearchSettings | Mapping[str, Any] | None = None,
    ) -> Recommendations:
        """The k best items for each history; `search` changes how they are generated, for this call only."""
        model = self if search is None else self.with_search(search)
        return super(LLaDARec, model).recommend(histories, k, exclude_seen=exclude_seen, allow=allow, deny=deny)

    def with_search(self, search: SearchSettings | Mapping[str, Any]) -> Self:
        """The same model, weights shared, that generates in another way; what is not named stays."""
        if not isinstance(search, SearchSettings):
            values = {**self.settings.search.model_dump(), **search}
            search = SearchSettings.parse(values, owner="search", where="search")
        model = copy.copy(self)
        model.settings = self.settings.model_copy(update={"search": search})
        return model

    def with_engine(self, engine: str, graphs: Path | None = None, progress: Progress | None = None) -> Self:
        """The same model run by `torch`, `onnx` (ONNX Runtime) or `openvino`: the same results to 1e-4.

        Exported graphs are kept in the directory `graphs` and found there again; without it they are made for now.
        """
        from sidrec.models.llada_rec.engines import check_engine
        from sidrec.models.llada_rec.export import run_by

        check_engine(engine)
        model, generator = copy.copy(self), copy.copy(self._fitted())
        assert self.network is not None
        generator.network = self.network if engine == "torch" else run_by(engine, self.network, graphs, progress)
        model.engine, model._generator = engine, generator
        return model

    def explain(
        self,
        history: Sequence[str],
        k: int = 10,
        *,
        exclude_seen: bool = False,
        allow: ItemFilter | None = None,
        deny: ItemFilter | None = None,
    ) -> Generation:
        """One generation with everything that happened in it."""
        items = self.catalog.index_of([str(item_id) for item_id in history])
        known = Histories.from_lists([items[items >= 0]])
        if len(known.items) == 0:
            raise InputError("none of the history's items is in the catalogue, so there is no generation to explain.")
        candidates = self._active(Candidates(self.allowed_items(allow, deny), exclude_seen))
        return self._fitted().explain(known, k, candidates, self.settings.search)

    def _rank(self, histories: Histories, k: int, candidates: Candidates) -> Ranking:
        return self._fitted().rank(histories, k, self._active(candidates), self.settings.search)

    def rank_report(self, histories: Histories, k: int, candidates: Candidates) -> RankReport:
        """The ranking with the generated IDs, for evaluation; every history needs at least one item."""
        return self._fitted().report(histories, k, self._active(candidates), self.settings.search)

    def _most_popular(self, k: int, candidates: Candidates) -> tuple[NDArray[np.int32], NDArray[np.float32]]:
        return super()._most_popular(k, self._active(candidates))

    def _active(self, candidates: Candidates) -> Candidates:
        """Removed items still speak in histories but are never returned."""
        if self._removed is None:
            return candidates
        allowed = ~self._removed if candidates.allowed is None else candidates.allowed & ~self._removed
        return Candidates(allowed, candidates.exclude_seen)

    def _fitted(self) -> Generator:
        if self._generator is None:
            raise InputError(f"this {self.key} is not fitted yet; call fit(data) first or load a saved one.")
        return self._generator

    @property
    def semantic_ids(self) -> SemanticIds:
        if self.tokenized is None:
            raise InputError(f"this {self.key} is not fitted yet; call fit(data) first or load a saved one.")
        return self.tokenized.ids

    # ---- a catalogue that changes ---------------------------------------------------------------------------------

    def add_items(self, items: Any) -> list[str]:
        """Give new items IDs by the frozen tokenizer, so that they can be recommended at once; their ids come back.

        `items` is a data frame with `item_id` and text columns like the catalogue's; columns it lacks stay empty.
        """
        self._fitted()
        frame = _as_catalog_rows(items, self.catalog.frame)
        assert self.tokenized is not None
        if self.tokenized.space is None:
            raise InputError("these semantic IDs were made from given vectors, so the text of new items says nothing.")
        vectors = embed_new(Catalog(frame), self.tokenized.space)
        added: list[str] = frame[ITEM_ID].to_list()
        self.tokenized = self.tokenized.with_new_items(vectors, added)
        self._catalog = Catalog(pl.concat([self.catalog.frame, frame]))
        self._counts = np.append(self.counts, np.zeros(len(added), np.int64))
        if self._removed is not None:
            self._removed = np.append(self._removed, np.zeros(len(added), bool))
        assert self.network is not None
        runner = self._fitted().network
        self._ready(self.network)
        self._fitted().network = runner
        self._catalog_changed = True
        return added

    def remove_items(self, item_ids: Sequence[str]) -> None:
        """Never recommend these again; in histories they keep their meaning."""
        items = self.catalog.index_of(list(item_ids))
        if (items < 0).any():
            raise InputError(f"item {item_ids[int(np.argmin(items))]!r} is not in the catalogue; nothing was removed.")
        removed = np.zeros(len(self.catalog), bool) if self._removed is None else self._removed.copy()
        removed[items] = True
        if removed.all():
            raise InputError("that would remove every item; nothing was removed.")
        self._removed = removed
        self._catalog_changed = True

    # ---- files ----------------------------------------------------------------------------------------------------

    def _made_from(self) -> dict[str, str]:
        made_from = {"sids": self._given_ids} if self._given_ids else {}
        if self._catalog_changed:
            removed = b"" if self._removed is None else self._removed.tobytes()
            made_from["catalog"] = hashlib.sha256(self.semantic_ids.codes.tobytes() + removed).hexdigest()
        return made_from

    def _write_files(self, directory: Path) -> None:
        assert self.network is not None and self.tokenized is not None
        weights = {name: tensor.contiguous() for name, tensor in self.network.state_dict().items()}
        save_file(weights, directory / WEIGHTS_FILE)
        self.tokenized.write_files(directory)
        removed = np.zeros(len(self.catalog), bool) if self._removed is None else self._removed
        pl.DataFrame({ITEM_ID: self.catalog.item_ids.filter(pl.Series(removed))}).write_parquet(
            directory / REMOVED_FILE
        )

    def _read_files(self, artifact: Artifact) -> None:
        self._given_ids = artifact.made_from.get("sids", "")
        self._catalog_changed = "catalog" in artifact.made_from
        self.tokenized = TokenizedItems.read_files(artifact.path, self._given_ids)
        network = MaskPredictor(self.tokenized.ids.codebook_sizes, self.settings)
        network.load_state_dict(load_file(artifact.file(WEIGHTS_FILE)))
        self._ready(network.eval())
        gone = pl.read_parquet(artifact.file(REMOVED_FILE))[ITEM_ID].to_list()
        if gone:
            self.remove_items(gone)


def _sample(cases: Cases, size: int) -> Cases:
    """The same users in every run, whatever the seed."""
    order = np.random.default_rng(0).permutation(len(cases))
    return cases.take(np.sort(order[:size]))


def _as_catalog_rows(items: Any, like: pl.DataFrame) -> pl.DataFrame:
    """A polars or pandas frame in the catalogue's columns; ids become strings."""
    frame = items if isinstance(items, pl.DataFrame) else pl.from_pandas(items)
    if ITEM_ID not in frame.columns:
        raise InputError(f"new items need a column {ITEM_ID}; the frame has: {', '.join(frame.columns)}.")
    unknown = [name for name in frame.columns if name not in like.columns]
    if unknown:
        raise InputError(f"new items have a column {unknown[0]} that the catalogue has not; drop or rename it.")
    columns = []
    for name, dtype in like.schema.items():
        column = frame[name] if name in frame.columns else pl.Series(name, [None] * frame.height)
        try:
            columns.append(column.cast(dtype))
        except pl.exceptions.PolarsError:
            raise InputError(f"new items: column {name} is {column.dtype}, the catalogue has {dtype}.") from None
    return pl.DataFrame(columns)
