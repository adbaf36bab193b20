"""The page stands alone, is well-formed, the same wherever it is made, and says what the findings say."""

import dataclasses
import os
import re
import subprocess
import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import made_findings
import pytest

from awt.errors import InputError
from awt.workflows.tickets.params import Published, Report
from awt.workflows.tickets.reporting import Findings, build, published, table, words

VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Reads a page, checking that every element is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.rows: list[list[str]] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data

    def values(self, *names: str) -> list[str]:
        return [value for _, name, value in self.attributes if name in names]


def small(methods: tuple[str, ...] = ("dense", "random"), name: str = "digits") -> Findings:
    """One seed, one density, no search, no validation: every corner, quickly drawn."""
    return made_findings.make(methods, densities=(0.05,), seeds=(3,), validated=False, name=name)


def page_of(findings: Findings) -> tuple[str, Page]:
    text = build(findings)["index.html"].decode()
    return text, Page(text)


def test_the_same_findings_give_the_same_bytes(report: dict[str, bytes]) -> None:
    assert build(made_findings.make()) == report


def test_a_fresh_process_gives_the_same_bytes(report: dict[str, bytes], tmp_path: Path) -> None:
    script = (
        "import made_findings, pathlib\n"
        "from awt.workflows.tickets.reporting import build\n"
        "for name, data in build(made_findings.make()).items():\n"
        "    pathlib.Path(name).write_bytes(data)\n"
    )
    (tmp_path / "matplotlibrc").write_text("font.size: 20\naxes.facecolor: red\n")
    folders = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONHASHSEED": "4321", "PYTHONPATH": folders}
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, env=environment, check=True)
    assert {name: (tmp_path / name).read_bytes() for name in report} == report


def test_nothing_is_loaded_from_elsewhere(html: str) -> None:
    page = Page(html)
    namespaces = page.values("xmlns", "xmlns:xlink")
    assert len(re.findall("https?:", html)) == len(namespaces)
    assert not {"script", "link", "img", "iframe", "object"} & set(page.tags)
    assert page.values("src", "srcset", "data") == []
    assert all(link.startswith(("#", "data:image/png;base64,")) for link in page.values("xlink:href"))
    assert "@import" not in html
    assert set(re.findall(r"url\((.)", html)) <= {"#"}


def test_links_are_the_records_and_relative(html: str, findings: Findings) -> None:
    links = [value for tag, name, value in Page(html).attributes if (tag, name) == ("a", "href")]
    assert links == list(findings.records.values())
    assert not any(link.startswith(("/", "http")) for link in links)


@pytest.mark.parametrize("link", ["https://example.org/run.json", "/home/me/run.json", "//host/run.json"])
def test_a_link_that_is_not_relative_is_refused(link: str) -> None:
    findings = small()
    with pytest.raises(InputError, match="relative"):
        build(dataclasses.replace(findings, records={"kernel": link}))


def test_ids_are_unique_and_every_reference_has_one(html: str) -> None:
    page = Page(html)
    ids = page.values("id")
    assert len(ids) == len(set(ids))
    used = {link[1:] for link in page.values("xlink:href") if link.startswith("#")} | set(
        re.findall(r"url\(#([^)]+)\)", html)
    )
    assert used <= set(ids)


def test_table_on_the_page_is_the_summary(html: str, findings: Findings) -> None:
    rows = [list(table.cells(row)) for _, row in table.summary(findings.results, findings.kinds).iterrows()]
    shown = Page(html).rows
    assert shown[1 : 1 + len(rows)] == rows
    for density in made_findings.DENSITIES:
        runs = findings.results[findings.results["density"] == density]
        best = runs.groupby("method")["adversarial"].mean().max()
        assert f"<strong>{100 * best:.1f} ±" in html
    assert html.count("<strong>") == len(made_findings.DENSITIES)


def test_every_method_density_parameter_and_hash_appears(html: str, findings: Findings) -> None:
    cells = {cell for row in Page(html).rows for cell in row}
    assert set(made_findings.METHODS) <= cells
    assert {"2 %", "5 %", "20 %", "100 %"} <= cells
    assert {"tickets.recipes.awt.options.gamma", "threat.eps", "retrain.attack.steps", "evaluate.chunk_points"} <= cells
    assert set(findings.hashes.values()) | set(findings.versions.values()) <= cells
    assert Page(html).tags["figure"] == 12


def test_where_it_runs_does_not_show(findings: Findings, report: dict[str, bytes]) -> None:
    params = findings.params
    elsewhere = dataclasses.replace(
        params,
        root="../..",
        base="../other",
        data=dataclasses.replace(params.data, root="/home/me/data"),
        runtime=dataclasses.replace(params.runtime, store="/scratch/me"),
    )
    assert build(dataclasses.replace(findings, params=elsewhere)) == report


def test_names_are_escaped() -> None:
    made = small(name="<b>&\"'")
    made = dataclasses.replace(made, versions={"<i>": "<script>"}, records={"<u>": 'a"><b>.json'})
    text, page = page_of(made)
    assert not {"b", "i", "u", "script"} & set(page.tags)
    assert "&lt;b&gt;&amp;" in text
    assert ("a", "href", 'a"><b>.json') in page.attributes


def test_flagged_networks_are_named(findings: Findings) -> None:
    results = findings.results.copy()
    results.loc[results["method"] == "random", "flags"] = "gradients are zero"
    text, _ = page_of(dataclasses.replace(findings, results=results))
    assert "Not to be believed: random at 2" in text
    assert "(gradients are zero)" in text


def test_suites_in_words(html: str, findings: Findings) -> None:
    assert "PGD-100; AutoAttack (apgd-ce, apgd-t, fab-t, square)" in html
    changed = dataclasses.replace(findings.params.evaluate, attacks={"square": {"queries": 7}}, suites=("autoattack",))
    assert words.evaluation(changed).endswith("square; square with queries 7)")


def test_data_in_words(html: str) -> None:
    assert "8 × 8 × 1 inputs, 10 classes; 1,293 train, 144 validation and 360 test points" in html


def test_threat_in_words(html: str, findings: Findings) -> None:
    assert "ℓ∞, ε = 0.1 pixel" in html
    threat = dataclasses.replace(findings.params.threat, eps=0.3, eps_unit="std", norm="l2")
    said = words.threat(threat, findings.dataset["std"])
    assert said.startswith("ℓ2, ε = 0.3 standard deviations (0.113 pixel)")


def test_one_seed_one_density_no_search() -> None:
    text, page = page_of(small())
    assert page.tags["figure"] == 7
    assert "No method of this run searches" in text
    assert "attacked training points" in text
    assert "±" not in text
    assert "<strong>" not in text


def test_missing_tickets_are_named() -> None:
    text, _ = page_of(small(methods=("awt", "random")))
    missing = re.search("Without a result: (.*?)\\.<", text)
    assert missing is not None
    tickets = missing[1].replace("\N{NO-BREAK SPACE}", " ").split("; ")
    assert tickets == [
        "awt at 2 % and 20 %",
        "awt_paper at 2 %, 5 % and 20 %",
        "random at 2 % and 20 %",
        "magnitude at 2 %, 5 % and 20 %",
        "dense at 100 %",
    ]


def test_published_figures_stand_beside_ours(findings):
    row = findings.results.iloc[0]
    known = Published(method=row["method"], density=row["density"], natural=0.9012, adversarial=0.5)
    lacking = Published(method="other", density=0.5, adversarial=0.4)
    report = Report(published=(known, lacking), source="Table 1")
    made = dataclasses.replace(findings, params=dataclasses.replace(findings.params, report=report))
    page = build(made)["index.html"].decode()
    assert "Beside the published figures (Table 1)" in page
    assert "90.12" in page
    rows = published.beside(report.published, table.summary(findings.results, findings.kinds))
    ours = table.summary(findings.results).set_index(["method", "density"]).loc[(row["method"], row["density"])]
    assert rows["difference"].iloc[0] == pytest.approx(ours["natural_mean"] - 0.9012)
    assert published.cells(rows.iloc[2])[4:] == ["–", "–"]
    assert "published figures" not in build(findings)["index.html"].decode()
