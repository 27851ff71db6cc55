"""How long every model of a comparison may learn: the same for all, and stated."""

from __future__ import annotations

from typing import Any, Literal, Self

from pydantic import BaseModel, Field, model_validator

from sidrec.core.settings import Settings

Training = Literal["budget", "own-epochs", "recipe"]
"""`budget`: epochs and size for all alike. `own-epochs`: the epochs of each model's recipe, in the budget's minutes.
`recipe`: each model exactly as its recipe for the data set says; neither scale nor budget touch it."""


class Budget(Settings):
    """Epochs, minutes, or both (whichever comes first)."""

    epochs: int | None = Field(None, ge=1)
    minutes: float | None = Field(None, gt=0)

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.epochs is None and self.minutes is None:
            raise ValueError("a budget names epochs or minutes")
        return self

    def __str__(self) -> str:
        minutes = None if self.minutes is None else f"{self.minutes:g} minutes"
        epochs = None if self.epochs is None else f"{self.epochs} epochs"
        return "at most " + " or ".join(part for part in (epochs, minutes) if part) + " of training for every model"

    def words(self, training: Training) -> str:
        """What all rows of a section have in common."""
        if training == "recipe":
            return "each model in the size and for the epochs of its committed recipe"
        return f"each model the epochs of its recipe, {self.in_minutes()}" if training == "own-epochs" else str(self)

    def in_minutes(self) -> Budget:
        """Without the epochs, where there are minutes to hold on to."""
        return self if self.minutes is None else Budget(minutes=self.minutes)

    def values(self, cls: type[BaseModel]) -> dict[str, Any]:
        """The budget as settings of a model; a model that is not trained in epochs has none."""
        if "training" not in cls.model_fields:
            return {}
        given = {"epochs": self.epochs, "minutes": self.minutes}
        return {"training": {name: value for name, value in given.items() if value is not None}}
