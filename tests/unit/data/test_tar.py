"""Archives as a stream: all of one comes out, in order, or it is refused."""

import io
import tarfile
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.data.tar import Member, members
from awt.errors import InputError

# sizes at and around the blocks of 512 bytes that a tar is made of
FILES = {"b/one": b"1" * 511, "a/two": b"2" * 512, "a/empty": b"", "b/three": b"3" * 1025}


def pack(files: dict[str, bytes], compression: str = "", extra: tarfile.TarInfo | None = None) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{compression}") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        if extra is not None:
            archive.addfile(extra)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("archives") / "mine.tar"


@pytest.mark.parametrize("compression", ["", "gz", "bz2", "xz"])
def test_files_and_folders_come_in_order(path, compression):
    folder = tarfile.TarInfo("./b/")
    folder.type = tarfile.DIRTYPE
    path.write_bytes(pack({f"./{name}": data for name, data in FILES.items()}, compression, folder))
    expected = [Member(PurePosixPath(name), content) for name, content in FILES.items()]
    assert list(members(path)) == [*expected, Member(PurePosixPath("b"), None)]


def test_long_names_in_other_alphabets(path):
    name = "klassen/" + "ü" * 120
    path.write_bytes(pack({name: b"x"}))
    assert [str(member.path) for member in members(path)] == [name]


@settings(max_examples=150)
@given(st.data(), st.sampled_from(["", "gz", "bz2", "xz"]))
def test_what_is_cut_short_anywhere_is_refused(path, data, compression):
    content = pack(FILES, compression)
    end = len(content) if compression else sum(512 + -(-len(file) // 512) * 512 for file in FILES.values()) + 512
    path.write_bytes(content[: data.draw(st.integers(0, end - 1))])
    with pytest.raises(InputError, match=f"^{path}: truncated, corrupt, or no tar"):
        list(members(path))


@settings(max_examples=300)
@given(st.data(), st.sampled_from(["", "gz", "bz2", "xz"]))
def test_damage_anywhere_is_refused_where_a_checksum_covers_it(path, data, compression):
    """A plain tar has none of its contents, only of its headers."""
    content = bytearray(pack(FILES, compression))
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(content)
    try:
        found = {str(member.path): member.content for member in members(path)}
    except InputError:  # anything else is a crash
        return
    assert list(found) == list(FILES)
    if compression:
        assert found == FILES


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_and_devices_are_refused(path, kind):
    extra = tarfile.TarInfo("a/link")
    extra.type, extra.linkname = kind, "../../secret"
    path.write_bytes(pack(FILES, extra=extra))
    with pytest.raises(InputError, match=r"a/link: a link or device; pack with `tar --dereference"):
        list(members(path))


@pytest.mark.parametrize("name", ["/etc/passwd", "../up", "a/../../up"])
def test_paths_that_lead_out_are_refused(path, name):
    path.write_bytes(pack({name: b"x"}))
    with pytest.raises(InputError, match=f"{name}: a path that leads out of the archive"):
        list(members(path))


def test_a_second_archive_behind_the_first_is_not_overlooked(path):
    path.write_bytes(pack(FILES) + pack({"c/four": b"4"}))
    with pytest.raises(InputError, match="should go on at byte"):
        list(members(path))


def test_a_file_that_is_too_large_is_refused_before_it_is_read(path, monkeypatch):
    monkeypatch.setattr("awt.data.tar.LARGEST_FILE", 1024)
    path.write_bytes(pack(FILES))
    with pytest.raises(InputError, match="b/three: 1025 bytes"):
        list(members(path))


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04" + bytes(600), bytes(100)])
def test_other_files_are_no_tar(path, content):
    path.write_bytes(content)
    with pytest.raises(InputError, match="truncated, corrupt, or no tar"):
        list(members(path))
