"""`sidrec evaluate`: how good is a saved model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sidrec.evaluation.results import Evaluation

Ks = Annotated[list[int] | None, typer.Option("--k", help="Places to look at; repeat it for several. [1, 5, 10]")]


def evaluate(
    model: Annotated[Path, typer.Argument(help="Directory of a saved model.")],
    data: Annotated[Path | None, typer.Option("--data", help="Prepared data; default what it was trained on.")] = None,
    split: Annotated[str, typer.Option("--split", help="validation or test.")] = "test",
    k: Ks = None,
    exclude_seen: Annotated[bool, typer.Option("--exclude-seen", help="Leave out what a user already had.")] = False,
    trained_on: Annotated[
        Path | None, typer.Option("--trained-on", help="The model's training data, where --data is another week's.")
    ] = None,
    users: Annotated[int | None, typer.Option("--users", help="Judge on a random sample of users.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", help="Where ranks and figures go; default beside the model.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge a saved model on held-out items.      Example: sidrec evaluate runs/sasrec --split test

    Last week's model on this week's data: sidrec evaluate runs/model --data runs/data2
    """
    from sidrec.cli import console
    from sidrec.verbs import evaluate as judge

    values: dict[str, Any] = {"split": split, "exclude_seen": exclude_seen, "users": users, **({"ks": k} if k else {})}
    place = out or beside(model, data, values)
    # what we put there ourselves for an earlier state of the model gives way
    gives_way = out is None and _is_evaluation(place)
    ways: dict[str, Any] = {"out": place, "replace": gives_way, "trained_on": trained_on}
    result = judge(model, data, progress=console.progress(), **ways, **values)
    if json:
        console.show_json(result.as_dict())
        return
    show(result)
    console.say(f"wrote {place}")
    console.then(f"{console.command('compare', place)} OTHER, where OTHER is the evaluation of another model")


def beside(model: Path, data: Path | None, values: Mapping[str, Any]) -> Path:
    """Where an evaluation is kept that nobody gave a place: its name says what was asked."""
    asked = {"split": "" if values["split"] == "test" else values["split"], "data": "" if data is None else data.name}
    asked |= {"seen": "unseen" if values["exclude_seen"] else "", "users": f"{values['users'] or ''}"}
    asked |= {"ks": "at" + "-".join(str(k) for k in values["ks"]) if "ks" in values else ""}
    place = model if model.name not in ("", "..") else model.resolve()
    return place.with_name("-".join([place.name, "evaluation", *filter(None, map(str, asked.values()))]))


def _is_evaluation(place: Path) -> bool:
    from sidrec.core.artifacts import open_artifact
    from sidrec.core.errors import ArtifactError
    from sidrec.evaluation.results import KIND

    try:
        open_artifact(place, KIND)
    except ArtifactError:
        return False
    return True


def show(result: Evaluation) -> None:
    """The figures as tables: overall with intervals and code match, then by kind of user and item."""
    from sidrec.cli import console

    seen = "without the user's own items" if result.exclude_seen else "the user's own items included"
    console.say(f"{result.model}: {result.users:,} users, {result.split} items, full ranking, {seen}")
    if result.other_data is not None:
        console.say(result.other_data.words)
    rows = [
        (name, result.metrics[name], f"{low.low:.4f} to {low.high:.4f}", result.metrics[f"code_match_{name}"])
        for name, low in result.intervals.items()
    ]
    console.show_table("Figures", ["metric", "item match", "95 % interval", "code match"], rows)
    slices = {"history length": result.by_history_length, "target's training count": result.by_item_popularity}
    shown = [name for name in result.intervals if name.endswith(f"@{max(result.recall)}")]
    parts = [
        (kind, bucket, part.users, *(part.metrics[name] for name in shown))
        for kind, buckets in slices.items()
        for bucket, part in buckets.items()
    ]
    console.show_table("By kind", ["users by", "bucket", "users", *shown], parts)
    rates = result.rates
    console.say(
        f"invalid {rates.invalid_rate:.2%}, duplicate {rates.duplicate_rate:.2%}, items sharing an ID "
        f"{rates.collision_rate:.2%}; {result.timing.seconds:.1f} s, {result.timing.users_per_s:,.0f} users/s"
    )
