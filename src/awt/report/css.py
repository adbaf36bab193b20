"""The page's style sheet: one narrow column, light and dark, nothing loaded from elsewhere."""

CSS = """
:root { color-scheme: light dark; --ink: #1c1e21; --soft: #5c636b; --line: #dde1e6; --back: #ffffff;
  --link: #0059a8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e8ea; --soft: #a0a8b0; --line: #363c43; --back: #14171a; --link: #7ab8f5; }
}
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 1.5rem 1rem 4rem;
  background: var(--back); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.25; margin: 0 0 .5rem; overflow-wrap: anywhere; }
h2 { font-size: 1.25rem; margin: 2.5rem 0 .75rem; padding-bottom: .25rem;
  border-bottom: 1px solid var(--line); }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
a { color: var(--link); }
.lead { font-size: 1.1rem; }
.note, figcaption { color: var(--soft); font-size: .9rem; }
dl { margin: 1rem 0; }
dl div { display: flex; flex-wrap: wrap; gap: 0 1rem; padding: .3rem 0;
  border-bottom: 1px solid var(--line); }
dt { flex: 0 0 8rem; color: var(--soft); }
dd { flex: 1 1 16rem; margin: 0; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; margin: .75rem 0; }
table { border-collapse: collapse; font-size: .92rem; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; color: var(--soft); white-space: nowrap; }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
.results { width: 100%; }
.results td { white-space: nowrap; }
.results th, .results td { padding: .35rem .6rem; }
.results th:not(:nth-child(2)), .results td:not(:nth-child(2)) { text-align: right; }
.kernels { font-size: .85rem; }
.kernels th { white-space: normal; vertical-align: bottom; }
.kernels th:nth-child(3), .kernels td:nth-child(3) { text-align: left; }
.results tbody { border-bottom: 2px solid var(--line); }
.pairs td:first-child { white-space: nowrap; }
.pairs td { font-family: ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: .82rem; }
figure { margin: 1.25rem 0 2rem; }
figure .card { background: #ffffff; border: 1px solid var(--line); border-radius: 6px; padding: .5rem;
  overflow-x: auto; }
figure svg { display: block; width: 100%; min-width: 21.5rem; height: auto; }
figure svg * { stroke-linejoin: round; stroke-linecap: butt; }
figcaption { margin-top: .4rem; }
@media (max-width: 30rem) {
  .results { font-size: .8rem; }
  .results th, .results td { padding: .35rem .3rem; }
  figure .card { padding: .25rem; }
  dt { flex-basis: 5.5rem; }
}
@media print { figure { break-inside: avoid; } }
"""
