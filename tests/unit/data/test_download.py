"""Downloads leave a whole file under the name that it is given, or nothing."""

import errno
import io
from pathlib import Path

import pytest

from awt.data import download
from awt.errors import InputError, is_disk_full


def test_a_file_is_there_while_it_is_looked_at(tmp_path, mirror, snapshot):
    content = bytes(range(256)) * 9000  # several blocks
    with mirror({"file": content}) as url:
        with download.fetched(f"{url}file", tmp_path / "new") as path:
            assert path.read_bytes() == content
            assert path.name.startswith(".")
        assert snapshot(tmp_path) == {}
        with download.fetched(f"{url}file", tmp_path / "new") as path:
            path.replace(tmp_path / "new" / "kept")
    assert snapshot(tmp_path) == {"new/kept": content}


def test_what_is_too_large_is_given_up(tmp_path, mirror, snapshot, monkeypatch):
    monkeypatch.setattr(download, "LARGEST", 2**20)
    with (
        mirror({"file": bytes(2**20 + 1)}) as url,
        pytest.raises(ValueError, match="more than 1 MB"),
        download.fetched(f"{url}file", tmp_path),
    ):
        pass
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize(("number", "expected"), [(errno.ENOSPC, OSError), (errno.EROFS, InputError)])
def test_a_full_disk_is_told_from_a_folder_that_cannot_be_written(tmp_path, mirror, monkeypatch, number, expected):
    class Disk(io.BytesIO):
        def write(self, block) -> int:
            raise OSError(number, "no")

    monkeypatch.setattr(Path, "open", lambda *arguments, **options: Disk())
    with (
        mirror({"file": b"content"}) as url,
        pytest.raises(expected) as caught,
        download.fetched(f"{url}file", tmp_path),
    ):
        pass
    assert is_disk_full(caught.value) == (number == errno.ENOSPC)
