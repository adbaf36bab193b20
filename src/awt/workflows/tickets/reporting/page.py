"""The page itself: its sections in reading order, as one HTML file that needs nothing else."""

from collections.abc import Iterable
from urllib.parse import urlsplit

import pandas as pd

from awt.errors import InputError
from awt.report import canvas, css
from awt.report.markup import Html, definitions, element, lines, page, section
from awt.report.markup import table as html_table
from awt.workflows.tickets.reporting import kernels, mixture, plates, published, table, words
from awt.workflows.tickets.reporting.findings import Findings
from awt.workflows.tickets.reporting.plates import Plate

_KERNEL_LEGEND = (
    "Class-traced kernels on the reference points, means over seeds. Distance to dense: 1 − ⟨Θ, Θ dense⟩ / "
    "(‖Θ‖ ‖Θ dense‖), from the dense network's kernel of the same time. Concentration: share of the trace in the ten "
    "largest eigenvalues. Alignment: the cosine between the kernel and that of the centred one-hot labels. "
    "Condition: λ max / λ min, ∞ where λ min is not positive. A dash: not known."
)


def html(findings: Findings) -> str:
    """The whole page."""
    title = f"Adversarial winning tickets on {findings.dataset.get('name', findings.params.data.name)}"
    rows = table.summary(findings.results, findings.kinds)
    body = lines(
        [
            element("header", lines([element("h1", title), *_headline(findings, rows)])),
            section(
                "Accuracy",
                *_table(findings, rows),
                *_published(findings, rows),
                *map(_figure, plates.outcome(findings)),
            ),
            *([section("The mixture in closed form", *_mixture(findings))] if len(findings.mixture) else []),
            *([section("Training side by side", *dynamics)] if (dynamics := _training(findings)) else []),
            section("The search", *_search(findings)),
            *([section("The kernels", *_kernels(findings))] if len(findings.kernels) else []),
            section("Parameters", _pairs(("parameter", "value"), words.parameters(findings.params))),
            section("Provenance", *_provenance(findings)),
        ]
    )
    return page(title, css.CSS, body)


def _headline(findings: Findings, rows: pd.DataFrame) -> Iterable[Html]:
    params = findings.params
    weights = max((mask["total"] for mask in findings.masks), default=None)
    seeds = sorted(findings.results["seed"].unique())
    yield _prose(_finding(rows), "lead")
    yield definitions(
        [
            ("Data", words.data(findings.dataset)),
            ("Network", words.network(params.model, weights)),
            ("Threat", words.threat(params.threat, findings.dataset.get("std"))),
            ("Evaluation", words.evaluation(params.evaluate)),
            ("Seeds", ", ".join(str(seed) for seed in seeds)),
        ]
    )


def _finding(rows: pd.DataFrame) -> str:
    """The sparsest tickets' best, beside the dense network, in a sentence."""
    sparse, dense = rows[rows["method"] != "dense"], rows[rows["method"] == "dense"]
    said = []
    if len(sparse):
        sparsest = sparse[sparse["density"] == sparse["density"].min()]
        best = sparsest.loc[sparsest["adversarial_mean"].idxmax()]
        kept, method = words.density(best["density"]), best["method"]
        said.append(f"With {kept} of the weights, the best ticket ({method}) reaches {_both(best)}")
    said += [f"the dense network reaches {_both(row)}" for _, row in dense.iterrows()]
    sentence = "; ".join(said) + "."
    return sentence[0].upper() + sentence[1:]


def _both(row: "pd.Series") -> str:
    natural, adversarial = (words.percent(row[f"{kind}_mean"]) for kind in table.KINDS)
    return f"{natural} % natural and {adversarial} % adversarial accuracy"


def _table(findings: Findings, rows: pd.DataFrame) -> Iterable[Html]:
    suites = [f"{words.suite(name)}, %" for name in findings.params.evaluate.suites]
    heads = ("kept", "method", "natural, %", *suites, "worst – best", "seeds")
    marked = rows.assign(best=table.winners(rows))
    densities = [group for _, group in marked.groupby("density", sort=False)]
    groups = ([_cells(row) for _, row in group.iterrows()] for group in densities)
    yield html_table(heads, groups, class_="results")
    yield _prose(_legend(findings, rows), "note")
    if missing := _missing(findings):
        yield _prose(f"Without a result: {'; '.join(missing)}.", "note")


def _published(findings: Findings, rows: pd.DataFrame) -> Iterable[Html]:
    report = findings.params.report
    if report.published:
        compared = published.beside(report.published, rows).groupby("density", sort=False)
        yield element("h3", f"Beside the published figures ({report.source})" if report.source else "Published figures")
        groups = ([published.cells(row) for _, row in group.iterrows()] for _, group in compared)
        yield html_table(published.HEADS, groups, class_="results")


def _mixture(findings: Findings) -> Iterable[Html]:
    found = mixture.summary(findings.mixture)
    groups = [[mixture.cells(row, findings.params.report.published) for _, row in found.iterrows()]]
    yield html_table(mixture.HEADS, groups, class_="results")
    yield _prose(mixture.LEGEND, "note")


def _cells(row: "pd.Series") -> list[str]:
    cells: list[str] = list(table.cells(row))
    if row["best"]:
        cells[3] = element("strong", cells[3])
    return cells


def _legend(findings: Findings, rows: pd.DataFrame) -> str:
    points = words.listed([f"{count:,}" for count in sorted(findings.results["points"].unique())])
    several = findings.results["seed"].nunique() > 1
    first = words.suite(findings.params.evaluate.suites[0])
    said = [
        "Mean ± sample standard deviation over seeds" if several else "One seed",
        f", on {points} test points.",
    ]
    if several:
        said.append(f" Worst and best are single seeds under {first}.")
    if rows["trains_all"].any():
        said.append(" (dense): all weights are trained; the density is that of the mask it started with.")
    if table.winners(rows).any():
        said.append(f" Bold: the best under {first} at its density.")
    said.append(
        f" The 95 % confidence interval of one network under {first} is at most {_widest(findings)} points wide."
    )
    said += [f" {table.MARK} Not to be believed: {named} ({flags})." for flags, named in _flagged(findings.results)]
    return "".join(said)


def _flagged(results: pd.DataFrame) -> list[tuple[str, str]]:
    """Each set of flags, and the networks that have it."""
    found: dict[str, list[str]] = {}
    for _, row in results[results["flags"].fillna("") != ""].iterrows():
        found.setdefault(str(row["flags"]), []).append(f"{row['method']} at {words.density(row['density'])}")
    return [(flags, words.listed(sorted(set(named)))) for flags, named in sorted(found.items())]


def _widest(findings: Findings) -> str:
    return words.percent((findings.results["adversarial_high"] - findings.results["adversarial_low"]).max())


def _missing(findings: Findings) -> list[str]:
    """Tickets that the parameters name and the results lack, by method."""
    found = set(zip(findings.results["method"], findings.results["density"], strict=True))
    missing = []
    for recipe in findings.params.recipes:
        method = recipe.name
        named = (1.0,) if recipe.method.is_dense else findings.params.tickets.densities
        lacking = [words.density(density) for density in named if (method, density) not in found]
        if lacking:
            missing.append(f"{method} at {words.listed(lacking)}")
    return missing


def _training(findings: Findings) -> list[Html]:
    return [_figure(plate) for plate in plates.training(findings)]


def _search(findings: Findings) -> Iterable[Html]:
    if not len(findings.search):
        yield _prose("No method of this run searches for its mask.", "note")
    yield from map(_figure, plates.search(findings))


def _kernels(findings: Findings) -> Iterable[Html]:
    yield from map(_figure, plates.kernels(findings))
    heads = ("kept", "method", "when", "distance to dense", "concentration", "alignment", "condition", "λ min")
    densities = kernels.summary(findings.kernels).groupby("density", sort=False)
    groups = ([kernels.cells(row) for _, row in rows.iterrows()] for _, rows in densities)
    yield html_table(heads, groups, class_="results kernels")
    yield _prose(_KERNEL_LEGEND, "note")


def _prose(text: str, class_: str) -> Html:
    """A paragraph in which no line breaks between a number and its %."""
    return element("p", text.replace(" %", "\N{NO-BREAK SPACE}%"), class_=class_)


def _figure(plate: Plate) -> Html:
    picture = Html(canvas.svg(plate.figure, plate.name))
    card = element("div", picture, class_="card", tabindex="0", role="img", aria_label=plate.caption)
    return element("figure", card, element("figcaption", plate.caption), id=plate.name)


def _pairs(heads: tuple[str, str], pairs: Iterable[tuple[str, str]]) -> Html:
    return html_table(heads, [pairs], class_="pairs")


def _provenance(findings: Findings) -> Iterable[Html]:
    if findings.records:
        yield element("h3", "Run records")
        yield element("p", *_separated(_link(stage, link) for stage, link in findings.records.items()))
    for title, heads, pairs in (
        ("Data", ("key", "value"), list(words.dotted(findings.dataset))),
        ("Versions", ("package", "version"), sorted(findings.versions.items())),
        ("Artifacts", ("file", "sha256"), sorted(findings.hashes.items())),
    ):
        if pairs:
            yield element("h3", title)
            yield _pairs(heads, pairs)


def _separated(links: Iterable[Html]) -> list[str]:
    return [part for link in links for part in (" · ", link)][1:]


def _link(stage: str, link: str) -> Html:
    parts = urlsplit(link)
    if parts.scheme or parts.netloc or link.startswith(("/", "\\")):
        raise InputError(f"the record of stage {stage}: expected a link relative to the report, got {link!r}")
    return element("a", stage, href=link)
