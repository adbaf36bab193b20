"""The page itself: its sections in reading order, as one HTML file that needs nothing else."""

from collections.abc import Iterable
from urllib.parse import urlsplit

import pandas as pd

from awt.errors import InputError
from awt.report import canvas, css, kernels, mixture, plates, published, table, words
from awt.report.inputs import Inputs
from awt.report.markup import Html, definitions, element, lines, page, section
from awt.report.markup import table as html_table
from awt.report.plates import Plate

_KERNEL_LEGEND = (
    "Class-traced kernels on the reference points, means over seeds. Distance to dense: 1 − ⟨Θ, Θ dense⟩ / "
    "(‖Θ‖ ‖Θ dense‖), from the dense network's kernel of the same time. Concentration: share of the trace in the ten "
    "largest eigenvalues. Alignment: the cosine between the kernel and that of the centred one-hot labels. "
    "Condition: λ max / λ min, ∞ where λ min is not positive. A dash: not known."
)


def html(inputs: Inputs) -> str:
    """The whole page."""
    title = f"Adversarial winning tickets on {inputs.dataset.get('name', inputs.params.data.name)}"
    rows = table.summary(inputs.results, inputs.kinds)
    body = lines(
        [
            element("header", lines([element("h1", title), *_headline(inputs, rows)])),
            section(
                "Accuracy", *_table(inputs, rows), *_published(inputs, rows), *map(_figure, plates.outcome(inputs))
            ),
            *([section("The mixture in closed form", *_mixture(inputs))] if len(inputs.mixture) else []),
            *([section("Training side by side", *dynamics)] if (dynamics := _training(inputs)) else []),
            section("The search", *_search(inputs)),
            *([section("The kernels", *_kernels(inputs))] if len(inputs.kernels) else []),
            section("Parameters", _pairs(("parameter", "value"), words.parameters(inputs.params))),
            section("Provenance", *_provenance(inputs)),
        ]
    )
    return page(title, css.CSS, body)


def _headline(inputs: Inputs, rows: pd.DataFrame) -> Iterable[Html]:
    params = inputs.params
    weights = max((mask["total"] for mask in inputs.masks), default=None)
    seeds = sorted(inputs.results["seed"].unique())
    yield _prose(_finding(rows), "lead")
    yield definitions(
        [
            ("Data", words.data(inputs.dataset)),
            ("Network", words.network(params.model, weights)),
            ("Threat", words.threat(params.threat, inputs.dataset.get("std"))),
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


def _table(inputs: Inputs, rows: pd.DataFrame) -> Iterable[Html]:
    suites = [f"{words.suite(name)}, %" for name in inputs.params.evaluate.suites]
    heads = ("kept", "method", "natural, %", *suites, "worst – best", "seeds")
    marked = rows.assign(best=table.winners(rows))
    densities = [group for _, group in marked.groupby("density", sort=False)]
    groups = ([_cells(row) for _, row in group.iterrows()] for group in densities)
    yield html_table(heads, groups, class_="results")
    yield _prose(_legend(inputs, rows), "note")
    if missing := _missing(inputs):
        yield _prose(f"Without a result: {'; '.join(missing)}.", "note")


def _published(inputs: Inputs, rows: pd.DataFrame) -> Iterable[Html]:
    report = inputs.params.report
    if report.published:
        compared = published.beside(report.published, rows).groupby("density", sort=False)
        yield element("h3", f"Beside the published figures ({report.source})" if report.source else "Published figures")
        groups = ([published.cells(row) for _, row in group.iterrows()] for _, group in compared)
        yield html_table(published.HEADS, groups, class_="results")


def _mixture(inputs: Inputs) -> Iterable[Html]:
    found = mixture.summary(inputs.mixture)
    groups = [[mixture.cells(row, inputs.params.report.published) for _, row in found.iterrows()]]
    yield html_table(mixture.HEADS, groups, class_="results")
    yield _prose(mixture.LEGEND, "note")


def _cells(row: "pd.Series") -> list[str]:
    cells: list[str] = list(table.cells(row))
    if row["best"]:
        cells[3] = element("strong", cells[3])
    return cells


def _legend(inputs: Inputs, rows: pd.DataFrame) -> str:
    points = words.listed([f"{count:,}" for count in sorted(inputs.results["points"].unique())])
    several = inputs.results["seed"].nunique() > 1
    first = words.suite(inputs.params.evaluate.suites[0])
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
    said.append(f" The 95 % confidence interval of one network under {first} is at most {_widest(inputs)} points wide.")
    said += [f" {table.MARK} Not to be believed: {named} ({flags})." for flags, named in _flagged(inputs.results)]
    return "".join(said)


def _flagged(results: pd.DataFrame) -> list[tuple[str, str]]:
    """Each set of flags, and the networks that have it."""
    found: dict[str, list[str]] = {}
    for _, row in results[results["flags"].fillna("") != ""].iterrows():
        found.setdefault(str(row["flags"]), []).append(f"{row['method']} at {words.density(row['density'])}")
    return [(flags, words.listed(sorted(set(named)))) for flags, named in sorted(found.items())]


def _widest(inputs: Inputs) -> str:
    return words.percent((inputs.results["adversarial_high"] - inputs.results["adversarial_low"]).max())


def _missing(inputs: Inputs) -> list[str]:
    """Tickets that the parameters name and the results lack, by method."""
    search = inputs.params.search
    found = set(zip(inputs.results["method"], inputs.results["density"], strict=True))
    missing = []
    for method in search.methods:
        named = (1.0,) if search.base(method) == "dense" else search.densities
        lacking = [words.density(density) for density in named if (method, density) not in found]
        if lacking:
            missing.append(f"{method} at {words.listed(lacking)}")
    return missing


def _training(inputs: Inputs) -> list[Html]:
    return [_figure(plate) for plate in plates.training(inputs)]


def _search(inputs: Inputs) -> Iterable[Html]:
    if not len(inputs.search):
        yield _prose("No method of this run searches for its mask.", "note")
    yield from map(_figure, plates.search(inputs))


def _kernels(inputs: Inputs) -> Iterable[Html]:
    yield from map(_figure, plates.kernels(inputs))
    heads = ("kept", "method", "when", "distance to dense", "concentration", "alignment", "condition", "λ min")
    densities = kernels.summary(inputs.kernels).groupby("density", sort=False)
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


def _provenance(inputs: Inputs) -> Iterable[Html]:
    if inputs.records:
        yield element("h3", "Run records")
        yield element("p", *_separated(_link(stage, link) for stage, link in inputs.records.items()))
    for title, heads, pairs in (
        ("Data", ("key", "value"), list(words.dotted(inputs.dataset))),
        ("Versions", ("package", "version"), sorted(inputs.versions.items())),
        ("Artifacts", ("file", "sha256"), sorted(inputs.hashes.items())),
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
