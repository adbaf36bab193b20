"""The index page over all experiments: what it says, where it leads, and that it works in a real browser."""

import re
import shutil
import subprocess
import sys

import pytest

from awt.artifacts import read_csv

SITE = (sys.executable, "-c", "from awt.commands.main import main; main()", "site")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

FLOW = """
from awt.params.common import Common
from awt.workflows.workflow import Workflow
WORKFLOW = Workflow("flow", Common, ())
"""

# in the page before its own script: what goes wrong; after it: a choice of method, and what is then to be seen
CATCH = "<script>window.faults = []; window.onerror = message => window.faults.push(message);</script>"
CHOOSE = """<script>
form.method.value = 'random';
form.dispatchEvent(new Event('change'));
const visible = [...document.querySelectorAll('tbody tr')].filter(row => row.offsetHeight > 0);
const picture = document.querySelector('figure svg').getBoundingClientRect();
document.title = JSON.stringify({faults: window.faults, methods: [...new Set(visible.map(row => row.dataset.method))],
  rows: visible.length, said: document.querySelector('#shown').textContent, picture: picture.width * picture.height});
</script>"""


@pytest.fixture
def site(finished, copy_of):
    """A repository with one experiment that has run and others that have not, and its site."""
    workspace = copy_of(finished)
    done = workspace.command(*SITE)
    assert done.returncode == 0, done.stderr
    return workspace, workspace.path / "site"


def test_every_row_of_every_experiment_is_there_and_links_lead_to_files(site):
    workspace, folder = site
    page = (folder / "index.html").read_text()
    table = read_csv(workspace.path / "report" / "table.csv")
    assert page.count("<tr data-experiment=") == len(table)
    assert re.search(r"Not run yet: [^.]*\bdenser_tickets\b", page)
    links = set(re.findall(r'href="([^#"][^"]*)"', page))
    assert links == {"default/report/index.html", "default/artifacts/records/evaluate.json"}
    assert not re.search(r'(src|href)="(https?:)?//', page)
    for link in links:
        assert (folder / link).is_file()
    inner = (folder / "default" / "report" / "index.html").read_text()
    for link in re.findall(r'href="(\.\./[^"]*)"', inner):
        assert (folder / "default" / "report" / link).is_file()


def test_an_experiment_of_another_workflow_is_a_link_to_its_page(site):
    """What its results mean, only the workflow knows."""
    workspace, folder = site
    before = (folder / "index.html").read_text()
    other = workspace.path / "pipelines" / "flow"
    (other / "report").mkdir(parents=True)
    (other / "report" / "index.html").write_text("<p>It runs.</p>")
    (other / "params.yaml").write_text("root: ../..\nworkflow: flow:WORKFLOW\n")
    (other / "flow.py").write_text(FLOW)
    done = workspace.command(*SITE)
    assert done.returncode == 0, done.stderr
    page = (folder / "index.html").read_text()
    assert page.count("<tr data-experiment=") == before.count("<tr data-experiment=")
    assert '<a href="flow/report/index.html">flow</a>' in page
    assert (folder / "flow" / "report" / "index.html").read_text() == "<p>It runs.</p>"


def test_made_again_it_is_the_same(site):
    workspace, folder = site
    before = (folder / "index.html").read_bytes()
    assert workspace.command(*SITE).returncode == 0
    assert (folder / "index.html").read_bytes() == before


def test_nothing_else_is_overwritten_and_there_must_be_something_to_show(fresh, finished, copy_of):
    workspace = copy_of(finished)
    done = workspace.command(*SITE, "--out", "src")
    assert done.returncode == 2
    assert "--out: src is there and is no site" in done.stderr
    done = fresh().command(*SITE)
    assert done.returncode == 2
    assert "`dvc repro` first" in done.stderr


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed")
def test_filters_and_figures_work_in_a_browser(site, tmp_path):
    _, folder = site
    page = (folder / "index.html").read_text()
    tried = folder / "tried.html"
    tried.write_text(page.replace("<head>", f"<head>{CATCH}").replace("</body>", f"{CHOOSE}</body>"))
    for width in (1200, 390):  # a desk, a phone
        words = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / str(width)}"]
        words += [f"--window-size={width},900", "--enable-logging=stderr", "--dump-dom", tried.as_uri()]
        done = subprocess.run([CHROMIUM, *words], capture_output=True, text=True, timeout=120, check=False)
        assert "CONSOLE" not in done.stderr
        found = re.search(r"<title>(\{.*?\})</title>", done.stdout)
        assert found, done.stdout[:500] + done.stderr[-500:]
        assert '"faults":[]' in found[1]
        assert '"methods":["random"],"rows":2,"said":"2 of 5 rows"' in found[1]
        assert float(re.search(r'"picture":([\d.]+)', found[1])[1]) > 10_000
