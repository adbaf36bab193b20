"""`awt mask`: what a mask of the experiment, or of a file, is made of; what two masks share."""

import argparse
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from awt.artifacts import Arrays, encode_json, read_json, read_npz, write
from awt.commands.table import table
from awt.errors import InputError
from awt.lineage.repository import ticket
from awt.loading import is_reference
from awt.models.anatomy import layers_of, overlaps, square, units, used_inputs, weights_by_place, whole
from awt.workflows.workflow import ARTIFACTS

MASKS = Path(ARTIFACTS) / "masks"
_PICTURES = (".png", ".svg")


class Shown(NamedTuple):
    """A mask, and what is known of it."""

    layers: Arrays
    about: dict[str, Any]

    @property
    def title(self) -> str:
        if "method" not in self.about:
            return str(self.about["file"])
        return "{method}, density {density:g}, seed {seed}".format(**self.about)


class Asked(NamedTuple):
    """A mask that the user asks for; options are what the user gave its parts with."""

    name: str
    density: float | None
    seed: int | None
    options: tuple[str, str, str]

    @property
    def is_method(self) -> bool:
        """Methods and recipes have names of letters, digits and _; a method of the user's own may be module:name."""
        return self.name.replace("_", "").isalnum() or is_reference(self.name)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("mask", metavar="METHOD|FILE", help="a method of the experiment, or a mask file (.npz)")
    parser.add_argument("--density", type=float, help="of the ticket (default: the only one of its method)")
    parser.add_argument("--seed", type=int, help="of the ticket (default: the experiment's first)")
    parser.add_argument("--with", dest="other", metavar="METHOD|FILE", help="another mask, to compare it with")
    parser.add_argument("--with-density", type=float, help="of the other (default: --density)")
    parser.add_argument("--with-seed", type=int, help="of the other (default: --seed)")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="a picture of it to write, .png or .svg")
    parser.add_argument("--json", action="store_true", help="print JSON")


def mask(arguments: argparse.Namespace) -> None:
    """Shows a mask, or compares two."""
    first, second = _asked(arguments)
    _check_picture(arguments.picture, second)
    shown = _read(first)
    answer, text = _description(shown) if second is None else _comparison(shown, _read(second))
    if arguments.picture is not None:
        _draw(shown, arguments.picture)
        text += f"\n{arguments.picture.resolve()}"
    print(encode_json(answer).decode() if arguments.json else text + "\n", end="")


def _asked(arguments: argparse.Namespace) -> tuple[Asked, Asked | None]:
    density, seed = arguments.density, arguments.seed
    first = Asked(arguments.mask, density, seed, ("METHOD", "--density", "--seed"))
    second = None
    if arguments.other is not None:
        own_density = density if arguments.with_density is None else arguments.with_density
        own_seed = seed if arguments.with_seed is None else arguments.with_seed
        second = Asked(arguments.other, own_density, own_seed, ("--with", "--with-density", "--with-seed"))
    methods = [one.is_method for one in (first, second) if one is not None]
    for option, value, applies in [
        ("--density", density, any(methods)),
        ("--seed", seed, any(methods)),
        ("--with-density", arguments.with_density, second is not None and second.is_method),
        ("--with-seed", arguments.with_seed, second is not None and second.is_method),
    ]:
        if value is not None and not applies:
            lacking = "--with METHOD" if option.startswith("--with") else "METHOD"
            raise InputError(f"{option}: says which ticket of a method; without {lacking}, leave it out")
    return first, second


def _read(asked: Asked) -> Shown:
    if not asked.is_method:
        return Shown(_read_mask(Path(asked.name)), {"file": asked.name})
    masks = read_json(MASKS / "index.json")["masks"]
    seeds = list(dict.fromkeys(one["seed"] for one in masks))
    seed = seeds[0] if asked.seed is None and seeds else asked.seed
    if seed not in seeds:
        raise InputError(f"{asked.options[2]}: {seed} is not one of the experiment's {seeds}")
    chosen = ticket([one for one in masks if one["seed"] == seed], asked.name, asked.density, asked.options[:2])
    path = MASKS / chosen["file"]
    about = {name: chosen[name] for name in ("method", "density", "seed")}
    return Shown(layers_of(read_npz(path), str(path)), about | {"file": str(path)})


def _read_mask(path: Path) -> Arrays:
    if not path.is_file():
        raise InputError(f"{path}: no such file; name a method of the experiment or a mask file (.npz)")
    if not zipfile.is_zipfile(path):
        raise InputError(f"{path}: no mask: not an .npz; name one of artifacts/masks, or a method")
    return layers_of(read_npz(path), str(path))


def _description(shown: Shown) -> tuple[dict[str, Any], str]:
    """A mask's layers, units and inputs, as JSON and as text."""
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "kept": int(np.count_nonzero(kept)),
            "size": kept.size,
            "units": len(unit.fed),
            "alive": int(unit.alive.sum()),
            "dead": int((~unit.alive).sum()),
            "no_input": int((~unit.fed).sum()),
            "no_output": int((~unit.heard).sum()),
        }
        for (name, kept), unit in zip(shown.layers.items(), units(shown.layers).values(), strict=True)
    ]
    total = {key: sum(row[key] for row in rows) for key in rows[0] if key != "name"}
    for row in (*rows, total):
        row["density"] = row["kept"] / row["size"]
    inputs = _inputs(shown.layers)
    answer = {**shown.about, "layers": rows, "whole": total, "inputs": inputs}

    columns = ["kept", "size", "density", "units", "alive", "dead", "no input", "no output"]
    lines = [
        [row.get("name", "whole"), *(_cell(row[column.replace(" ", "_")]) for column in columns)]
        for row in (*rows, total)
    ]
    note = f"{inputs['used']} of {inputs['count']} input {inputs['of']} used"
    if inputs["of"] == "channels":
        note += "; a convolution sees every pixel of them"
    return answer, "\n".join([shown.title, *table(["layer", *columns], lines), note])


def _inputs(layers: Arrays) -> dict[str, Any]:
    """How many of the inputs are used: pixels, by any of their channels; of a convolution, channels."""
    used = used_inputs(layers)
    if _first(layers).ndim == 4:
        return {"used": int(used.sum()), "count": len(used), "of": "channels"}
    pixels = used.reshape(_shape(len(used))).any(axis=-1)
    return {"used": int(pixels.sum()), "count": pixels.size, "of": "pixels"}


def _first(layers: Arrays) -> np.ndarray:
    return next(iter(layers.values()))


def _shape(inputs: int) -> tuple[int, int, int]:
    """Height, width and channels: of the experiment's data, where it is here and has so many values a point."""
    path = Path(ARTIFACTS) / "data" / "dataset.json"
    if path.exists():
        height, width, channels = read_json(path)["shape"]
        if height * width * channels == inputs:
            return height, width, channels
    return square(inputs)


def _comparison(shown: Shown, other: Shown) -> tuple[dict[str, Any], str]:
    """What two masks share, as JSON and as text."""
    shapes, others = ({name: kept.shape for name, kept in one.layers.items()} for one in (shown, other))
    if shapes != others:
        raise InputError(
            f"--with: masks of other networks cannot be compared: {shown.title} has {_listed(shapes)}; "
            f"{other.title} has {_listed(others)}"
        )
    by_layer = overlaps(shown.layers, other.layers)
    *rows, total = (
        {"name": name, **overlap._asdict(), "jaccard": overlap.jaccard}
        for name, overlap in [*by_layer.items(), ("whole", whole(by_layer))]
    )
    answer = {"mask": shown.about, "with": other.about, "layers": rows}
    answer["whole"] = {key: value for key, value in total.items() if key != "name"}

    columns = {"kept": "kept", "other_kept": "other", "both": "both", "by_chance": "by chance", "jaccard": "jaccard"}
    lines = [[row["name"], *(_cell(row[key]) for key in columns)] for row in (*rows, total)]
    title = f"{shown.title}; other: {other.title}"
    return answer, "\n".join([title, *table(["layer", *columns.values()], lines)])


def _listed(shapes: dict[str, tuple[int, ...]]) -> str:
    return ", ".join(f"{name} {' x '.join(map(str, shape))}" for name, shape in shapes.items())


def _cell(value: float | None) -> str:
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.4g}"


def _check_picture(path: Path | None, other: Asked | None) -> None:
    """Refuses a picture that could not be written, before any work."""
    if path is None:
        return
    if other is not None:
        raise InputError("--picture: shows one mask; leave out --with")
    if path.suffix not in _PICTURES:
        raise InputError(f"--picture: {path} is neither a .png nor an .svg")
    if path.is_dir():
        raise InputError(f"--picture: {path} is a folder: name a file")
    blocked = next((parent for parent in path.absolute().parents if parent.exists() and not parent.is_dir()), None)
    if blocked is not None:
        raise InputError(f"--picture: {path} lies under {blocked}, which is a file")


def _draw(shown: Shown, path: Path) -> None:
    # matplotlib: only where it is needed, since it is slow to import
    from awt.workflows.tickets.reporting import mask_picture

    first = _first(shown.layers)
    figure = mask_picture.picture(
        shown.title,
        "kept weights by position of the kernel" if first.ndim == 4 else "kept weights by pixel",
        weights_by_place(first, _shape(first.shape[-2])),
        {name: float(kept.mean()) for name, kept in shown.layers.items()},
        shown.about.get("method", "awt"),
    )
    write(path, mask_picture.encode(figure, path.suffix))
