"""The networks by name: a new one is a file beside this one and a line here."""

from dataclasses import replace

from awt.errors import InputError
from awt.loading import is_reference
from awt.models.architecture import Model, architecture

NETWORKS = {
    "cnn": "awt.models.cnn:CNN",
    "lenet": "awt.models.lenet:LENET",
    "mlp": "awt.models.mlp:MLP",
    "vgg16": "awt.models.vgg16:VGG16",
}


def resolved(model: Model) -> Model:
    """With `module:name` in place of a short name."""
    return replace(model, name=NETWORKS.get(model.name, model.name))


def check(model: Model, section: str = "model.") -> None:
    """Refuses a network that cannot be built; `section` is what errors name its options by."""
    if model.name not in NETWORKS and not is_reference(model.name):
        raise InputError(f"{section}name: {model.name!r} is none of {', '.join(NETWORKS)}, nor module:name of your own")
    asked = architecture(resolved(model).name)
    if asked.widths and len(model.widths) != len(asked.widths):
        raise InputError(
            f"{section}widths: those of {model.name} are {len(asked.widths)} numbers, of {asked.widths_of}, "
            f"e.g. {list(asked.widths)}"
        )
