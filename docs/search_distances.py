"""Draws docs/search_distances.png from the masks of pipelines/search_curves, and says how far the distances fell.

python docs/search_distances.py
"""

from pathlib import Path

from awt.artifacts import read_csv
from awt.workflows.tickets.reporting import diagnostics

PROJECT = Path(__file__).parents[1]


def main() -> None:
    search = read_csv(PROJECT / "pipelines" / "search_curves" / "artifacts" / "plots" / "search.csv")
    for density, rows in search.groupby("density"):
        first, last = rows.iloc[0], rows.iloc[-1]
        kinds = ("target_distance", "kernel_distance")
        fell = [f"{kind} {first[kind]:.4g} to {last[kind]:.4g} ({last[kind] / first[kind]:.3f})" for kind in kinds]
        print(f"density {density:g}: {', '.join(fell)}, ± {last['kernel_distance_error']:.2g}")
    diagnostics.distances(search).savefig(PROJECT / "docs" / "search_distances.png", dpi=140)


if __name__ == "__main__":
    main()
