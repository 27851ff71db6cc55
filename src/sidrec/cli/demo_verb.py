"""`sidrec demo`: the whole product on a synthetic shop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from sidrec.pipeline.demo import DemoResult


def demo(
    out: Annotated[Path, typer.Option("--out", help="Where everything goes.")] = Path("runs/demo"),
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Prepare a synthetic shop, train, evaluate and recommend.      Example: sidrec demo --out runs/demo"""
    from sidrec.cli import console
    from sidrec.pipeline.demo import judged, run_demo

    result = run_demo(out, progress=console.progress())
    if json:
        console.show_json(result.as_dict())
        return
    show(result)
    history = ",".join(result.explained.history)
    console.wrote(out, console.command("recommend", out / result.recommender, "--history", history, "--explain"))
    console.say(f"      ranks and figures of each model are in {judged(out, 'MODEL')}")
    served = [out / key for key in reversed(result.evaluations) if key != "popularity"]
    console.say(f"look: {console.command('serve', *served)}")
    console.say("      and open the address it names in a browser: a page on which to watch the models at work")


def show(result: DemoResult) -> None:
    """The shop, the models' figures, and some shoppers."""
    from sidrec.cli import console, explanation

    counts = (f"{result.statistics[name]:,}" for name in ("users", "items", "interactions"))
    console.say("A synthetic shop: {} shoppers, {} products, {} purchases.".format(*counts))
    names = ["recall@1", "recall@5", "recall@10", "ndcg@10"]
    rows = [
        (key, *(found.metrics[name] for name in names), round(found.timing.users_per_s))
        for key, found in result.evaluations.items()
    ]
    console.show_table("The next purchase, full ranking", ["model", *names, "users/s"], rows)
    ids = result.health
    console.say(
        f"Semantic IDs: {ids['unique_ids']:,} different ones for {ids['items']:,} products, "
        f"{ids['used_codes']} of {ids['codes']} codes in use."
    )
    for number, example in enumerate(result.examples, start=1):
        hit = {example.bought_next: " (bought next)"}
        rows = [(place, title + hit.get(title, "")) for place, title in enumerate(example.recommended, start=1)]
        console.say(f"Shopper {number} bought: " + "; ".join(example.history[-4:]))
        console.say(f"and then in truth: {example.bought_next}")
        console.show_table(f"{result.recommender} recommends", ["place", "product"], rows)
    console.say("How the first shopper's list was generated")
    explanation.show(result.explained.generation, result.explained.history, result.explained.catalog)
