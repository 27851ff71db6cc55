"""`sidrec recommend`: items for one history, or for every user of a file."""

from __future__ import annotations

import csv
import shlex
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from sidrec.data.item_filter import ItemFilter
    from sidrec.models.base import Recommender
    from sidrec.models.ranking import Recommendations
    from sidrec.pipeline.recommend_many import Asked, BatchSummary

Words = list[str] | None


def recommend(
    model: Annotated[Path, typer.Argument(help="Directory of a saved model.")],
    history: Annotated[Words, typer.Option("--history", help="Item ids, oldest first: a,b,c.")] = None,
    input: Annotated[
        Path | None, typer.Option("--input", help="Parquet file with user_id and history (a list of item ids).")
    ] = None,
    output: Annotated[Path | None, typer.Option("--output", help="Where the users' recommendations go.")] = None,
    k: Annotated[int, typer.Option("-k", "--k", help="How many items.")] = 10,
    exclude_seen: Annotated[bool, typer.Option("--exclude-seen", help="Leave out what the user already had.")] = False,
    allow_items: Annotated[Words, typer.Option("--allow-items", help="Only these item ids: a,b.")] = None,
    allow: Annotated[
        Words, typer.Option("--allow", help="Only items with this: 'brand=Acme,Zoll', '20<=price<50'.")
    ] = None,
    deny_items: Annotated[Words, typer.Option("--deny-items", help="None of these item ids: a,b.")] = None,
    deny: Annotated[Words, typer.Option("--deny", help="No items with this: 'in_stock=false', 'price<20'.")] = None,
    like: Annotated[
        str | None, typer.Option("--like", help="Only items like this one in what --keep names (llada-rec-plus).")
    ] = None,
    keep: Annotated[
        Words, typer.Option("--keep", help="Code slots from 1, as --explain shows them, and columns: 1,3 or brand.")
    ] = None,
    assignments: Annotated[
        Words, typer.Option("--set", help="A search setting of llada-rec, such as search.beam_size=20; repeatable.")
    ] = None,
    engine: Annotated[
        str, typer.Option("--engine", help="Who computes: torch, onnx or openvino (llada-rec only).")
    ] = "torch",
    graphs: Annotated[
        Path | None, typer.Option("--graphs", help="Exported graphs; made beside the model where there are none.")
    ] = None,
    explain: Annotated[bool, typer.Option("--explain", help="Draw how the items were generated.")] = False,
    titles: Annotated[bool, typer.Option("--titles", help="Put titles into the output file, too.")] = False,
    batch_users: Annotated[int, typer.Option("--batch-users", help="Users in memory at a time.")] = 4096,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Recommend items to one user or to many.      Example: sidrec recommend runs/model --history a,b,c -k 10

    Many users: sidrec recommend runs/model --input users.parquet --output recs.parquet
    More of this brand: sidrec recommend runs/model --history a,b --like b --keep brand
    """
    _check_one_way(history, input, output, explain=explain, titles=titles)
    from sidrec.cli import console
    from sidrec.core.notices import SidrecWarning
    from sidrec.models.capabilities import Explains
    from sidrec.pipeline.recommend_many import recommend_many

    request: Asked = {
        "k": k,
        "exclude_seen": exclude_seen,
        "allow": _filter(allow_items, allow, "allow"),
        "deny": _filter(deny_items, deny, "deny"),
    }
    warnings.simplefilter("ignore", SidrecWarning)  # what they say is a part of every answer here
    loaded = _load(model, assignments or [], Way(engine, graphs))
    if like is not None or keep:
        loaded = _steered(loaded, like, keep)
    if input is not None and output is not None:
        summary = recommend_many(
            loaded, input, output, titles=titles, batch_users=batch_users, progress=console.progress(), **request
        )
        _show_batch(summary, as_json=json)
        return
    item_ids = [item_id for text in history or [] for item_id in _split(text)]
    answer = loaded.recommend([item_ids], **request)
    if explain:
        _explain(loaded, item_ids, request, answer, as_json=json)
    elif json:
        console.show_json(_as_dict(loaded, item_ids, answer))
    else:
        show(answer, k)
        more = "--explain" if isinstance(loaded, Explains) and not answer.fallback[0] else "--json"
        shown = ",".join(f'"{item_id}"' if "," in item_id else item_id for item_id in item_ids)
        console.say(f"next: {console.command('recommend', model, '--history', shown, more)}")


@dataclass(frozen=True)
class Way:
    """Who computes, and where exported graphs are."""

    engine: str
    graphs: Path | None


def _check_one_way(history: Words, input: Path | None, output: Path | None, *, explain: bool, titles: bool) -> None:
    from sidrec.core.errors import SettingsError

    if (history is None) == (input is None):
        raise SettingsError("give either --history a,b,c for one user or --input users.parquet for many.")
    if (input is None) != (output is None):
        raise SettingsError("--input and --output belong together: users in, recommendations out.")
    if input is not None and explain:
        raise SettingsError("--explain draws one generation; give --history instead of --input.")
    if input is None and titles:
        raise SettingsError("--titles is for the output file; one user's titles are always shown.")


def _load(path: Path, assignments: Sequence[str], way: Way) -> Recommender:
    """The model, generating as asked."""
    from sidrec.cli import console
    from sidrec.core.errors import SettingsError
    from sidrec.core.settings import parse_assignments
    from sidrec.models.capabilities import Exports, Searches
    from sidrec.models.registry import load_model

    model = load_model(path)
    values = parse_assignments(assignments)
    foreign = [name for name in values if name != "search" or not isinstance(values[name], dict)]
    if foreign:
        raise SettingsError(
            f"--set {foreign[0]}: only the search can be set here, for example --set search.beam_size=20."
        )
    if values:
        if not isinstance(model, Searches):
            raise SettingsError(f"{path}: is a {model.key} model, which does not search; leave --set out.")
        model = model.with_search(values["search"])
    if way.engine != "torch":
        if not isinstance(model, Exports):
            raise SettingsError(f"{path}: is a {model.key} model, which runs by torch only; leave --engine out.")
        model = model.with_engine(way.engine, way.graphs or graphs_beside(path), console.progress())
    return model


def _steered(model: Recommender, like: str | None, keep: Words) -> Recommender:
    """The model under a condition."""
    from sidrec.core.errors import SettingsError
    from sidrec.models.capabilities import Steers

    if like is None or not keep:
        raise SettingsError("--like and --keep belong together: which item, and what of it to keep.")
    if not isinstance(model, Steers):
        raise SettingsError(f"{model.key} cannot be steered by --like; use --allow column=value, or llada-rec-plus.")
    named = [part for text in keep for part in _split(text)]
    steered: Recommender = model.steered(like, [int(part) if part.isdecimal() else part for part in named])
    return steered


def graphs_beside(model: Path) -> Path:
    """Where a model's graphs are when nothing else is said."""
    return model.resolve().with_name(f"{model.resolve().name}-graphs")


def _split(text: str) -> list[str]:
    """`a,b,c`; an id with a comma in it stands in double quotes."""
    return [part for part in next(csv.reader([text], skipinitialspace=True), []) if part]


def _filter(item_ids: Words, texts: Words, name: str) -> Sequence[ItemFilter] | None:
    """The options of one name: several that name values of one column mean any of these values."""
    from sidrec.core.errors import SettingsError
    from sidrec.data.item_filter import ItemFilter, united

    if item_ids and texts:
        raise SettingsError(f"give either --{name}-items or --{name} column=value, not both.")
    if item_ids:
        return [ItemFilter.of([item_id for text in item_ids for item_id in _split(text)], name)]
    return united([ItemFilter.of(text, name) for text in texts]) if texts else None


def _as_dict(model: Recommender, history: list[str], answer: Recommendations) -> dict[str, Any]:
    columns = zip(answer.item_ids[0], answer.titles[0], answer.scores[0], strict=True)
    return {
        "model": model.key,
        "history": history,
        "fallback": answer.fallback[0],
        "unknown_items": answer.unknown_items[0],
        "notes": list(answer.notes),
        "items": [{"item_id": item_id, "title": title, "score": score} for item_id, title, score in columns],
    }


def show(answer: Recommendations, k: int) -> None:
    """One user's list, and what should be known about it."""
    from sidrec.cli import console

    columns = zip(answer.item_ids[0], answer.titles[0], answer.scores[0], strict=True)
    rows = [(place, item_id, title, score) for place, (item_id, title, score) in enumerate(columns, start=1)]
    console.show_table("Recommended", ["place", "item id", "title", "score"], rows)
    unknown = answer.unknown_items[0]
    if unknown:
        console.say(
            f"{unknown} of the history's items {'is' if unknown == 1 else 'are'} not in the catalogue; skipped."
        )
    for note in answer.notes:
        console.say(f"note: {note}")
    if answer.fallback[0]:
        console.say("fallback: nothing of the history is known, so these are the most popular items.")
    if len(rows) < k:
        console.say(f"only {len(rows)} item{' is' if len(rows) == 1 else 's are'} left by the filters and the search.")


def _explain(model: Recommender, history: list[str], request: Asked, answer: Recommendations, *, as_json: bool) -> None:
    from sidrec.cli import console, explanation
    from sidrec.core.errors import SettingsError
    from sidrec.models.capabilities import Explains, Searches
    from sidrec.models.id_search import SearchSettings

    if not isinstance(model, Explains):
        raise SettingsError(
            f"{model.key} does not generate step by step, so there is nothing to draw; leave --explain out."
        )
    generation = model.explain(history, **request)
    if as_json:
        steps = explanation.as_dicts(generation, model.catalog.titles)
        console.show_json({**_as_dict(model, history, answer), "steps": steps})
        return
    search = model.search if isinstance(model, Searches) else None
    explanation.show(generation, history, model.catalog, search if isinstance(search, SearchSettings) else None)
    show(answer, request["k"])


def _s(count: int) -> str:
    return "" if count == 1 else "s"


def _show_batch(summary: BatchSummary, *, as_json: bool) -> None:
    from sidrec.cli import console

    if as_json:
        console.show_json(summary.as_dict())
        return
    rate = "" if summary.skipped else f" in {summary.seconds:,.1f} s"
    console.say(
        f"{summary.users:,} users{rate}; {summary.fallback:,} of them got the most popular items (nothing of their "
        f"history is known), {summary.unknown_items:,} unknown item{_s(summary.unknown_items)} skipped."
    )
    shown = f"import polars; print(polars.read_parquet({str(summary.output)!r}))"
    console.wrote(summary.output, shlex.join(["python", "-c", shown]))
