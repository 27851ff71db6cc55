"""`sidrec evaluate`: how good is a saved model."""

from __future__ import annotations

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
    users: Annotated[int | None, typer.Option("--users", help="Judge on a random sample of users.")] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Keep ranks and figures here; resumable.")] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Judge a saved model on held-out items.      Example: sidrec evaluate runs/sasrec --split test"""
    from sidrec.cli import console
    from sidrec.verbs import evaluate as judge

    values: dict[str, Any] = {"split": split, "exclude_seen": exclude_seen, "users": users, **({"ks": k} if k else {})}
    result = judge(model, data, out=out, progress=console.progress(), **values)
    if json:
        console.show_json(result.as_dict())
        return
    show(result)
    if out is not None:
        console.say(f"wrote {out}")
        console.then(f"{console.command('compare', out)} OTHER, where OTHER is the evaluation of another model")
    else:
        given = () if data is None else ("--data", data)
        kept = console.free(model.with_name(f"{model.name}-evaluation"))
        console.say("the ranks were not kept; `sidrec compare` needs them")
        console.say(f"next: {console.command('evaluate', model, *given, '--split', split, '--out', kept)}")


def show(result: Evaluation) -> None:
    """The figures as tables: overall with intervals and code match, then by kind of user and item."""
    from sidrec.cli import console

    seen = "without the user's own items" if result.exclude_seen else "the user's own items included"
    console.say(f"{result.model}: {result.users:,} users, {result.split} items, full ranking, {seen}")
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
