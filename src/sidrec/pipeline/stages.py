"""The whole product on one page: what needs what.

    prepare ── data ─┬─ embed ── vectors ── tokenize ── semantic IDs ─┐
                     └──────────────────────────────────────────────── train ── model ── evaluate
                                    └──── vectors of a trained model ◄────┘

What models are made of stands in `models/ingredients.py`, because `fit` makes it too; each stage is an artefact that is
found when it is finished (`core/artifacts.ensure`) and goes on where it was cut off. Rows of a benchmark that name the
same stage share it.
"""

from __future__ import annotations

from sidrec.core.settings import Settings
from sidrec.core.stages import Stage, in_order
from sidrec.models.capabilities import HasSemanticIds
from sidrec.models.ingredients import Data, Ids, TrainedModel, Vectors
from sidrec.models.registry import find_model


def model_stage(dataset: str, key: str, settings: Settings, seed: int) -> TrainedModel:
    """A model with the semantic IDs that others may share with it, as far as it has such."""
    data = Data(dataset)
    return TrainedModel(data, key, settings.model_dump(mode="json"), ids_of(data, key, settings), seed)


def ids_of(data: Data, key: str, settings: Settings) -> Ids | None:
    """The IDs that a model with these settings would make."""
    kind = find_model(key).load_class()
    how = kind.ids_by(settings) if issubclass(kind, HasSemanticIds) else None
    if how is None:
        return None
    embedding, tokenize = how
    return Ids(Vectors(data, embedding), tokenize)


def made_first(model: TrainedModel) -> list[Stage[object]]:
    """Everything that must be there before the model is trained, in this order; data sets are not asked for."""
    return [stage for stage in in_order(model.needs) if not isinstance(stage, Data)]
