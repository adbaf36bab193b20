"""What dvc.yaml declares: the code that each stage depends on."""

from pathlib import Path

from ruamel.yaml import YAML

from awt.errors import InputError

_ROOT = "${root}/"


def code_of(stage: str, repository: Path) -> list[Path]:
    """The repository's files and folders among a stage's dependencies: its script, its packages, the lock file.

    The same list decides when DVC reruns the stage and, through cells' keys, when a cell is computed anew.
    """
    path = repository / "dvc.yaml"
    try:
        stages = YAML(typ="safe", pure=True).load(path)["stages"]
        declared = stages[stage]["deps"]
    except FileNotFoundError:
        raise InputError(f"{path} is missing: `root` in params.yaml must lead to the repository") from None
    except (KeyError, TypeError):
        raise InputError(f"{path}: no stage {stage!r} with dependencies") from None
    return [repository / name.removeprefix(_ROOT) for name in declared if name.startswith(_ROOT)]
