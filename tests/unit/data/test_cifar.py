"""CIFAR is read from the binary archive or its files, checked record by record; nothing is unpacked or unpickled."""

import hashlib
import io
import pickle
import tarfile
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from awt.data import cifar, cifar10, cifar100
from awt.errors import InputError

READERS = {"cifar10": cifar10, "cifar100": cifar100}


def record_files(archive: cifar.Archive, seed: int = 0) -> dict[str, bytes]:
    """Random pixels in the real layout: each class equally often, the fine label after a coarse one."""
    random = np.random.default_rng(seed)
    files = {}
    for name, points in archive.points.items():
        y = np.arange(points, dtype=np.uint8) % archive.classes
        coarse = [y // 5] if archive.label_bytes == 2 else []
        pixels = random.integers(0, 256, (points, 3072), np.uint8)
        files[f"{archive.folder}/{name}"] = np.column_stack([*coarse, y, pixels]).tobytes()
    return files


def pack(files: dict[str, bytes], compression: str = "gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=f"w:{compression}") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


@pytest.fixture(params=READERS)
def name(request) -> str:
    return request.param


@pytest.fixture
def use(name, monkeypatch):
    """Takes changes to the archive that the reader knows: by default few points, and no mirror."""

    def change(**changes: object) -> cifar.Archive:
        archive = replace(READERS[name].ARCHIVE, **changes)
        monkeypatch.setattr(READERS[name], "ARCHIVE", archive)
        return archive

    classes = READERS[name].ARCHIVE.classes
    change(train_points=2 * classes, test_points=classes, source=replace(READERS[name].ARCHIVE.source, mirrors=()))
    return change


@pytest.fixture
def archive(name, use) -> cifar.Archive:
    return READERS[name].ARCHIVE


@pytest.fixture
def put(tmp_path, name, use):
    """Puts an archive in its place, with a digest that stands in for the real one."""

    def put(data: bytes):
        archive = use(md5=hashlib.md5(data).hexdigest())
        path = tmp_path / name / archive.name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path

    return put


@pytest.fixture
def read(tmp_path, name, data_of):
    return lambda: READERS[name].read(data_of(name), tmp_path)


def expected(archive: cifar.Archive, files: dict[str, bytes], name: str) -> tuple[np.ndarray, np.ndarray]:
    """Pixel by pixel, as the authors describe the layout."""
    length = archive.label_bytes + 3072
    records = np.frombuffer(files[f"{archive.folder}/{name}"], np.uint8).reshape(-1, length)
    x = np.empty((len(records), 32, 32, 3), np.uint8)
    for channel in range(3):
        start = archive.label_bytes + 1024 * channel
        x[..., channel] = records[:, start : start + 1024].reshape(-1, 32, 32)
    return x, records[:, archive.label_bytes - 1]


def test_the_archive_is_read_without_unpacking(archive, put, read, tmp_path, snapshot):
    files = record_files(archive)
    order = dict(reversed(files.items())) | {f"{archive.folder}/readme.html": b"hello"}
    put(pack(order))
    before = snapshot(tmp_path)
    raw = read()
    assert snapshot(tmp_path) == before
    parts = [expected(archive, files, name) for name in archive.train]
    assert np.array_equal(raw.train_x, np.concatenate([x for x, _ in parts]))
    assert np.array_equal(raw.train_y, np.concatenate([y for _, y in parts]))
    x, y = expected(archive, files, archive.test)
    assert np.array_equal(raw.test_x, x)
    assert np.array_equal(raw.test_y, y)
    assert (raw.train_x.dtype, raw.train_y.dtype, raw.scale, raw.classes) == (
        np.uint8,
        np.int32,
        255.0,
        archive.classes,
    )
    digests = {name: hashlib.sha256(files[f"{archive.folder}/{name}"]).hexdigest() for name in archive.points}
    assert list(raw.sources.items()) == list(digests.items())


@pytest.mark.parametrize("inside", [True, False])
def test_unpacked_files_give_the_same(archive, put, read, name, tmp_path, inside):
    files = record_files(archive)
    path = put(pack(files))
    packed = read()
    path.unlink()
    for file, content in files.items():
        place = tmp_path / name / (file if inside else file.split("/")[1])
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(content)
    raw = read()
    assert np.array_equal(raw.train_x, packed.train_x)
    assert np.array_equal(raw.test_y, packed.test_y)
    assert raw.sources == packed.sources
    found = READERS[name].present(tmp_path)
    assert (len(found.paths), found.missing, found.checked_by) == (len(files), (), "size and labels")


def test_some_unpacked_files_without_the_others_are_named(archive, read, name, tmp_path, snapshot):
    files = record_files(archive)
    place = tmp_path / name / archive.test
    place.parent.mkdir()
    place.write_bytes(files[f"{archive.folder}/{archive.test}"])
    with pytest.raises(InputError, match=f"{archive.test} without {archive.train[0]}.*{archive.name}"):
        read()
    assert list(snapshot(tmp_path)) == [f"{name}/{archive.test}"]


def test_an_archive_of_another_digest_is_left_alone(archive, put, use, read, name, tmp_path, snapshot):
    path = put(pack(record_files(archive)))
    use(md5=archive.md5)
    before = snapshot(tmp_path)
    for look in (read, lambda: READERS[name].present(tmp_path)):
        with pytest.raises(InputError, match=rf"{path}: not {archive.name}: its md5 is .*{archive.md5}.*left as it is"):
            look()
    assert snapshot(tmp_path) == before


def changed(files: dict[str, bytes], suffix: str, content) -> dict[str, bytes]:
    return {name: content(data) if name.endswith(suffix) else data for name, data in files.items()}


def relabelled(archive: cifar.Archive, label: int):
    place = archive.label_bytes - 1
    return lambda data: data[:place] + bytes([label]) + data[place + 1 :]


FAULTS = {
    "a record too short": (lambda archive, files: changed(files, archive.test, lambda data: data[:-1]), "records of"),
    "a record more": (lambda archive, files: changed(files, archive.test, lambda data: data * 2), "records of"),
    "no such class": (
        lambda archive, files: changed(files, archive.test, relabelled(archive, 255)),
        "label 255 is out of range",
    ),
    "mislabelled": (
        lambda archive, files: changed(files, archive.test, relabelled(archive, 1)),
        r"0 test points of class 0; there must be 1: .*mislabelled",
    ),
    "a file missing": (
        lambda archive, files: {name: data for name, data in files.items() if not name.endswith(archive.test)},
        "no .* in it",
    ),
    "a path that leads out": (
        lambda archive, files: {f"../{name}": data for name, data in files.items()},
        "leads out of the archive",
    ),
    "an absolute path": (
        lambda archive, files: {f"/{name}": data for name, data in files.items()},
        "leads out of the archive",
    ),
    "another folder": (lambda archive, files: {f"other/{name}": data for name, data in files.items()}, "no .* in it"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_faulty_archive_is_named_whatever_its_digest(archive, put, read, tmp_path, fault, snapshot):
    change, message = FAULTS[fault]
    path = put(pack(change(archive, record_files(archive))))
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=message) as caught:
        read()
    assert str(path) in str(caught.value) or archive.name in str(caught.value)
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("cut", [0, 10, 1000, -5])
def test_a_truncated_archive_is_named(archive, put, read, cut):
    path = put(pack(record_files(archive))[:cut])
    with pytest.raises(InputError, match=f"{path}: truncated, corrupt, or no tar"):
        read()


def test_it_is_downloaded_once_and_kept(archive, use, read, name, tmp_path, mirror, snapshot):
    data = pack(record_files(archive))
    with mirror({archive.name: data[:-100]}) as cut, mirror({archive.name: data}) as whole:
        use(md5=hashlib.md5(data).hexdigest(), source=replace(archive.source, mirrors=(cut, whole)))
        raw = read()
    assert snapshot(tmp_path) == {f"{name}/{archive.name}": data}
    assert np.array_equal(read().train_x, raw.train_x)
    assert READERS[name].present(tmp_path).missing == ()


def test_a_corrupt_download_is_not_kept(archive, use, read, tmp_path, mirror, snapshot):
    with mirror({archive.name: b"<html>moved</html>"}) as url:
        use(source=replace(archive.source, mirrors=(url,)))
        with pytest.raises(InputError, match=f"{url}: its md5 is"):
            read()
    assert snapshot(tmp_path) == {}


def test_offline_the_message_names_file_and_folder(archive, use, read, name, tmp_path, snapshot):
    use(source=replace(archive.source, mirrors=("http://127.0.0.1:1/",)))
    with pytest.raises(InputError) as caught:
        read()
    for part in (archive.name, str(tmp_path / name), "AWT_DATA_DIR", "data.root", "http://127.0.0.1:1/"):
        assert part in str(caught.value)
    assert "pickles" not in str(caught.value)
    assert READERS[name].present(tmp_path).missing == (archive.name,)
    assert snapshot(tmp_path) == {}


class Trap:
    def __reduce__(self):
        return pytest.fail, ("unpickled",)


@pytest.mark.parametrize("kind", [0, 1])
def test_pickles_stay_closed_and_the_binary_version_is_named(archive, read, name, tmp_path, kind):
    path = tmp_path / name / archive.pickles[kind]
    trap = pickle.dumps(Trap())
    if kind:
        path.mkdir(parents=True)
        (path / "data_batch_1").write_bytes(trap)
    else:
        path.parent.mkdir()
        path.write_bytes(pack({"cifar-10-batches-py/data_batch_1": trap}))
    with pytest.raises(InputError, match=rf"{archive.name}.*{path} is left closed: it has pickles"):
        read()


@settings(max_examples=60)
@given(st.data())
def test_damage_anywhere_is_refused(tmp_path_factory, data):
    """Even of an archive whose digest nobody knows, as if it had been published so."""
    small = replace(cifar100.ARCHIVE, classes=2, train_points=4, test_points=2)
    content = bytearray(pack(record_files(small)))
    place = data.draw(st.integers(10, len(content) - 1))  # gzip's head says nothing of its content
    content[place] ^= data.draw(st.integers(1, 255))
    root = tmp_path_factory.getbasetemp() / "damaged"
    (root / "cifar100").mkdir(parents=True, exist_ok=True)
    (root / "cifar100" / small.name).write_bytes(content)
    with pytest.raises(InputError, match="damaged"):
        cifar.read(replace(small, md5=hashlib.md5(content).hexdigest()), root)
