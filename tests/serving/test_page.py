"""The page in real Chromium. Its pictures are left in `sidrec-page` of the folder for temporary files."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest
import uvicorn

from reference.browser import KEYS, browser
from sidrec.data.schema import ITEM_ID
from sidrec.serving.app import create_app
from sidrec.serving.model_store import ModelStore
from sidrec.serving.run import listening
from sidrec.serving.service import Service
from sidrec.serving.settings import ServeSettings

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::sidrec.core.notices.SidrecWarning")]
PICTURES = Path(tempfile.gettempdir()) / "sidrec-page"
HOSTILE = "<script>document.body.dataset.owned=1</script><img src=x onerror='document.body.dataset.owned=1'> Zzlamp"


@contextmanager
def running(store: ModelStore, settings: ServeSettings):
    server = uvicorn.Server(uvicorn.Config(create_app(Service.of(settings, store)), log_level="error", ws="none"))
    with listening(settings) as taken:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [taken]})
        thread.start()
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.02)
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/"
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def address(saved, tmp_path_factory):
    """The tiny models, one item of which has a title that would like to be a program."""
    folder = tmp_path_factory.mktemp("page") / "served"
    shutil.copytree(saved["llada"].parent, folder)
    paths = {name: folder / name for name in saved}
    store = ModelStore(paths)
    store.load_all()
    for name in saved:
        store.change(name, lambda model: model.update_items(pl.DataFrame([{ITEM_ID: "P00003", "title": HOSTILE}])))
    with running(store, ServeSettings(models=paths, port=0)) as address:
        yield address


@pytest.fixture(scope="module")
def chromium(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as made:
        yield made


@pytest.fixture
def page(chromium, address):
    chromium.size(1360, 1000)
    chromium.open("about:blank")
    chromium.open(address)
    chromium.wait(lambda: chromium.texts("#model option"), "the models")
    yield chromium
    assert chromium.complaints() == []


def add(page, words: str, *, down: int = 0) -> None:
    """By keyboard: type, walk down the list, take."""
    before = len(page.texts("#history > li"))
    page.type("#search", words)
    page.wait(lambda: page.run("return !document.getElementById('found').hidden"), f"items for {words!r}")
    page.wait(lambda: page.texts("#found li[id]"), f"items for {words!r}")
    page.type("#search", KEYS["down"] * down + KEYS["enter"])
    page.wait(lambda: len(page.texts("#history > li")) == before + 1, "the item in the history")


def settle(page) -> None:
    page.wait(lambda: not page.texts("[aria-busy=true]"), "the answer")


def listed(page, model: str) -> list[str]:
    return page.texts(f".list[data-model='{model}'] .recommended .title")


def three(page) -> None:
    for item_id in ("P00001", "P00002", "P00005"):
        add(page, item_id)
    settle(page)
    assert len(listed(page, "llada")) == 10


def test_search_recommend_and_watch(page):
    three(page)
    assert page.run("return document.querySelectorAll('.recommended .code').length") == 30
    assert page.text(".latency b").endswith(" ms")
    assert page.text("#status").startswith("llada: 10 recommendations in ")
    assert page.text("#step-is") == "Step 1 of 3"
    seen = []
    for number in (1, 2, 3):
        assert page.text("#step-is") == f"Step {number} of 3"
        assert len(page.texts(".slot")) == 3 and len(page.texts(".slot.now")) == 1
        assert len(page.texts(".slot.done")) == number - 1
        seen.append(page.text(".slot.now .slot-head span"))
        assert page.texts("#candidates > li") and len(page.texts(".tree circle")) > 1
        assert page.text(".funnel .now b").replace(",", "").isdigit()
        if number < 3:
            page.click("#forward")
    assert sorted(seen) == ["slot 1", "slot 2", "slot 3"]
    assert page.run("return document.getElementById('forward').disabled")


def test_the_search_and_filters_change_the_list(page):
    three(page)
    page.choose("#n_steps", 1)
    page.wait(lambda: page.text("#step-is") == "Step 1 of 1", "one step")
    page.choose("#k", 4)
    page.wait(lambda: len(listed(page, "llada")) == 4, "four items")
    page.type("#allow", "price_band=budget")
    page.wait(lambda: page.texts(".badge.new"), "items that were not there before")
    page.type("#allow", " and nonsense<")
    page.wait(lambda: page.texts(".list .notice"), "what is wrong with the filter")
    assert page.complaints()  # the browser tells of the refused request by itself
    page.click("#defaults")
    page.wait(lambda: len(listed(page, "llada")) == 10, "the list without settings")


def test_two_models_side_by_side(page):
    three(page)
    page.choose("#rival", "plus")
    page.wait(lambda: len(listed(page, "plus")) == 10, "the other list")
    assert page.text("#overlap").endswith(" of 10 in both lists")
    page.wait(lambda: page.texts("#watch label") == ["llada", "plus"], "both generations")
    page.choose("#rival", "popular")
    page.wait(lambda: len(listed(page, "popular")) == 10, "a list without codes")
    page.wait(lambda: not page.texts("#watch:not([hidden]) label"), "one generation")


def test_who_types_fast_need_not_wait_for_the_list(page):
    page.type("#search", "P00002" + KEYS["enter"])
    page.wait(lambda: len(page.texts("#history > li")) == 1, "the item")
    settle(page)
    assert page.run("return document.getElementById('found').hidden")


def test_an_item_is_told_by_the_model_whose_list_it_is_in_and_a_history_by_the_first(page):
    three(page)
    page.choose("#rival", "popular")
    page.wait(lambda: listed(page, "popular"), "a list without codes")
    page.click(".list[data-model='popular'] .add")
    page.wait(
        lambda: len(page.texts("#history > li:last-child .code")) == 3 and page.texts("#history > li:nth-child(4)"),
        "its codes",
    )
    page.choose("#model", "popular")
    page.choose("#rival", "plus")
    page.wait(lambda: len(listed(page, "plus")) == 10, "the other list")
    page.click(".list[data-model='plus'] .recommended .title")
    page.wait(lambda: page.texts("#item[open] .neighbours li"), "the item with its codes")
    assert len(page.texts("#item-body > .row:first-child .code")) == 3


def test_an_item_its_neighbours_and_what_else_fits(page):
    three(page)
    page.click(".recommended .title")
    page.wait(lambda: page.texts("#item[open] .neighbours li"), "the item")
    assert page.text("#item-title") == listed(page, "llada")[0]
    page.run("document.querySelector('.toggle input').click()")
    page.wait(lambda: page.texts(".steer .neighbours li"), "what else fits")
    page.run("document.querySelector('.steer > button').click()")
    page.wait(lambda: listed(page, "plus"), "the steered list")
    assert "in slot 1" in page.text("#steering") and not page.texts("#item[open]")


def test_a_sample_user_and_a_link(page, address):
    page.click("#sample")
    page.wait(lambda: listed(page, "llada"), "the list")
    settle(page)
    assert page.text("#truth").startswith("★ In truth came next: ")
    history, here = page.texts("#history .link"), page.run("return location.href")
    page.open("about:blank")
    page.open(here)
    page.wait(lambda: page.texts("#history .link") == history, "the same history from its address")


def test_titles_stay_titles(page):
    add(page, "zzlamp")
    assert page.texts("#history .link") == [HOSTILE]
    page.click("#history .link")
    page.wait(lambda: page.text("#item-title") == HOSTILE, "the item")
    settle(page)
    assert page.run("return document.body.dataset.owned ?? null") is None
    assert page.run("return document.querySelectorAll('main script, main img, dialog script, dialog img').length") == 0


def test_everything_has_a_name_and_a_visible_focus(page):
    three(page)
    script = """return [...document.querySelectorAll("button, input, select, canvas, [role=img]")].filter((each) =>
        !(each.labels?.length || each.getAttribute("aria-label") || each.textContent.trim())).map((each) => each.id)"""
    assert page.run(script) == []
    page.type("#search", KEYS["escape"] + KEYS["tab"])
    outline = "const at = getComputedStyle(document.activeElement); return [document.activeElement.id, at.outlineStyle]"
    focused, style = page.run(outline)
    assert focused != "search" and style == "solid"


def test_pictures(page):
    PICTURES.mkdir(exist_ok=True)
    page.picture(PICTURES / "start.png")
    page.choose("#rival", "plus")
    three(page)
    page.click("#forward")
    page.wait(lambda: page.text("#step-is") == "Step 2 of 3", "the second step")
    time.sleep(1)  # what moves comes to rest
    page.picture(PICTURES / "desktop.png")
    page.click(".list[data-model='plus'] .recommended .title")
    page.wait(lambda: page.texts("#item[open] .neighbours li"), "the item")
    page.run("document.querySelector('.toggle input').click()")
    page.wait(lambda: page.texts(".steer .neighbours li"), "what else fits")
    page.picture(PICTURES / "item.png")
    page.click("#item-close")
    page.size(360, 780)
    page.wait(lambda: page.run("return document.documentElement.scrollWidth") == 360, "a page of a phone's width")
    page.picture(PICTURES / "phone.png")
    page.size(1360, 1000)
    page.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    page.click("#theme")
    light = page.run("return getComputedStyle(document.body).backgroundColor")
    page.click("#theme")
    assert page.run("return getComputedStyle(document.body).backgroundColor") != light
    time.sleep(0.3)
    page.picture(PICTURES / "dark.png")
    page.click("#theme")
    assert page.text("#theme") == "Theme: system"
    assert all(
        (PICTURES / f"{name}.png").stat().st_size > 20_000 for name in ("start", "desktop", "item", "phone", "dark")
    )
