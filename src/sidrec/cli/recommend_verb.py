"""`sidrec recommend`: items for one history, or for every user of a file."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sidrec.cli.cluster_options import Address, On, Workers, on_ray
from sidrec.data.id_text import split_ids

if TYPE_CHECKING:
    from sidrec.data.item_filter import ItemFilter
    from sidrec.decoding.drawing import StepStory
    from sidrec.models.base import Recommender
    from sidrec.models.ranking import Recommendations
    from sidrec.pipeline.recommend_many import Asked, Histories

Words = list[str] | None


def recommend(
    model: Annotated[Path, typer.Argument(help="Directory of a saved model.")],
    history: Annotated[Words, typer.Option("--history", help="Item ids, oldest first: a,b,c.")] = None,
    user: Annotated[str | None, typer.Option("--user", help="A user id, known or with --history.")] = None,
    input: Annotated[
        Words, typer.Option("--input", help="Tables of users: user_id, history (a,b,c) if you have it; 'users/*.csv'.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", help="Where it goes: .parquet, .csv or .jsonl; a folder for many files.")
    ] = None,
    interactions: Annotated[
        Path | None, typer.Option("--interactions", help="Where users' histories are; default the training data.")
    ] = None,
    interaction_columns: Annotated[
        str, typer.Option("--interaction-columns", help="Its column names: user_id=Kunde,item_id=sku.")
    ] = "",
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
        Words, typer.Option("--set", help="A setting of the search, such as search.beam_size=20; repeatable.")
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
    on: On = None,
    address: Address = None,
    workers: Workers = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Recommend items to one user or to many.      Example: sidrec recommend runs/model --history a,b,c -k 10

    A user of the training data: sidrec recommend runs/model --user U17
    Many users: sidrec recommend runs/model --input users.csv --output recs.csv
    Many files: sidrec recommend runs/model --input 'users/*.parquet' --output recs --on ray
    More of this brand: sidrec recommend runs/model --history a,b --like b --keep brand
    """
    _check_one_way((history, user), input, output, explain=explain, titles=titles)
    far = on_ray(on, address, workers)
    from sidrec.cli import console
    from sidrec.cli.recommend_batch import Files, filling_on_ray, show_batch
    from sidrec.core.errors import SettingsError
    from sidrec.core.notices import SidrecWarning
    from sidrec.core.places import everywhere
    from sidrec.data.readers.columns import parse_columns
    from sidrec.models.capabilities import Explains

    request: Asked = {
        "k": k,
        "exclude_seen": exclude_seen,
        "allow": _filter(allow_items, allow, "allow"),
        "deny": _filter(deny_items, deny, "deny"),
    }
    known: Histories = {
        "interactions": interactions,
        "columns": parse_columns(interaction_columns, "interaction_columns"),
    }
    warnings.simplefilter("ignore", SidrecWarning)  # what they say is a part of every answer here
    load = partial(_load, Path(everywhere(model)), assignments or [], Way(engine, graphs, like, keep))
    loaded = load()
    if input is not None and output is not None:
        filling = filling_on_ray(load, address, workers) if far else None
        files = Files(input, output, titles, batch_users)
        show_batch(files.recommend(loaded, filling, {**known, **request}), output, as_json=json)
        return
    if far:
        raise SettingsError("one user is answered here; --on ray is for --input and --output.")
    item_ids = [item_id for text in history or [] for item_id in split_ids(text)]
    if user is not None and history is None:
        item_ids = _history_of(user, loaded, known)
    answer = loaded.recommend([item_ids], users=None if user is None else [user], **request)
    if explain:
        _explain(loaded, (user, item_ids), request, answer, as_json=json)
    elif json:
        console.show_json(_as_dict(loaded, item_ids, answer))
    else:
        show(answer, k)
        more = "--explain" if isinstance(loaded, Explains) and not answer.fallback[0] else "--json"
        again = _asked_for(user, item_ids, told=bool(history or interactions))
        console.say(f"next: {console.command('recommend', model, *again, more)}")


@dataclass(frozen=True)
class Way:
    """Who computes, where exported graphs are, and under which condition."""

    engine: str
    graphs: Path | None
    like: str | None = None
    keep: Words = None


def _history_of(user: str, model: Recommender, known: Histories) -> list[str]:
    """What the user did, and how much of it."""
    from sidrec.cli import console
    from sidrec.pipeline.recommend_many import known_histories

    found = known_histories(model, known["interactions"], known["columns"]).of(user)
    console.progress().note(f"{user}: {len(found):,} interaction{_s(len(found))}, the last {found[-1]}.")
    return found


def _asked_for(user: str | None, item_ids: Sequence[str], *, told: bool) -> list[str]:
    """The options that ask for the same again; what the training data does not know was `told`."""
    shown = ",".join(f'"{item_id}"' if "," in item_id else item_id for item_id in item_ids)
    if user is None:
        return ["--history", shown]
    return ["--user", user, *(["--history", shown] if told else [])]


def _check_one_way(
    one: tuple[Words, str | None], input: Words, output: Path | None, *, explain: bool, titles: bool
) -> None:
    from sidrec.core.errors import SettingsError

    if any(given is not None for given in one) == (input is not None):
        words = "give --history a,b,c or --user U17 for one user, or --input users.csv for many; one of these."
        raise SettingsError(words)
    if (input is None) != (output is None):
        raise SettingsError("--input and --output belong together: users in, recommendations out.")
    if input is not None and explain:
        raise SettingsError("--explain draws one generation; give --history or --user instead of --input.")
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
    return _steered(model, way.like, way.keep) if way.like is not None or way.keep else model


def _steered(model: Recommender, like: str | None, keep: Words) -> Recommender:
    """The model under a condition."""
    from sidrec.core.errors import SettingsError
    from sidrec.models.capabilities import Steers

    if like is None or not keep:
        raise SettingsError("--like and --keep belong together: which item, and what of it to keep.")
    if not isinstance(model, Steers):
        raise SettingsError(f"{model.key} cannot be steered by --like; use --allow column=value, or llada-rec-plus.")
    named = [part for text in keep for part in split_ids(text)]
    steered: Recommender = model.steered(like, [int(part) if part.isdecimal() else part for part in named])
    return steered


def graphs_beside(model: Path) -> Path:
    """Where a model's graphs are when nothing else is said."""
    return model.resolve().with_name(f"{model.resolve().name}-graphs")


def _filter(item_ids: Words, texts: Words, name: str) -> Sequence[ItemFilter] | None:
    """The options of one name: several that name values of one column mean any of these values."""
    from sidrec.core.errors import SettingsError
    from sidrec.data.item_filter import ItemFilter, united

    if item_ids and texts:
        raise SettingsError(f"give either --{name}-items or --{name} column=value, not both.")
    if item_ids:
        return [ItemFilter.of([item_id for text in item_ids for item_id in split_ids(text)], name)]
    return united([ItemFilter.of(text, name) for text in texts]) if texts else None


def _as_dict(
    model: Recommender, history: list[str], answer: Recommendations, steps: list[StepStory] | None = None
) -> dict[str, Any]:
    """The service's shape; steps are there where they were asked for."""
    from sidrec.serving.answers import recommended

    found = recommended(model, history, answer, steps=steps).model_dump(mode="json")
    return found if steps is not None else {name: value for name, value in found.items() if name != "steps"}


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


def _explain(
    model: Recommender, who: tuple[str | None, list[str]], request: Asked, answer: Recommendations, *, as_json: bool
) -> None:
    from sidrec.cli import console, explanation
    from sidrec.core.errors import SettingsError
    from sidrec.models.capabilities import Explains, Searches
    from sidrec.models.id_search import SearchSettings
    from sidrec.serving.answers import steps_of

    if not isinstance(model, Explains):
        raise SettingsError(
            f"{model.key} does not generate step by step, so there is nothing to draw; leave --explain out."
        )
    user, history = who
    generation = model.explain(history, user=user, **request)
    if as_json:
        steps = steps_of(generation, model.catalog.titles)
        console.show_json(_as_dict(model, history, answer, steps))
        return
    search = model.search if isinstance(model, Searches) else None
    explanation.show(generation, history, model.catalog, search if isinstance(search, SearchSettings) else None)
    show(answer, request["k"])


def _s(count: int) -> str:
    return "" if count == 1 else "s"
