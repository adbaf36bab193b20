"""The index page: every row of every experiment's table, filtered by experiment, method and density; and figures."""

from collections.abc import Iterable, Sequence

import pandas as pd

from awt.report import canvas, css
from awt.report.markup import Html, element, lines, page, section
from awt.site.collect import Experiment
from awt.workflows.tickets.reporting import figures, table, words

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


def html(found: Sequence[Experiment], missing: Sequence[str]) -> str:
    """The whole page; `missing` are experiments that have not run."""
    title = "Adversarial winning tickets: the experiments"
    body = [
        element("header", element("h1", title), _lead(found, missing)),
        section("Results", _filters(found), _table(found), _note()),
        section("Accuracy against density", *map(_figure, found)),
    ]
    return page(title, css.CSS + _CSS, lines([*body, element("script", Html(_SCRIPT))]))


def _lead(found: Sequence[Experiment], missing: Sequence[str]) -> Html:
    said = f"{words.plural(len(found), 'experiment')} of this repository."
    return element("p", said + (f" Not run yet: {words.listed(list(missing))}." if missing else ""), class_="lead")


def _note() -> Html:
    said = (
        "Accuracies in percent, mean ± standard deviation over seeds; each links to the record of the run that "
        f"measured it, each experiment to its page. {table.MARK} Not to be believed: its page says why."
    )
    return element("p", said.replace(" %", "\N{NO-BREAK SPACE}%"), class_="note")


def _filters(found: Sequence[Experiment]) -> Html:
    rows = (
        pd.concat([one.table[["method", "density"]] for one in found])
        if found
        else pd.DataFrame({"method": [], "density": []})
    )
    choices = {
        "experiment": [(one.name, one.name) for one in found],
        "method": [(str(name), str(name)) for name in sorted(rows["method"].unique())],
        "density": [(f"{share:g}", words.density(share)) for share in sorted(rows["density"].unique())],
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


def _table(found: Sequence[Experiment]) -> Html:
    suites = list(dict.fromkeys(kind for one in found for kind in one.kinds if kind not in table.KINDS))
    heads = ("experiment", "kept", "method", "natural", "adversarial", *suites, "seeds")
    head = element("tr", *(element("th", name, scope="col") for name in heads))
    bodies = [element("tbody", lines(_row(one, row, suites) for _, row in one.table.iterrows())) for one in found]
    whole = element("table", lines([element("thead", head), *bodies]), class_="results")
    return element("div", whole, class_="scroll", tabindex="0")


def _row(one: Experiment, row: "pd.Series", suites: Sequence[str]) -> Html:
    page, record = (f"{one.name}/{place}" for place in ("report/index.html", "artifacts/records/evaluate.json"))
    density, method, *accuracies, _, seeds = table.cells(row)
    by_kind = dict(zip(one.kinds, accuracies, strict=True))
    numbers = [by_kind.get(kind) for kind in (*table.KINDS, *suites)]
    cells = [
        element("a", one.name, href=page),
        density,
        method,
        *("" if number is None else element("a", number, href=record) for number in numbers),
        seeds,
    ]
    about = {"data_experiment": one.name, "data_method": str(row["method"]), "data_density": f"{row['density']:g}"}
    return element("tr", *(element("td", cell) for cell in cells), **about)


def _figure(one: Experiment) -> Html:
    picture = canvas.svg(figures.accuracy(one.results, one.params.report.published), f"accuracy-{one.name}")
    caption = f"{one.title} ({words.data(one.dataset)}; {words.threat(one.params.threat, one.dataset.get('std'))})"
    if one.params.report.published:
        caption += f"; hollow, published ({one.params.report.source})"
    card = element("div", Html(picture), class_="card", tabindex="0", role="img", aria_label=caption)
    return element("figure", card, element("figcaption", caption), data_experiment=one.name)
