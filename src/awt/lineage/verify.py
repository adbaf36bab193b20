"""Whether what is here is what was recorded: every edge of a lineage, rehashed and compared."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from awt.lineage.edges import Edge, Status
from awt.lineage.hashes import DIR, Hasher, ignored
from awt.lineage.lock import Objects, Step, remotes_of
from awt.lineage.pipeline import Declared, chosen, declared, is_record, load_yaml
from awt.lineage.records import IDENTITY, RECORDS, code_digests, run_id
from awt.lineage.snapshot import Snapshot, git


@dataclass
class Verifier:
    """Checks steps of the working tree; every file is read once."""

    snapshot: Snapshot
    hasher: Hasher = field(init=False)
    stages: dict[str, Declared] = field(init=False)

    def __post_init__(self) -> None:
        self.hasher = Hasher(ignored(self.snapshot.repository))
        self.stages = declared(self.snapshot.repository)
        self.remotes = remotes_of(self.snapshot.repository)
        path = self.snapshot.folder / "params.yaml"
        self.values: Any = load_yaml(path.read_text(encoding="utf-8"), str(path))

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
        root = str(self.values.get("root", "."))
        now = self.stages[step.name].command.replace("${root}", root) if step.name in self.stages else "no stage"
        if now != step.command:
            yield Edge(step.name, "command", step.command, Status.MODIFIED, f"dvc.yaml now says: {now}")

    def _params(self, step: Step) -> Iterator[Edge]:
        now = chosen(self.values, self.stages[step.name].params) if step.name in self.stages else {}
        yield from _values(step, now, "params.yaml now says")
        recorded = self.snapshot.records.get(step.name, {}).get("params")
        if recorded is not None:
            yield from _values(step, recorded, "dvc.lock and the run record disagree; it says")

    def _code(self, step: Step) -> Iterator[Edge]:
        recorded = self.snapshot.records.get(step.name, {}).get("code", {}).get("files", {})
        for name, md5 in sorted(step.code.items()):
            path = self.snapshot.repository / name
            now = self.hasher.md5(path)
            if now is None:
                yield Edge(step.name, "code", name, Status.MISSING, "`git checkout` brings it back", md5)
            elif now != md5:
                yield Edge(step.name, "code", name, Status.MODIFIED, "changed since the run", md5)
            elif name in recorded and code_digests(self.snapshot.repository, (name,))["files"][name] != recorded[name]:
                yield Edge(step.name, "code", name, Status.MODIFIED, "dvc.lock and the run record disagree", md5)
            else:
                yield Edge(step.name, "code", name, hash=md5)

    def _inputs(self, step: Step) -> Iterator[Edge]:
        """That a stage read what another wrote; whether that is still here is the other's edge."""
        read = self.snapshot.records.get(step.name, {}).get("inputs", {})
        for name, md5 in step.inputs.items():
            maker = self.snapshot.makers.get(name)
            if maker is None or self.snapshot.steps[maker].outs[name] != md5:
                remark = f"dvc.lock has another hash of it where {maker or 'no stage'} wrote it: `dvc repro`"
                yield Edge(step.name, "input", name, Status.MODIFIED, remark, md5)
                continue
            written = self.snapshot.records.get(maker, {}).get("outputs")
            own = {path: sha for path, sha in read.items() if path == name or path.startswith(f"{name}/")}
            theirs = {path: sha for path, sha in (written or {}).items() if path == name or path.startswith(f"{name}/")}
            differing = sorted(path for path in {*own, *theirs} if own.get(path) != theirs.get(path))
            if own and written is not None and differing:
                remark = f"the records of {step.name} and {maker} disagree on {', '.join(differing[:3])}"
                yield Edge(step.name, "input", name, Status.MODIFIED, remark, md5)
            else:
                yield Edge(step.name, "input", name, remark=f"from {maker}", hash=md5)

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
            yield Edge(
                step.name, "record" if is_record(out) else "output", out, Status.MODIFIED, "changed since the run", md5
            )

    def _unlike(self, out: str, written: dict[str, str]) -> set[str]:
        """The files of an out that are not what the record says."""
        now = self.hasher.sha256s(self.snapshot.folder, (out,))
        then = {name: sha for name, sha in written.items() if name == out or name.startswith(f"{out}/")}
        return {name for name in {*now, *then} if now.get(name) != then.get(name)}

    def _members(self, step: Step, out: str, md5: str, written: dict[str, str]) -> Iterator[Edge]:
        """Which files of a folder are not what they were, by DVC's list of them or by the run record."""
        then = self.snapshot.cache.members(md5) or next((m for r in self.remotes if (m := r.members(md5))), None)
        now = self.hasher.files(self.snapshot.folder / out)
        if then is None:
            known = {name[len(out) + 1 :]: sha for name, sha in written.items() if name.startswith(f"{out}/")}
            then, found = known, {name: one.sha256 for name, one in now.items()}
        else:
            found = {name: one.md5 for name, one in now.items()}
        owners = {digest: name for name, digest in then.items()}
        for name in sorted({*then, *found}):
            full = f"{out}/{name}"
            if name not in found:
                yield self._absent(step, full, then[name])
            elif name not in then:
                yield Edge(step.name, "output", full, Status.MODIFIED, "not there when the run ended", found[name])
            elif found[name] != then[name]:
                owner = owners.get(found[name])
                remark = f"has the content of {owner}" if owner else "changed since the run"
                yield Edge(step.name, "output", full, Status.MODIFIED, remark, then[name])

    def _absent(self, step: Step, name: str, md5: str) -> Edge:
        """Where something that is not here can be had from; a remote's copy is rehashed, as a local one would be."""
        if _parts(self.snapshot.cache, md5):
            return Edge(step.name, "output", name, Status.MISSING, "in DVC's cache: `dvc checkout` brings it back", md5)
        for remote in self.remotes:
            if parts := _parts(remote, md5):
                if all(remote.is_intact(part) for part in parts):
                    return Edge(step.name, "output", name, Status.REMOTE_ONLY, "`dvc pull` brings it here", md5)
                return Edge(step.name, "output", name, Status.MODIFIED, f"not here, and damaged in {remote.root}", md5)
        return Edge(step.name, "output", name, Status.MISSING, "`dvc pull` if a remote has it, else `dvc repro`", md5)

    def _cached(self, step: Step, out: str, md5: str) -> Iterator[Edge]:
        """Objects of DVC's cache that are not what their name says; those that are not there are no loss."""
        cache = self.snapshot.cache
        if not cache.has(md5):
            return
        remark = "delete it, then `dvc commit` the good file, or `dvc pull`"
        if self.hasher.file(cache.path(md5)).md5 != md5.removesuffix(DIR):
            yield Edge(
                step.name, "cache", f"{out}: {cache.path(md5).relative_to(cache.root)}", Status.MODIFIED, remark, md5
            )
            return
        for name, one in (cache.members(md5) or {}).items() if md5.endswith(DIR) else ():
            if cache.has(one) and self.hasher.file(cache.path(one)).md5 != one:
                place = f"{out}/{name}: {cache.path(one).relative_to(cache.root)}"
                yield Edge(step.name, "cache", place, Status.MODIFIED, remark, one)

    def _record(self, step: Step) -> Iterator[Edge]:
        """What a record says of itself, and of the records that it builds on."""
        record = self.snapshot.records.get(step.name)
        if record is None:
            return
        if "run" not in record:
            yield Edge(
                step.name, "record", step.name, remark="from before records had hashes: only dvc.lock vouches for it"
            )
            return
        if not all(name in record for name in (*IDENTITY, "outputs")):
            yield Edge(step.name, "record", step.name, Status.MODIFIED, "parts of it are missing: it was edited")
            return
        if run_id(record) != record["run"]:
            yield Edge(
                step.name, "record", step.name, Status.MODIFIED, "its id is not that of what it says: it was edited"
            )
        state = record["git"]
        if state.get("dirty"):
            digest = str(state["diff_sha256"])[:12]
            remark = f"dirty when it ran (SHA-256 of the diff: {digest}): the commit alone does not give it"
            yield Edge(step.name, "git", str(state["revision"])[:12], remark=remark)
        for parent, digest in record["parents"].items():
            path = self.snapshot.folder / RECORDS / f"{parent}.json"
            if not path.exists():
                continue  # the parent's own edge says so
            if self.hasher.file(path).sha256 == digest:
                yield Edge(step.name, "parent", parent, hash=digest)
            elif self._same_outputs(record, parent):
                yield Edge(step.name, "parent", parent, remark="rerun since, same outputs", hash=digest)
            else:
                yield Edge(step.name, "parent", parent, Status.MODIFIED, "ran again since, with other outputs", digest)

    def _same_outputs(self, record: dict[str, Any], parent: str) -> bool:
        now = self.snapshot.records.get(parent, {}).get("outputs", {})
        used = {
            p: sha
            for p, sha in record["inputs"].items()
            if self.snapshot.makers.get(self.snapshot.out_of(p) or "") == parent
        }
        return all(now.get(path) == sha for path, sha in used.items())


def _parts(objects: Objects, md5: str) -> list[str]:
    """The objects that a file or folder is made of, if all of them are there."""
    members = objects.members(md5) if md5.endswith(DIR) else {}
    found = [md5, *(members or {}).values()]
    return found if members is not None and all(map(objects.has, found)) else []


def _values(step: Step, found: dict[str, Any], remark: str) -> Iterator[Edge]:
    for name in sorted({*step.params, *found}):
        if step.params.get(name) != found.get(name) or (name in step.params) != (name in found):
            told = found.get(name, "nothing")
            yield Edge(step.name, "parameter", name, Status.MODIFIED, f"was {step.params.get(name)}, {remark} {told}")
