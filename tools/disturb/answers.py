"""One loaded model, eight threads that ask, items that come and go: every answer is one of some whole version."""

from __future__ import annotations

import json
import threading

from disturb.findings import Finding
from disturb.ground import Ground
from disturb.process import run
from disturb.shop import Verb

KIND = "answers"
PER_TRIAL, _THREADS = 400, 8
_MODELS = ("model", "plus", "sas", "pop")
_FILTERS = ({}, {"deny": ["i5"]}, {"allow": {"brand": ["Shop 1", "Shop 2"]}}, {"exclude_seen": True})


def ask(ground: Ground, number: int, name: str) -> Finding:
    about = _MODELS[number % len(_MODELS)]
    finding = Finding(KIND, about)
    with ground.home(Verb(about, lambda: None, lambda: None), name) as home:
        ended = run(lambda: _many_at_once(about), home.path, home.said)
    if ended.code != 0:
        finding.fault("tracebacks", ended.words[-1500:])
        return finding
    said = json.loads(ended.words.splitlines()[-1])
    finding.tries = said["answers"]
    if said["mixed"]:
        finding.fault("broken", f"{said['mixed']} answers of no whole version")
    for words in said["errors"]:
        finding.fault("tracebacks", words)
    return finding


def _many_at_once(about: str) -> None:
    import polars as pl

    import sidrec
    from sidrec.models.capabilities import AddsItems

    model = sidrec.load(about)
    asked = [(["i1", "i2"], how) for how in _FILTERS] + [(["i7"], how) for how in _FILTERS]
    found: list[list[object]] = [[] for _ in asked]
    errors: list[str] = []
    stop = threading.Event()

    def all_answers() -> list[object]:
        return [model.recommend([history], k=20, **how) for history, how in asked]

    def reader(mine: int) -> None:
        history, how = asked[mine]
        try:
            while not stop.is_set() or not found[mine]:
                found[mine].append(model.recommend([history], k=20, **how))
        except Exception as error:
            errors.append(f"{type(error).__name__}: {error}")

    versions = [all_answers()]
    threads = [threading.Thread(target=reader, args=(mine,)) for mine in range(_THREADS)]
    for thread in threads:
        thread.start()
    number = 0
    while sum(map(len, found)) < PER_TRIAL and not errors:
        if isinstance(model, AddsItems) and number % 2 == 0:
            model.add_items(pl.DataFrame({"item_id": [f"late-{number}"], "title": [f"late lamp {number}"]}))
        else:
            model.remove_items([f"i{number % 4 + 8}" if number < 8 else f"late-{number - 9}"])
        versions.append(all_answers())
        number = number + 1 if number < 12 else 1
        if number == 1:
            model = sidrec.load(about)
            versions.append(all_answers())
    stop.set()
    for thread in threads:
        thread.join()
    mixed = sum(
        answer not in [version[mine] for version in versions] for mine in range(_THREADS) for answer in found[mine]
    )
    print(json.dumps({"answers": sum(map(len, found)), "mixed": mixed, "errors": errors}))
