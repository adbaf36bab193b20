"""An experiment: a folder with a params.yaml, its workflow, its parameters, its store."""

import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from awt.errors import InputError
from awt.params.checking import checked
from awt.params.common import Common
from awt.params.reading import PARAMS, read
from awt.runtime.options import Runtime
from awt.runtime.remote import Remote
from awt.runtime.store import Store
from awt.workflows.workflow import Workflow, workflow


@dataclass(frozen=True)
class Experiment:
    """In the folder, which commands and stage scripts run in."""

    folder: Path
    workflow: Workflow
    params: Any  # of the workflow's type, which has all that Common has

    @property
    def repository(self) -> Path:
        return self.folder / self.params.root

    @property
    def code_folders(self) -> tuple[str, ...]:
        """Where the user's own modules are looked for."""
        return str(self.folder.resolve()), str(self.repository.resolve())

    @property
    def runtime(self) -> Runtime:
        """The runtime section, with $AWT_EXECUTOR over the executor that it names."""
        runtime: Runtime = self.params.runtime
        chosen = os.environ.get("AWT_EXECUTOR") or runtime.executor
        if chosen == "ray":
            return replace(runtime, executor="ray")
        if chosen == "serial":
            return replace(runtime, executor="serial")
        raise InputError(f"AWT_EXECUTOR: {chosen!r} is neither ray nor serial")

    def store(self) -> Store:
        """The store of the runtime section, else $AWT_STORE, else the repository's, which is also the part here of a
        store at a URL."""
        own = self.repository / ".awt" / "store"
        given: str | None = self.params.runtime.store
        chosen = given or os.environ.get("AWT_STORE") or str(own)
        if "://" not in chosen:
            return Store(self.folder / chosen if given else Path(chosen))
        remote = Remote(chosen)
        remote.check()
        return Store(own, remote)


def experiment(folder: Path = Path()) -> Experiment:
    """The experiment in a folder; every fault found in its parameters is in one InputError."""
    raw = read(folder)
    for place in (folder, folder / str(raw.get("root", "."))):  # where a user's own modules may lie
        if str(place.resolve()) not in sys.path:
            sys.path.append(str(place.resolve()))
    found = workflow(str(raw.get("workflow", Common().workflow)))
    asked = Experiment(folder, found, checked(found.params, raw, str(folder / PARAMS)))
    if not folder.resolve().is_relative_to(asked.repository.resolve()):
        raise InputError(f"{folder / PARAMS}: root: {asked.params.root} is no folder that this experiment lies in")
    return asked
