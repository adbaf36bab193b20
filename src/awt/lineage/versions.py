"""Versions of what decides results. In a file of its own: the report shows them, and depends on no more of lineage."""

import platform
from importlib.metadata import PackageNotFoundError, version

PACKAGES = (
    "awt", "dvc", "jax", "jaxlib", "neural-tangents", "numpy", "optax", "orbax-checkpoint", "pandas", "ray",
    "scikit-learn", "scipy",
)  # fmt: skip


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide results."""
    here = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            here[name] = version(name)
        except PackageNotFoundError:
            here[name] = "absent"
    return here
