"""The index page: every row of every experiment's table, filtered by experiment, method and density; and figures."""

from collections.abc import Iterable, Sequence

import pandas as pd

from awt.report import canvas, css
from awt.report.markup import Html, element, lines, page, section
from awt.site.collect import PAGE, Results, Shown
from awt.workflows.tickets.reporting import figures, table, words
from awt.workflows.workflow import RECORDS

WithResults = tuple[Shown, Results]

_CSS = """
body { max-width: 62rem; }
form { display: flex; flex-wrap: wrap; gap: .5rem 1rem; margin: 1rem 0; }
label { color: var(--soft); font-size: .9rem; }
select { display: block; font: inherit; max-width: 14rem; color: var(--ink); background: var(--back);
  border: 1px solid var(--line); border-radius: 4px; padding: .2rem; }
td a { color: inherit; text-decoration-color: var(--line); }
.results th:first-child, .results td:first-child { text-align: left; white-space: normal; }
.results th:nth-child(2), .results td:nth-child(2) { text-align: right; }
.results th:nth-child(3), .results td:nth-child(3) { text-align: left; }
"""

# rows say what they are in data attributes; an empty choice lets all through
_SCRIPT = """
const form = document.querySelector('form'), rows = [...document.querySelectorAll('tbody tr')];
const shown = document.querySelector('#shown');
function filter() {
  const asked = [...form.elements].filter(one => one.name);
  let count = 0;
  for (const row of rows) {
    row.hidden = asked.some(one => one.value && row.dataset[one.name] !== one.value);
    count += !row.hidden;
  }
  for (const figure of document.querySelectorAll('figure'))
    figure.hidden = form.experiment.value && figure.dataset.experiment !== form.experiment.value;
  shown.textContent = `${count} of ${rows.length} rows`;
}
form.addEventListener('change', filter);
form.addEventListener('reset', () => setTimeout(filter));
filter();
"""


def html(shown: Sequence[Shown], missing: Sequence[str]) -> str:
    """The whole page; `missing` are experiments that have not run."""
    title = "Adversarial winning tickets: the experiments"
    tickets = [(one, one.results) for one in shown if one.results is not None]
    others = [one for one in shown if one.results is None]
    body = [
        element("header", element("h1", title), _lead(shown, missing)),
        section("Results", _filters(tickets), _table(tickets), _note()),
        section("Accuracy against density", *(_figure(*one) for one in tickets)),
        *([section("Other workflows", _links(others))] if others else []),
    ]
    return page(title, css.CSS + _CSS, lines([*body, element("script", Html(_SCRIPT))]))


def _lead(shown: Sequence[Shown], missing: Sequence[str]) -> Html:
    said = f"{words.plural(len(shown), 'experiment')} of this repository."
    return element("p", said + (f" Not run yet: {words.listed(list(missing))}." if missing else ""), class_="lead")


def _note() -> Html:
    said = (
        "Accuracies in percent, mean ± standard deviation over seeds; each links to the record of the run that "
        f"measured it, each experiment to its page. {table.MARK} Not to be believed: its page says why."
    )
    return element("p", said.replace(" %", "\N{NO-BREAK SPACE}%"), class_="note")


def _links(others: Sequence[Shown]) -> Html:
    links = (element("li", element("a", one.title, href=f"{one.name}/{PAGE}")) for one in others)
    return element("ul", lines(links))


def _filters(tickets: Sequence[WithResults]) -> Html:
    methods = {str(name) for _, results in tickets for name in results.table["method"]}
    densities = {float(share) for _, results in tickets for share in results.table["density"]}
    choices = {
        "experiment": [(one.name, one.name) for one, _ in tickets],
        "method": [(name, name) for name in sorted(methods)],
        "density": [(f"{share:g}", words.density(share)) for share in sorted(densities)],
    }
    return element(
        "form",
        *(element("label", name, _choice(name, options)) for name, options in choices.items()),
        element("label", " ", element("button", "all", type="reset")),
        element("p", "", id="shown", class_="note", aria_live="polite"),
    )


def _choice(name: str, options: Iterable[tuple[str, str]]) -> Html:
    every = [("", "all"), *options]
    return element("select", *(element("option", text, value=value) for value, text in every), name_=name)


def _table(tickets: Sequence[WithResults]) -> Html:
    suites = list(dict.fromkeys(kind for _, one in tickets for kind in one.kinds if kind not in table.KINDS))
    heads = ("experiment", "kept", "method", "natural", "adversarial", *suites, "seeds")
    head = element("tr", *(element("th", name, scope="col") for name in heads))
    bodies = [
        element("tbody", lines(_row(one.name, results, row, suites) for _, row in results.table.iterrows()))
        for one, results in tickets
    ]
    whole = element("table", lines([element("thead", head), *bodies]), class_="results")
    return element("div", whole, class_="scroll", tabindex="0")


def _row(name: str, results: Results, row: "pd.Series", suites: Sequence[str]) -> Html:
    page, record = (f"{name}/{place}" for place in (PAGE, f"{RECORDS}/evaluate.json"))
    density, method, *accuracies, _, seeds = table.cells(row)
    by_kind = dict(zip(results.kinds, accuracies, strict=True))
    numbers = [by_kind.get(kind) for kind in (*table.KINDS, *suites)]
    cells = [
        element("a", name, href=page),
        density,
        method,
        *("" if number is None else element("a", number, href=record) for number in numbers),
        seeds,
    ]
    about = {"data_experiment": name, "data_method": str(row["method"]), "data_density": f"{row['density']:g}"}
    return element("tr", *(element("td", cell) for cell in cells), **about)


def _figure(one: Shown, results: Results) -> Html:
    params = results.params
    picture = canvas.svg(figures.accuracy(results.rows, params.report.published), f"accuracy-{one.name}")
    caption = f"{one.title} ({words.data(results.dataset)}; {words.threat(params.threat, results.dataset.get('std'))})"
    if params.report.published:
        caption += f"; hollow, published ({params.report.source})"
    card = element("div", Html(picture), class_="card", tabindex="0", role="img", aria_label=caption)
    return element("figure", card, element("figcaption", caption), data_experiment=one.name)
