"""Images in folders by class, as a directory or a tar: sorted whatever the order, every fault named with its file."""

import io
import os
import random
import tarfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from awt.artifacts import sha256
from awt.data import folder
from awt.data.options import Data
from awt.data.prepare import prepare
from awt.errors import InputError

REAL = "cifar10/cifar10-jpeg.tar.xz"
Files = dict[str, bytes]


def encode(pixels: np.ndarray, kind: str = "PNG", mode: str | None = None) -> bytes:
    buffer = io.BytesIO()
    image = Image.fromarray(pixels)
    (image if mode is None else image.convert(mode)).save(buffer, kind)
    return buffer.getvalue()


def picture(seed: int, shape: tuple[int, ...] = (4, 3, 3)) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


PARTS = {"train": ("b", "a", "c"), "test": ("a", "b", "c")}
FILES: Files = {
    f"{part}/{label}/{number}.png": encode(picture(100 * index + number))
    for part, labels in PARTS.items()
    for index, label in enumerate(labels)
    for number in range(3 if part == "train" else 2)
}
FLAT: Files = {name.removeprefix("train/"): data for name, data in FILES.items() if name.startswith("train/")}


def write_directory(path: Path, files: Files) -> Path:
    for name, data in files.items():
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_bytes(data)
    return path


def write_tar(path: Path, files: Files, compression: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, f"w:{compression}") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.fixture(params=["directory", "tar"])
def write(request, tmp_path):
    """Writes files as a directory or as a tar."""
    if request.param == "directory":
        return lambda files: write_directory(tmp_path / "images", files)
    return lambda files: write_tar(tmp_path / "images.tar", files)


@pytest.fixture
def read(data_of):
    return lambda path, **changes: folder.read(data_of("folder", path=str(path), **changes), Path("unused"))


def test_parts_and_classes(write, read):
    raw = read(write(FILES))
    assert raw.train_x.shape == (9, 4, 3, 3)
    assert raw.test_x.shape == (6, 4, 3, 3)
    assert raw.train_y.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert raw.test_y.tolist() == [0, 0, 1, 1, 2, 2]
    assert (raw.train_y.dtype, raw.test_y.dtype, raw.classes, raw.scale) == (np.int32, np.int32, 3, 255.0)
    assert np.array_equal(raw.train_x[0], picture(100))  # a/0 is second in the files
    assert np.array_equal(raw.train_x[4], picture(1))
    assert np.array_equal(raw.test_x[1], picture(1))


def test_without_parts_the_split_holds_points_out(write, data_of):
    path = write(FLAT)
    raw = folder.read(data_of("folder", path=str(path)), Path("unused"))
    assert raw.test_x is None
    assert raw.train_y.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    files = prepare(data_of("folder", path=str(path), test_share=0.34, validation_share=0.0), Path("unused"))
    assert prepare(data_of("folder", path=str(path), test_share=0.34, validation_share=0.0), Path("unused")) == files


@settings(max_examples=20)
@given(st.randoms(use_true_random=False), st.sampled_from(["", "gz", "bz2", "xz"]), st.booleans())
def test_the_order_and_compression_of_a_tar_do_not_matter(tmp_path_factory, shuffle, compression, dotted):
    def read(path: Path) -> folder.Raw:
        return folder.read(Data(name="folder", path=str(path)), Path("unused"))

    names = list(FILES)
    shuffle.shuffle(names)
    top = tmp_path_factory.getbasetemp()
    path = write_tar(
        top / "shuffled.tar", {("./" if dotted else "") + name: FILES[name] for name in names}, compression
    )
    found, expected = read(path), read(write_directory(top / "ordered", FILES))
    for name in ("train_x", "train_y", "test_x", "test_y"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))


def test_hidden_files_and_files_beside_the_folders_are_passed_over(write, read):
    names = ("README", ".DS_Store", "train/a/.x.png", "train/.cache/x", "._train/a/b/c")
    path = write(FILES | dict.fromkeys(names, b"x"))
    assert len(read(path).train_x) == 9


def test_what_is_passed_over_is_not_in_a_directorys_digest(tmp_path, read):
    digest = read(write_directory(tmp_path / "images", FILES)).sources["images"]
    more = {"README": b"hello", "train/a/.DS_Store": b"x"}
    assert read(write_directory(tmp_path / "images", more)).sources["images"] == digest


def test_the_digest_of_a_tar_is_that_of_the_file(tmp_path, read, capsys):
    path = write_tar(tmp_path / "mine.tar.gz", FILES, "gz")
    digest = sha256(path.read_bytes())
    assert read(path).sources == {"mine.tar.gz": digest}
    assert digest in capsys.readouterr().out
    read(path, sha256=digest)
    assert capsys.readouterr().out == ""
    with pytest.raises(InputError, match=rf"{path}: its sha256 is {digest}, but data\.sha256 says"):
        read(path, sha256="0" * 64)


def test_the_digest_of_a_directory_is_of_names_and_contents(tmp_path, read):
    digest = read(write_directory(tmp_path / "one", FILES)).sources["one"]
    shuffled = dict(random.Random(0).sample(list(FILES.items()), len(FILES)))
    assert read(write_directory(tmp_path / "two", shuffled), sha256=digest).sources == {"two": digest}
    renamed = {name.replace("test/a/0", "test/a/9"): data for name, data in FILES.items()}
    changed = FILES | {"test/a/0.png": encode(picture(77))}
    for index, files in enumerate((renamed, changed)):
        with pytest.raises(InputError, match=r"but data\.sha256 says"):
            read(write_directory(tmp_path / str(index), files), sha256=digest)


def test_grey_images_have_one_channel(write, read):
    grey = {name: encode(picture(0, (4, 3))) for name in FLAT}
    raw = read(write(grey))
    assert raw.train_x.shape == (9, 4, 3, 1)
    assert np.array_equal(raw.train_x[0, ..., 0], picture(0, (4, 3)))


def test_grey_beside_colours_becomes_colour(write, read):
    raw = read(write(FILES | {"test/c/0.png": encode(picture(0, (4, 3)))}))
    assert raw.train_x.shape == (9, 4, 3, 3)
    assert np.array_equal(raw.test_x[4], np.repeat(picture(0, (4, 3, 1)), 3, axis=2))


@pytest.mark.parametrize(
    ("kind", "mode", "channels"),
    [
        ("PNG", "RGBA", 3),
        ("PNG", "LA", 1),
        ("PNG", "1", 1),
        ("PNG", "P", 3),
        ("JPEG", "L", 1),
        ("JPEG", "CMYK", 3),
        ("BMP", "RGB", 3),
        ("GIF", "P", 3),
        ("TIFF", "RGB", 3),
        ("PPM", "L", 1),
    ],
)
def test_formats_and_modes(tmp_path, read, kind, mode, channels):
    files = {name: encode(picture(0), kind, mode) for name in FLAT}
    raw = read(write_directory(tmp_path / "images", files))
    assert raw.train_x.shape == (9, 4, 3, channels)


def test_images_of_other_sizes_need_a_size(write, read):
    files = FILES | {"train/c/2.png": encode(picture(0, (8, 6, 3)))}
    path = write(files)
    message = r"train/c/2.png has 8 x 6 pixels \(height x width\), test/a/0.png 4 x 3; set data.size"
    with pytest.raises(InputError, match=message):
        read(path)
    raw = read(path, size=(2, 5))
    assert raw.train_x.shape == (9, 2, 5, 3)
    assert raw.test_x.shape == (6, 2, 5, 3)
    assert np.array_equal(read(path, size=(4, 3)).train_x[0], picture(100))  # of that size already


def test_a_smaller_image_is_made_of_all_pixels(tmp_path, read):
    """Without smoothing, a fine chequerboard would become black or white."""
    board = (np.indices((64, 64)).sum(axis=0) % 2 * 255).astype(np.uint8)
    path = write_directory(tmp_path / "images", {name: encode(board) for name in FLAT})
    assert np.abs(read(path, size=(8, 8)).train_x.astype(int) - 128).max() <= 4


SIXTEEN_BITS = encode(np.full((4, 3), 40000, np.uint16))
FAULTS = {
    "not an image": (FILES | {"train/a/0.png": b"hello"}, r"train/a/0.png: not a readable image \(none of BMP"),
    "a truncated image": (
        FILES | {"train/a/0.png": encode(picture(0, (40, 40, 3)), "JPEG")[:-60]},
        r"train/a/0.png: not a readable image \(.*truncated",
    ),
    "an empty file": (FILES | {"test/a/1.png": b""}, "test/a/1.png: not a readable image"),
    "a list of labels": (FILES | {"train/labels.csv": b"a,b"}, "train/labels.csv: not a readable image"),
    "sixteen bits": (FILES | {"train/a/0.png": SIXTEEN_BITS}, "train/a/0.png: .*of mode I;16; they must be of 8 bits"),
    "a folder around": ({f"top/{name}": data for name, data in FILES.items()}, "top/.* is out of place; images are"),
    "another part": (FILES | {"val/a/0.png": FILES["test/a/0.png"]}, "val/a/0.png is out of place; images are"),
    "too deep": (FILES | {"train/a/x/0.png": FILES["test/a/0.png"]}, "train/a/x.* is out of place"),
    "both layouts": (FILES | {"a/0.png": FILES["test/a/0.png"]}, "both a/0.png and test/c/1.png; images are"),
    "no test": ({f"train/{name}": data for name, data in FLAT.items()}, "no images in test/; images are"),
    "no train": ({f"test/{name}": data for name, data in FLAT.items()}, "no images in train/"),
    "a class of the test only": (
        FILES | {"test/d/0.png": FILES["test/a/0.png"]},
        "test/d/0.png: no class of that name in train/",
    ),
    "no images": ({"README": b"hello"}, "no images in it; images are"),
    "one class": ({"a/0.png": FLAT["a/0.png"], "a/1.png": FLAT["a/1.png"]}, "every label is 0; there must be at least"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_named_with_its_file(write, read, fault, tmp_path, snapshot):
    files, message = FAULTS[fault]
    path = write(files)
    before = snapshot(tmp_path)
    with pytest.raises(InputError, match=f"^{path}: {message}"):
        read(path)
    assert snapshot(tmp_path) == before


def test_a_class_without_images_is_named(tmp_path, read):
    path = write_directory(tmp_path / "images", FILES)
    (path / "train" / "d").mkdir()
    with pytest.raises(InputError, match=f"^{path}: no images in train/d/; every class must have some"):
        read(path)
    path = tmp_path / "images.tar"
    with tarfile.open(path, "w") as archive:
        archive.add(tmp_path / "images", ".")
    with pytest.raises(InputError, match=f"^{path}: no images in train/d/"):
        read(path)


def test_an_image_that_is_in_a_tar_twice_is_named(tmp_path, read):
    path = write_tar(tmp_path / "images.tar", FILES)
    with tarfile.open(path, "a") as archive:
        info = tarfile.TarInfo("train/a/0.png")
        info.size = len(FILES["train/a/1.png"])
        archive.addfile(info, io.BytesIO(FILES["train/a/1.png"]))
    with pytest.raises(InputError, match=r"train/a/0\.png is there twice"):
        read(path)


@pytest.mark.parametrize("content", [b"", b"hello", b"PK\x03\x04"])
def test_what_is_no_tar_is_named(tmp_path, read, content):
    (tmp_path / "images.zip").write_bytes(content)
    with pytest.raises(InputError, match=rf"{tmp_path / 'images.zip'}: truncated, corrupt, or no tar"):
        read(tmp_path / "images.zip")


def test_a_path_may_start_from_the_folder_of_downloaded_files(tmp_path, monkeypatch, data_of):
    write_tar(tmp_path / "data" / "images.tar", FILES)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert folder.read(data_of("folder", path="images.tar"), tmp_path / "data").classes == 3


def test_a_missing_path_is_named(tmp_path, read):
    with pytest.raises(InputError, match=rf"{tmp_path / 'none'} not found in .*data\.path names"):
        read(tmp_path / "none")


def test_links_are_followed_in_a_directory_but_not_in_circles(tmp_path, read):
    path = write_directory(tmp_path / "images", {name: data for name, data in FLAT.items() if not name.startswith("c")})
    write_directory(tmp_path / "elsewhere", {"0.png": FLAT["c/0.png"]})
    (path / "c").symlink_to(tmp_path / "elsewhere")
    assert read(path).classes == 3
    (path / "a" / "loop").symlink_to(path)
    with pytest.raises(InputError, match="is out of place"):
        read(path)
    (path / "a" / "loop").unlink()
    (path / "a" / "9.png").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match="not readable"):
        read(path)


@pytest.mark.slow
def test_the_real_cifar10_as_jpegs(read):
    path = Path(os.environ.get("AWT_DATA_DIR") or ".no-data") / REAL
    if not path.exists():
        pytest.skip(f"needs CIFAR-10 as JPEGs: set AWT_DATA_DIR to a folder that has {REAL}")
    raw = read(path)
    assert raw.train_x.shape == (50000, 32, 32, 3)
    assert raw.test_x.shape == (10000, 32, 32, 3)
    assert np.bincount(raw.train_y).tolist() == [5000] * 10
    assert np.bincount(raw.test_y).tolist() == [1000] * 10
    # those of the original images, which JPEG changes little
    assert raw.train_x.mean(axis=(0, 1, 2)) / 255 == pytest.approx([0.4914, 0.4822, 0.4465], abs=1e-3)
