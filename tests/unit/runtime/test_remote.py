"""A store at a URL: entries travel whole, damaged ones count as absent, outages are waited for, and told."""

import threading

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from awt.errors import InputError, WorkError
from awt.runtime import remote as remote_module
from awt.runtime import seals
from awt.runtime.courier import Courier
from awt.runtime.known import known
from awt.runtime.lock import only_driver
from awt.runtime.remote import Remote
from awt.runtime.store import Store

KEY = "ab" + "0" * 62
FILES = {"a.npz": b"first", "b.json": b"second"}


class Flaky(MemoryFileSystem):
    """A file system at the other end of a connection that is cut for some calls."""

    protocol = "flaky"
    store: dict = {}  # noqa: RUF012  (fsspec's way)
    pseudo_dirs = [""]  # noqa: RUF012
    cut = 0

    def _call(self, name, *arguments, **named):
        if Flaky.cut > 0:
            Flaky.cut -= 1
            raise ConnectionError("the cable is out")
        return getattr(super(), name)(*arguments, **named)

    def cat_file(self, *arguments, **named):
        return self._call("cat_file", *arguments, **named)

    def pipe_file(self, *arguments, **named):
        return self._call("pipe_file", *arguments, **named)

    def put_file(self, *arguments, **named):
        return self._call("put_file", *arguments, **named)

    def get_file(self, *arguments, **named):
        return self._call("get_file", *arguments, **named)


fsspec.register_implementation("flaky", Flaky, clobber=True)


@pytest.fixture(params=["file", "memory"])
def url(request, tmp_path):
    folder = f"{tmp_path}/bucket" if request.param == "file" else f"/{tmp_path.name}"
    return f"{request.param}://{folder}"


@pytest.fixture
def machine(tmp_path, url):
    """Makes stores of several machines at the same URL."""
    return lambda name: Store(tmp_path / name, Remote(url))


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(remote_module, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(remote_module, "LONGEST_PAUSE", 0.02)


def test_what_one_machine_finished_another_finds(machine):
    here, there = machine("here"), machine("there")
    assert here.find(KEY) is None
    here.describe(KEY, {"kind": "mask"})
    here.log(KEY).write_text("a line\n")
    here.put(KEY, FILES, {"host": "here"})
    here.flush()
    assert machine("elsewhere").peek(KEY).key == KEY
    entry = there.find(KEY)
    assert {name: entry.read(name) for name in FILES} == FILES
    assert entry.about == {"host": "here"}
    assert list(there.every_key()) == [KEY]
    assert there.read_log(KEY) == "a line\n"
    assert there.work(KEY).joinpath("cell.json").exists()
    assert set(there.find_all([KEY, "cd" * 32])) == {KEY}


def test_an_entry_without_its_description_is_not_there(machine):
    here, there = machine("here"), machine("there")
    here.put(KEY, FILES, {})
    here.flush()
    here.remote.remove(f"cells/ab/{KEY}/meta.json")
    assert there.find(KEY) is None


@pytest.mark.parametrize("damaged", ["a.npz", "meta.json"])
def test_a_damaged_entry_counts_as_absent_and_is_written_over(machine, damaged):
    here, there = machine("here"), machine("there")
    here.put(KEY, FILES, {})
    here.flush()
    here.remote.write(f"cells/ab/{KEY}/{damaged}", b"other")
    assert there.find(KEY) is None
    assert there.peek(KEY) is None
    assert not list((there.root / "cells").glob(".*"))
    there.put(KEY, FILES, {})
    there.flush()
    assert machine("elsewhere").find(KEY).read("a.npz") == b"first"


def test_what_is_damaged_here_is_fetched_again(machine):
    here = machine("here")
    here.put(KEY, FILES, {})
    here.flush()
    here.find(KEY).path("a.npz").write_bytes(b"damaged")
    assert here.find(KEY).read("a.npz") == b"first"


def test_dropping_and_ages(machine):
    here = machine("here")
    here.put(KEY, FILES, {})
    here.flush()
    assert 0 <= here.age(KEY) < 3600
    assert here.drop(KEY) > 2 * len(b"firstsecond")
    assert list(machine("there").every_key()) == []
    assert machine("there").find(KEY) is None


def test_checkpoints_travel(machine, url, tmp_path):
    def checkpoint(folder, step, content):
        (folder / str(step) / "state").mkdir(parents=True)
        (folder / str(step) / "state" / "array").write_bytes(content)
        seals.seal(folder, step)

    here, there = tmp_path / "one" / "checkpoints", tmp_path / "other" / "checkpoints"
    courier = Courier(url, KEY)
    assert courier.bring(here) is None
    for step in (5, 10, 15):
        checkpoint(here, step, b"numbers %d" % step)
        courier.send(here, step)
    assert courier.close(is_finished=False) is None  # the last goes too, if the others were still on their way
    machine("here").remote.write(f"work/{KEY}/checkpoints/20.tar", b"of one that was killed")
    assert Courier(url, KEY).bring(there) == f"brought checkpoint 15 from {url}"
    assert (there / "15" / "state" / "array").read_bytes() == b"numbers 15"
    assert not seals.is_broken(there, 15)
    assert Courier(url, KEY).bring(there) is None  # nothing newer
    store = machine("here")
    store.describe(KEY, {"kind": "mask", "label": "", "function": "", "params": {}, "inputs": {}, "stage": "mask"})
    store.flush()
    assert [one.state for one in known(machine("there"))] == ["checkpointed"]
    store.put(KEY, FILES, {})
    store.flush()
    assert store.remote.names(f"work/{KEY}/checkpoints") == []


def test_a_damaged_checkpoint_is_not_brought(url, tmp_path):
    folder = tmp_path / "one" / "checkpoints"
    for step in (5, 10):
        (folder / str(step)).mkdir(parents=True)
        (folder / str(step) / "array").write_bytes(b"numbers")
        seals.seal(folder, step)
        courier = Courier(url, KEY)
        courier.send(folder, step)
        courier.close(is_finished=False)
    remote, archive = Remote(url), f"work/{KEY}/checkpoints/10.tar"
    remote.write(archive, remote.read(archive).replace(b"numbers", b"Numbers"))
    assert "brought checkpoint 5 " in Courier(url, KEY).bring(tmp_path / "other" / "checkpoints")


def test_a_short_outage_is_waited_for_and_told(tmp_path, quick, capsys):
    store = Store(tmp_path / "here", Remote(f"flaky:///{tmp_path.name}", patience=60))
    Flaky.cut = 3
    store.put(KEY, FILES, {})
    store.flush()
    assert Store(tmp_path / "there", Remote(f"flaky:///{tmp_path.name}")).find(KEY)
    said = capsys.readouterr().err
    assert said.count("does not answer (ConnectionError: the cable is out); trying for 60 s") == 1
    assert said.count("answers again") == 1


def test_a_long_outage_ends_the_run_and_loses_nothing(tmp_path, quick):
    url = f"flaky:///{tmp_path.name}"
    store = Store(tmp_path / "here", Remote(url, patience=0.1))
    Flaky.cut = 10**6
    store.put(KEY, FILES, {})
    with pytest.raises(WorkError, match=r"has not answered for 0 s \(ConnectionError.*sent there by the next run"):
        store.flush()
    Flaky.cut = 0
    assert store.find(KEY)
    assert Store(tmp_path / "there", Remote(url)).find(KEY) is None
    again = Store(tmp_path / "here", Remote(url))
    again.send_rest()
    again.flush()
    assert Store(tmp_path / "there", Remote(url)).find(KEY)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("s3://bucket/awt", "s3fs"),
        ("nosuch://bucket/awt", "Protocol not known"),
        ("s3://", "names no folder"),
        ("file:///proc/awt", "cannot be written to"),
    ],
)
def test_bad_addresses_are_named_before_any_work(url, said):
    with pytest.raises(InputError, match=rf"runtime.store: .*{url}.*({said})"):
        Remote(url, patience=0).check()


class Contender(threading.Thread):
    """Another driver that holds the lock until it is told to let go, or dies without a word."""

    def __init__(self, folder, remote):
        super().__init__(daemon=True)
        self.holds, self.over = threading.Event(), threading.Event()
        self._lock = only_driver("the stage mask", "mask", folder, remote)
        self.start()
        assert self.holds.wait(30)

    def run(self):
        with self._lock:
            self.holds.set()
            self.over.wait(60)


@pytest.fixture
def quick_lease(monkeypatch):
    for name, value in (("BEAT_SECONDS", 0.2), ("DEAD_SECONDS", 20.0), ("SETTLE_SECONDS", 0.05)):
        monkeypatch.setattr(f"awt.runtime.lock.{name}", value)


def test_a_second_driver_elsewhere_is_told_of_the_first(url, tmp_path, quick_lease):
    first = Contender(tmp_path / "here", Remote(url))
    with (
        pytest.raises(WorkError, match=r"is being computed by another driver: process \d+ on .* since 20"),
        only_driver("the stage mask", "mask", tmp_path / "there", Remote(url)),
    ):
        pass
    first.over.set()
    first.join()
    with only_driver("the stage mask", "mask", tmp_path / "there", Remote(url)):
        assert Remote(url).names("leases") == ["mask.json"]
    assert Remote(url).names("leases") == []


def test_a_dead_driver_s_lease_is_taken_over_whatever_its_clock_said(url, tmp_path, quick_lease, monkeypatch):
    monkeypatch.setattr("awt.runtime.lock.DEAD_SECONDS", 0.5)
    for year in ("1970", "2999"):
        Remote(url).write("leases/mask.json", b'{"host": "far", "pid": 1, "since": "%s", "beat": 7}' % year.encode())
        with only_driver("the stage mask", "mask", tmp_path / "there", Remote(url)):
            pass


def test_of_two_that_take_a_free_lease_at_once_one_gets_it(url, tmp_path, quick_lease, monkeypatch):
    monkeypatch.setattr("awt.runtime.lock.SETTLE_SECONDS", 1.0)
    got, refused, together = [], [], threading.Barrier(3)

    def contend(name):
        together.wait()
        try:
            with only_driver("the stage mask", "mask", tmp_path / name, Remote(url)):
                got.append(name)
                together.wait(60)
        except WorkError:
            refused.append(name)
            together.wait(60)

    threads = [threading.Thread(target=contend, args=(name,)) for name in ("a", "b", "c")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(got), len(refused)) == (1, 2)


def test_a_second_driver_on_the_same_disk_is_told_of_the_first(tmp_path):
    with (
        only_driver("the stage mask", "mask", tmp_path, None),
        pytest.raises(WorkError, match="another driver: process"),
        only_driver("the stage mask", "mask", tmp_path, None),
    ):
        pass
    with only_driver("the stage mask", "mask", tmp_path, None), only_driver("another", "retrain", tmp_path, None):
        pass
