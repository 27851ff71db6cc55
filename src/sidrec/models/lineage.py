"""What a model is made from, and what of it stands at a place already."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidrec.core.artifacts import Origin
from sidrec.core.replacing import GivesWay
from sidrec.core.settings import LENGTH, RATE, Mark, Settings
from sidrec.embeddings.embedding_settings import EmbeddingSettings
from sidrec.models.content import named_content
from sidrec.models.model_files import training_directory
from sidrec.models.standing import Standing, gives_way, standing
from sidrec.models.stock import Stock
from sidrec.models.successor import STARTED_FROM
from sidrec.training.options import TrainingOptions


class Lineage:
    """The part of every model that tells it from others: its method, its data, its seed and what it began with."""

    key: str
    settings: Settings

    def __init__(self) -> None:
        super().__init__()
        self.started_from = ""
        """Names the model whose weights it began with; empty where it began anew."""
        self._content: dict[str, str] | None = None

    def origin(self, dataset: str, stock: Stock | None = None) -> Origin:
        """What the model artefact is made from, known before training: equal origins give equal models.

        Settings of the run and of the search are no part of it: `SETTINGS_FILE` keeps them.
        With a `stock` also what happened to the catalogue since.
        """
        return self._origin(dataset, stock=stock)

    def _origin(self, dataset: str, *without: Mark, stock: Stock | None = None) -> Origin:
        options = self.training_options
        changed = {} if stock is None or not stock.changed else {"catalog": stock.fingerprint}
        begun = {STARTED_FROM: self.started_from} if self.started_from else {}
        return Origin(
            "model",
            settings={"model": self.key, "settings": self.settings.method_values(*without)},
            made_from={"dataset": dataset, **self._made_from(), **self.named_content(), **begun, **changed},
            seed=None if options is None else options.seed,
        )

    def named_content(self) -> dict[str, str]:
        """What the settings lead to on the disk, looked at once: a trained model keeps what it was trained with."""
        if self._content is None:
            embedding = self._embeds_by()
            self._content = {} if embedding is None else named_content(embedding)
        return self._content

    def training_directory(self, out: Path, dataset: str) -> Path:
        """Where an unfinished training for `out` keeps its checkpoints; names of others of its kind begin alike."""
        kind, line = self._origin(dataset, LENGTH, RATE), self._origin(dataset, LENGTH)
        return training_directory(out, kind, line, self.origin(dataset))

    def standing(self, out: Path, dataset: str) -> Standing:
        """What lies at `out`, seen by this model before it is trained there on this dataset."""
        wanted, line = self.origin(dataset), self._origin(dataset, LENGTH)
        return standing(out, wanted, line, self.settings, self.training_options)

    def gives_way(self, dataset: str) -> GivesWay:
        """Which saved models are earlier states of this one, trained on this dataset."""
        return gives_way(self._origin(dataset, LENGTH), self.settings)

    # ---- what subclasses say ----------------------------------------------------------------------------------------

    @property
    def training_options(self) -> TrainingOptions | None:
        """How it is trained; None for models that are not trained in epochs."""
        return None

    def _made_from(self) -> dict[str, str]:
        """Further fingerprints, for example of given semantic IDs."""
        return {}

    def _embeds_by(self) -> EmbeddingSettings | None:
        """How it makes vectors of items itself, where it does."""
        return None

    def asked_by(self) -> dict[str, Any]:
        """What decides its answers beside what it has learned, for example its search."""
        return {}
