"""The stage: skipping, fingerprints, and that bad input or a kill leaves nothing broken."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

import sidrec
from sidrec.core.artifacts import open_artifact
from sidrec.core.errors import InputError, SettingsError, SidrecError, StorageError
from sidrec.core.notices import SidrecWarning
from sidrec.core.replacing import replacing
from sidrec.data.build_dataset import PrepareSettings
from sidrec.data.dataset import Dataset
from sidrec.data.prepare import Prepared, find_source, prepare

GOOD = "user_id,item_id,timestamp,rating\nu,007,1,5\nu,b,2,4\nu,c,3,3\n"
ITEMS = "item_id,title\n007,お茶\nb,شاي\nc,🍵\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "interactions.csv").write_text(GOOD, encoding="utf-8")
    (tmp_path / "in" / "items.csv").write_text(ITEMS, encoding="utf-8")
    return tmp_path


def run(folder: Path, **chosen: object) -> Prepared:
    return prepare(find_source(folder / "in"), folder / "out", PrepareSettings.parse(chosen, owner="test"))


def test_artefact_and_library_twin_agree(folder: Path) -> None:
    done = run(folder)
    loaded, read = Dataset.load(folder / "out"), sidrec.read_dataset(folder / "in")
    assert done.statistics["users"] == 1 and done.left_out["rows_read"] == 3
    assert loaded.catalog.titles == read.catalog.titles == ["お茶", "شاي", "🍵"]
    assert loaded.catalog.item_ids.to_list() == ["007", "b", "c"]
    assert loaded.sequences.items.tolist() == read.sequences.items.tolist() == [0, 1, 2]
    assert loaded.fingerprint == open_artifact(folder / "out").fingerprint
    assert sidrec.read_dataset(folder / "out").fingerprint == loaded.fingerprint


def test_same_work_is_skipped_and_other_work_is_not(folder: Path) -> None:
    assert [run(folder).skipped, run(folder).skipped] == [False, True]
    with pytest.raises(StorageError, match="holds another dataset, made from other data or with other settings"):
        run(folder, duplicates="first")
    with replacing():
        assert not run(folder, duplicates="first").skipped
    (folder / "in" / "items.csv").write_text(ITEMS.replace("🍵", "tea"), encoding="utf-8")
    with replacing():
        assert not run(folder, duplicates="first").skipped
    assert Dataset.load(folder / "out").catalog.titles[2] == "tea"


def test_paths_and_frames_mix(folder: Path) -> None:
    events, items = pl.read_csv(folder / "in/interactions.csv"), pd.read_csv(folder / "in/items.csv", dtype=str)
    whole = sidrec.read_dataset(folder / "in/interactions.csv", folder / "in/items.csv")
    assert sidrec.read_dataset(events, folder / "in/items.csv").fingerprint == whole.fingerprint
    assert sidrec.read_dataset(folder / "in/interactions.csv", items).fingerprint == whole.fingerprint
    assert sidrec.read_dataset(events, items).fingerprint == whole.fingerprint
    assert sidrec.read_dataset(events.reverse(), items).sequences.items.tolist() == [0, 1, 2]
    assert sidrec.read_dataset(events[:3], items[["item_id"]]).fingerprint != whole.fingerprint


def test_misspelt_settings_are_named(folder: Path) -> None:
    with pytest.raises(SettingsError, match="did you mean k_core"):
        sidrec.read_dataset(folder / "in", kcore=5)
    with pytest.raises(SettingsError, match="not a format we read"):
        find_source(folder / "in", format="parquet")
    with pytest.raises(InputError, match="nothing to read"):
        find_source(None)
    with pytest.raises(InputError, match="give one of them"):
        find_source(folder / "in", folder / "in/interactions.csv")


BAD = {
    "missing column": (
        GOOD.replace("timestamp", "ts"),
        ITEMS,
        r"interactions.csv: no column timestamp; is it ts\? Then say timestamp=ts",
    ),
    "wrong type": (GOOD.replace(",4\n", ",good\n"), ITEMS, r"interactions.csv, row 3, column rating: 'good'"),
    "unparsable time": (GOOD.replace(",2,", ",soon,"), ITEMS, r"interactions.csv, row 3, column timestamp: 'soon'"),
    "missing id": (GOOD.replace("u,b", ",b"), ITEMS, r"interactions.csv, row 3, column user_id: the id is missing"),
    "empty file": ("", ITEMS, r"interactions.csv: the file is empty"),
    "header only": (GOOD.partition("\n")[0], ITEMS, r"interactions.csv: has no interactions"),
    "empty items": (GOOD, "", r"items.csv: the file is empty"),
    "NUL byte": (GOOD.replace("u,b", "u,b\0"), ITEMS, r"interactions.csv, row 3: contains a NUL byte"),
    "invalid UTF-8": (GOOD, ITEMS.encode().replace(b"b,", b"\xff,"), r"items.csv, row 3: not valid UTF-8"),
    "ragged row": (GOOD.replace(",4\n", ",4,4\n"), ITEMS, r"interactions.csv, row 3: has 5 fields, the header has 4"),
    "short row": (GOOD.replace(",4\n", "\n"), ITEMS, r"interactions.csv, row 3: has 3 fields, the header has 4"),
    "duplicate items": (GOOD, ITEMS + "b,B\n", r"items.csv, row 5, column item_id: item 'b' stands already in row 3"),
    "unknown items": (GOOD, ITEMS.replace("b,", "x,"), r"interactions.csv, row 3, column item_id: item 'b' is not in"),
    "short users": (GOOD.partition("u,c")[0], ITEMS, r"no user has the 3 interactions"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_one_sentence_and_leaves_nothing(folder: Path, name: str) -> None:
    events, items, message = BAD[name]
    for file, text in (("interactions.csv", events), ("items.csv", items)):
        (folder / "in" / file).write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SidrecError, match=message) as caught:
        run(folder)
    assert "\n" not in str(caught.value)
    assert [path.name for path in folder.iterdir()] == ["in"]


def test_truncated_gzip_keeps_the_old_artefact(folder: Path) -> None:
    run(folder)
    before = open_artifact(folder / "out").fingerprint
    packed = gzip.compress(GOOD.encode())
    (folder / "in" / "interactions.csv").unlink()
    (folder / "in" / "interactions.csv.gz").write_bytes(packed[:-10])
    with pytest.raises(InputError, match=r"interactions.csv.gz: the compressed file ends too early"), replacing():
        run(folder)
    assert open_artifact(folder / "out").fingerprint == before


def test_a_file_that_changes_while_it_is_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = sidrec.data.prepare.build_dataset

    def slow(*arguments: object) -> object:
        built = real(*arguments)  # type: ignore[arg-type]
        with (folder / "in" / "interactions.csv").open("a") as file:
            file.write("u,c,9,1\n")
        return built

    monkeypatch.setattr("sidrec.data.prepare.build_dataset", slow)
    with pytest.raises(InputError, match=r"interactions.csv: changed while it was read"):
        run(folder)
    assert not (folder / "out").exists()


def test_no_space_left(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Dataset, "write_files", full)
    with pytest.raises(StorageError, match="out: no space left on the disk; free some"):
        run(folder)
    assert [path.name for path in folder.iterdir()] == ["in"]


TINY_DISK = """
mount -t tmpfs -o size=64k tmpfs "$1" || exit 77
"$2" -c "from sidrec.cli.app import main; main()" data prepare "$3" --out "$1/out"
code=$?
ls -A "$1"
exit $code
"""


@pytest.mark.slow
def test_a_disk_that_is_really_full(folder: Path) -> None:
    rows = "".join(f"u{n % 999},item number {n % 7000},{n}\n" for n in range(30_000))
    (folder / "in" / "interactions.csv").write_text("user_id,item_id,timestamp\n" + rows, encoding="utf-8")
    (folder / "in" / "items.csv").unlink()
    disk = folder / "disk"
    disk.mkdir()
    if shutil.which("unshare") is None:
        pytest.skip("needs unshare to mount a small disk of its own")
    arguments = ["unshare", "-rm", "sh", "-c", TINY_DISK, "sh", str(disk), sys.executable, str(folder / "in")]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode not in (0, 2) and "Traceback" not in done.stderr:
        pytest.skip("this system does not let us mount a small disk")
    assert done.returncode == 2, done.stderr
    assert done.stderr.splitlines()[-1].endswith(
        "out: no space left on the disk; free some and run the same command again."
    )
    assert "Traceback" not in done.stderr and done.stdout == ""


@pytest.mark.slow
def test_a_kill_at_any_moment_leaves_the_old_or_the_new(folder: Path) -> None:
    rows = "".join(f"u{n % 3000},i{(n * 7) % 500},{n}\n" for n in range(60_000))
    (folder / "in" / "interactions.csv").write_text("user_id,item_id,timestamp\n" + rows, encoding="utf-8")
    (folder / "in" / "items.csv").unlink()
    call = "from sidrec.cli.app import main; main()"
    command = [sys.executable, "-c", call, "data", "prepare", str(folder / "in"), "--out", str(folder / "out")]
    start = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    whole = time.monotonic() - start
    seen = {open_artifact(folder / "out").fingerprint}
    for turn in range(12):
        process = subprocess.Popen(
            [*command, "--replace", "--k-core", str(2 + turn)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(whole * (0.4 + 0.6 * turn / 11))
        process.send_signal(signal.SIGKILL)
        process.wait()
        dataset = Dataset.load(folder / "out")  # verifies every hash
        assert dataset.n_users == 3000
        seen.add(dataset.fingerprint)
    subprocess.run([*command, "--replace", "--k-core", "3"], check=True, capture_output=True)
    assert sorted(path.name for path in folder.iterdir()) == ["in", "out"]  # what the killed ones left is swept


@pytest.mark.slow
def test_the_same_input_gives_the_same_bytes_for_any_number_of_threads(tmp_path: Path) -> None:
    rows = "".join(f"u{row * 7919 % 6007},i{row * 31 % 907},{row // 3}\n" for row in range(60_000))
    (tmp_path / "x.csv").write_text("user_id,item_id,timestamp\n" + rows)
    items = "".join(f"i{n},thing {n}\n" for n in range(907))
    (tmp_path / "items.csv").write_text("item_id,title\n" + items)
    found = set()
    for threads in (1, 2, 8) * 3:
        words = ["data", "prepare", "--interactions", "x.csv", "--items", "items.csv", "--out", "data"]
        environment = {**os.environ, "POLARS_MAX_THREADS": str(threads)}
        subprocess.run([sys.executable, "-m", "sidrec", *words], cwd=tmp_path, env=environment, check=True)
        found.add(open_artifact(tmp_path / "data").content)
        shutil.rmtree(tmp_path / "data")
    assert len(found) == 1


def shop(folder: Path) -> tuple[Path, Path]:
    """As a German till writes it."""
    rows = "".join(f"K{user};{sku};0{day}.05.2023 12:30\n" for user in (1, 2) for day, sku in ((1, 7), (2, 8), (3, 9)))
    orders, items = folder / "Bestellungen.csv", folder / "Artikel.csv"
    orders.write_text("Kunde;sku;Datum\n" + rows, encoding="utf-8-sig")
    items.write_text(
        'Artikel;Bezeichnung;Preis;lieferbar;Kategorien\n7;Tüte Süßes;1.299,00;true;"[""Küche"", ""Kaffee""]"\n'
        "8;Löffel;19,99;false;[]\n9;Öl, kalt;5;true;[]\n",
        encoding="utf-8",
    )
    return orders, items


EVENT_COLUMNS = {"user_id": "Kunde", "item_id": "sku", "timestamp": "Datum"}
ITEM_COLUMNS = {"item_id": "Artikel", "title": "Bezeichnung"}


def test_a_german_shop_is_read_as_it_is(tmp_path: Path) -> None:
    orders, items = shop(tmp_path)
    data = sidrec.read_dataset(orders, items, interaction_columns=EVENT_COLUMNS, item_columns=ITEM_COLUMNS)
    assert data.catalog.frame.rows() == [
        ("7", "Tüte Süßes", 1299.0, True, ["Küche", "Kaffee"]),
        ("8", "Löffel", 19.99, False, []),
        ("9", "Öl, kalt", 5.0, True, []),
    ]
    assert data.timestamps is not None
    assert data.timestamps[0] == 1_682_944_200_000_000  # 2023-05-01T12:30 in microseconds


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("K1;8;", "K1;77;", r"Bestellungen.csv, row 3, column sku: item '77' is not in the items table"),
        ("K1;8;", ";8;", r"Bestellungen.csv, row 3, column Kunde: the id is missing"),
        ("02.05.2023 12:30", "gestern", r"Bestellungen.csv, row 3, column Datum: 'gestern' is not a time"),
        ("8;Löffel", "7;Löffel", r"Artikel.csv, row 3, column Artikel: item '7' stands already in row 2"),
    ],
)
def test_refusals_name_the_users_own_columns(tmp_path: Path, old: str, new: str, words: str) -> None:
    for file in shop(tmp_path):
        file.write_text(file.read_text(encoding="utf-8").replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=words):
        sidrec.read_dataset(*shop_files(tmp_path), interaction_columns=EVENT_COLUMNS, item_columns=ITEM_COLUMNS)


def shop_files(folder: Path) -> tuple[Path, Path]:
    return folder / "Bestellungen.csv", folder / "Artikel.csv"


def test_without_times_the_rows_are_the_order_and_that_is_said(tmp_path: Path) -> None:
    (tmp_path / "clicks.csv").write_text("user_id,item_id\nu,c\nu,a\nu,b\nu,a\n", encoding="utf-8")
    with pytest.warns(SidrecWarning, match=r"clicks.csv: has no column timestamp, so the order of its rows"):
        data = sidrec.read_dataset(tmp_path / "clicks.csv")
    assert data.catalog.item_ids.gather(data.sequences[0]).to_list() == ["c", "a", "b", "a"]
    for skipped in (False, True):
        done = prepare(find_source(tmp_path / "clicks.csv"), tmp_path / "out", PrepareSettings())
        assert done.skipped == skipped
        assert "the order of its rows" in done.notes[0]
        assert all(isinstance(count, int) for count in done.left_out.values())
