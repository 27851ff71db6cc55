from __future__ import annotations

from email.message import Message

import pytest

from sidrec.data.partial_file import PartialFile, Version


def headers(**values: str) -> Message:
    found = Message()
    for name, value in values.items():
        found[name.replace("_", "-")] = value
    return found


@pytest.mark.parametrize(
    ("sent", "tag"),
    [
        ({"ETag": '"a"', "Last_Modified": "Mon"}, '"a"'),
        ({"ETag": 'W/"a"', "Last_Modified": "Mon"}, "Mon"),
        ({"Last_Modified": "Mon"}, "Mon"),
        ({"ETag": 'W/"a"'}, ""),
        ({}, ""),
    ],
)
def test_only_a_strong_tag_or_a_date_tells_versions_apart(sent, tag):
    assert Version.of("u", headers(**sent)) == Version("u", tag)


def test_a_part_knows_its_version_until_it_is_whole(tmp_path):
    part = PartialFile(tmp_path / "a")
    part.begin(Version("u", "t"))
    assert part.version("u") is None  # nothing has come yet
    part.path.write_bytes(b"123")
    assert PartialFile(tmp_path / "a").version("u") == Version("u", "t")
    assert part.version("elsewhere") is None
    part.finish()
    assert [file.name for file in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("text", ["", "{}", '{"url": 1, "tag": "t"}', '{"url": "u", "tag": ""}'])
def test_a_version_that_cannot_be_read_is_none(tmp_path, text):
    part = PartialFile(tmp_path / "a")
    part.path.write_bytes(b"123")
    (tmp_path / "a.part.json").write_text(text)
    assert part.version("u") is None
