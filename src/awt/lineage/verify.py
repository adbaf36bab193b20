"""Whether what is here is what was recorded: every edge of a lineage, rehashed and compared."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from awt.lineage.edges import Edge, Status
from awt.lineage.hashes import DIR, Hasher, ignored, remotes_of
from awt.lineage.pipeline import CODE, Declared, Step, declared, is_record
from awt.lineage.records import IDENTITY, RECORDS, run_id
from awt.lineage.repository import git
from awt.lineage.snapshot import Snapshot
from awt.params.reading import PARAMS, read_file
from awt.runtime.code import digest

SHORT = 12
OfStage = Callable[[str], Mapping[str, Any]]


@dataclass
class Verifier:
    """Checks steps of the working tree; every file is read once. `params_now` and `code_now` say with which parameters
    and code a stage would run now: the flat effective parameters, and the modules as run records have them."""

    snapshot: Snapshot
    params_now: OfStage
    code_now: OfStage
    hasher: Hasher = field(init=False)
    stages: dict[str, Declared] = field(init=False)

    def __post_init__(self) -> None:
        self.hasher = Hasher(ignored(self.snapshot.repository))
        self.stages = declared(self.snapshot.folder)
        self.remotes = remotes_of(self.snapshot.repository)

    def lineage(self, stages: list[str], outs: set[str]) -> list[Edge]:
        """Of these steps, and of those outs of them that are named; their records always."""
        edges = [self._lock()]
        for name in stages:
            step = self.snapshot.steps[name]
            edges += [*self._command(step), *self._params(step), *self._code(step), *self._inputs(step)]
            edges += [edge for out in step.outs if out in outs or is_record(out) for edge in self._out(step, out)]
            edges += self._record(step)
        return edges

    def everything(self) -> list[Edge]:
        steps = self.snapshot.steps
        return self.lineage(list(reversed(self.snapshot.order)), {out for step in steps.values() for out in step.outs})

    def _lock(self) -> Edge:
        place = self.snapshot.folder / "dvc.lock"
        committed = git(self.snapshot.repository, "show", f"HEAD:./{place.relative_to(self.snapshot.repository)}")
        remark = ""
        if committed is None:
            remark = "not in git yet: commit it"
        elif committed != place.read_text(encoding="utf-8"):
            remark = "differs from git's HEAD: commit it, or see what changed (`git diff dvc.lock`)"
        return Edge("", "lock", "dvc.lock", remark=remark)

    def _command(self, step: Step) -> Iterator[Edge]:
        root = str(read_file(self.snapshot.folder / PARAMS).get("root", "."))
        now = self.stages[step.name].command.replace("${root}", root) if step.name in self.stages else "no stage"
        if now != step.command:
            yield Edge(step.name, "command", step.command, Status.MODIFIED, f"dvc.yaml now says: {now}")

    def _is_current(self, step: Step) -> bool:
        """Whether it can be said with what the stage would run now: it is one of the workflow's, and is still there."""
        return step.code is not None and step.name in self.stages

    def _params(self, step: Step) -> Iterator[Edge]:
        if self._is_current(step):
            yield from _values(step, self.params_now(step.name), "params.yaml now says")
        recorded = self.snapshot.records.get(step.name, {}).get("params")
        if recorded is not None:
            yield from _values(step, recorded, "dvc.lock and the run record disagree; it says")

    def _code(self, step: Step) -> Iterator[Edge]:
        """That dvc.lock, the record and what is here agree, and where they do not, in which modules."""
        if step.code is None:
            return
        name, recorded = f"{CODE}: {step.name}", self.snapshot.code(step.name)
        now = self.code_now(step.name) if self._is_current(step) else None
        said = {part: value for part, value in (recorded or {}).items() if part != "digest"}
        remark = ""
        if recorded is None:
            remark = "changed since the run" if now is not None and digest(now) != step.code else ""
        elif recorded.get("digest") != step.code:
            remark = "dvc.lock and the run record disagree"
        elif digest(said) != step.code:
            remark = "the run record's modules do not give its digest: it was edited"
        edges = [Edge(step.name, "code", name, Status.MODIFIED, remark, step.code)] if remark else []
        edges += self._modules(step, said, now) if recorded and now else []
        yield from edges or [Edge(step.name, "code", name, hash=step.code)]

    def _modules(self, step: Step, then: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[Edge]:
        """The modules and distributions that are not what they were."""
        versions = ({**code["distributions"], "python": code.get("python")} for code in (then, now))
        for kind, (old, new) in {"code": (then["modules"], now["modules"]), "version": tuple(versions)}.items():
            for name in sorted({*old, *new}):
                if old.get(name) != new.get(name):
                    was, here = (str(side.get(name, "not reached"))[:SHORT] for side in (old, new))
                    place = self.snapshot.module_path(name) if kind == "code" else name
                    remark = f"was {was}, is {here} now"
                    yield Edge(step.name, kind, place, Status.MODIFIED, remark, str(old.get(name, "")))

    def _inputs(self, step: Step) -> Iterator[Edge]:
        """That a stage read what another wrote; whether that is still here is the other's edge."""
        read = self.snapshot.records.get(step.name, {}).get("inputs", {})
        for name, md5 in step.inputs.items():
            maker = self.snapshot.makers.get(name)
            if maker is None and not any(name in stage.outs for stage in self.stages.values()):
                yield self._given(step, name, md5)
                continue
            if maker is None or self.snapshot.steps[maker].outs[name] != md5:
                remark = f"dvc.lock has another hash of it where {maker or 'no stage'} wrote it: `dvc repro`"
                yield Edge(step.name, "input", name, Status.MODIFIED, remark, md5)
                continue
            written = self.snapshot.records.get(maker, {}).get("outputs")
            own, theirs = _inside(name, read), _inside(name, written or {})
            differing = sorted(path for path in {*own, *theirs} if own.get(path) != theirs.get(path))
            if own and written is not None and differing:
                remark = f"the records of {step.name} and {maker} disagree on {', '.join(differing[:3])}"
                yield Edge(step.name, "input", name, Status.MODIFIED, remark, md5)
            else:
                yield Edge(step.name, "input", name, remark=f"from {maker}", hash=md5)

    def _given(self, step: Step, name: str, md5: str) -> Edge:
        """Of a file that no stage makes."""
        now = self.hasher.md5(self.snapshot.folder / name)
        if now is None:
            return Edge(step.name, "input", name, Status.MISSING, "no stage makes it: bring it back", md5)
        status, remark = (Status.OK, "from no stage") if now == md5 else (Status.MODIFIED, "changed since the run")
        return Edge(step.name, "input", name, status, remark, md5)

    def _out(self, step: Step, out: str) -> Iterator[Edge]:
        md5, path = step.outs[out], self.snapshot.folder / out
        yield from self._cached(step, out, md5)
        now = self.hasher.md5(path)
        recorded = self.snapshot.records.get(step.name, {}).get("outputs")
        written = None if recorded is None or is_record(out) else recorded
        if now is None:
            yield self._absent(step, out, md5)
        elif now == md5:
            differing = sorted(self._unlike(out, written)) if written is not None else []
            if differing:
                remark = "dvc.lock and the run record disagree: one of them was edited"
                yield from (Edge(step.name, "output", name, Status.MODIFIED, remark, md5) for name in differing)
            else:
                yield Edge(step.name, "output", out, hash=md5)
        elif written is not None and not self._unlike(out, written):
            remark = "the file is what the run recorded, dvc.lock is not: it was edited"
            yield Edge(step.name, "lock", f"dvc.lock: {out}", Status.MODIFIED, remark, md5)
        elif md5.endswith(DIR):
            yield from self._members(step, out, md5, written or {})
        else:
            kind = "record" if is_record(out) else "output"
            yield Edge(step.name, kind, out, Status.MODIFIED, "changed since the run", md5)

    def _unlike(self, out: str, written: dict[str, str]) -> set[str]:
        """The files of an out that are not what the record says."""
        now, then = self.hasher.sha256s(self.snapshot.folder, (out,)), _inside(out, written)
        return {name for name in {*now, *then} if now.get(name) != then.get(name)}

    def _members(self, step: Step, out: str, md5: str, written: dict[str, str]) -> Iterator[Edge]:
        """Which files of a folder are not what they were, by DVC's list of them or by the run record."""
        files = self.hasher.files(self.snapshot.folder / out)
        listed = (objects.members(md5) for objects in (self.snapshot.cache, *self.remotes))
        then = next((members for members in listed if members is not None), None)
        if then is None:
            then = {name[len(out) + 1 :]: sha for name, sha in _inside(out, written).items()}
            now = {name: one.sha256 for name, one in files.items()}
        else:
            now = {name: one.md5 for name, one in files.items()}
        owners = {digest: name for name, digest in then.items()}
        for name in sorted({*then, *now}):
            full = f"{out}/{name}"
            if name not in now:
                yield self._absent(step, full, then[name])
            elif name not in then:
                yield Edge(step.name, "output", full, Status.MODIFIED, "not there when the run ended", now[name])
            elif now[name] != then[name]:
                owner = owners.get(now[name])
                remark = f"has the content of {owner}" if owner else "changed since the run"
                yield Edge(step.name, "output", full, Status.MODIFIED, remark, then[name])

    def _absent(self, step: Step, name: str, md5: str) -> Edge:
        """Where something that is not here can be had from; a remote's copy is rehashed, as a local one would be."""
        if self.snapshot.cache.parts(md5):
            return Edge(step.name, "output", name, Status.MISSING, "in DVC's cache: `dvc checkout` brings it back", md5)
        for remote in self.remotes:
            if parts := remote.parts(md5):
                if all(remote.is_intact(part) for part in parts):
                    return Edge(step.name, "output", name, Status.REMOTE_ONLY, "`dvc pull` brings it here", md5)
                return Edge(step.name, "output", name, Status.MODIFIED, f"not here, and damaged in {remote.root}", md5)
        return Edge(step.name, "output", name, Status.MISSING, "`dvc pull` if a remote has it, else `dvc repro`", md5)

    def _cached(self, step: Step, out: str, md5: str) -> Iterator[Edge]:
        """Objects of DVC's cache that are not what their name says; those that are not there are no loss."""
        cache = self.snapshot.cache
        if not cache.has(md5):
            return
        objects = {out: md5}
        if md5.endswith(DIR) and self.hasher.file(cache.path(md5)).md5 == md5.removesuffix(DIR):
            objects = {f"{out}/{name}": one for name, one in (cache.members(md5) or {}).items()}
        for name, one in objects.items():
            path = cache.path(one)
            if cache.has(one) and self.hasher.file(path).md5 != one.removesuffix(DIR):
                remark = "delete it, then `dvc commit` the good file, or `dvc pull`"
                place = f"{name}: {path.relative_to(cache.root)}"
                yield Edge(step.name, "cache", place, Status.MODIFIED, remark, one)

    def _record(self, step: Step) -> Iterator[Edge]:
        """What a record says of itself, and of the records that it builds on."""
        record = self.snapshot.records.get(step.name)
        if record is None:
            return
        if not all(name in record for name in (*IDENTITY, "run", "outputs")):
            yield Edge(step.name, "record", step.name, Status.MODIFIED, "parts of it are missing: it was edited")
            return
        if run_id(record) != record["run"]:
            remark = "its id is not that of what it says: it was edited"
            yield Edge(step.name, "record", step.name, Status.MODIFIED, remark)
        state = record["git"]
        if state.get("dirty"):
            changes = str(state["diff_sha256"])[:12]
            remark = f"dirty when it ran (SHA-256 of the diff: {changes}): the commit alone does not give it"
            yield Edge(step.name, "git", str(state["revision"])[:12], remark=remark)
        for parent, sha256 in record["parents"].items():
            path = self.snapshot.folder / RECORDS / f"{parent}.json"
            if not path.exists():
                continue  # the parent's own edge says so
            if self.hasher.file(path).sha256 == sha256:
                yield Edge(step.name, "parent", parent, hash=sha256)
            elif self._same_outputs(record, parent):
                yield Edge(step.name, "parent", parent, remark="rerun since, same outputs", hash=sha256)
            else:
                yield Edge(step.name, "parent", parent, Status.MODIFIED, "ran again since, with other outputs", sha256)

    def _same_outputs(self, record: dict[str, Any], parent: str) -> bool:
        now = self.snapshot.outputs(parent)
        makers = self.snapshot.makers
        return all(
            now.get(path) == sha
            for path, sha in record["inputs"].items()
            if makers.get(self.snapshot.out_of(path) or "") == parent
        )


def _inside(out: str, files: Mapping[str, str]) -> dict[str, str]:
    """Those of some files, by their paths, that are an out, or lie in it."""
    return {path: sha for path, sha in files.items() if path == out or path.startswith(f"{out}/")}


def _values(step: Step, values: Mapping[str, Any], remark: str) -> Iterator[Edge]:
    for name in sorted({*step.params, *values}):
        if step.params.get(name) != values.get(name) or (name in step.params) != (name in values):
            told = values.get(name, "nothing")
            yield Edge(step.name, "parameter", name, Status.MODIFIED, f"was {step.params.get(name)}, {remark} {told}")
