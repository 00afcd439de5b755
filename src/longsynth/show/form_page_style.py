"""How the form's page looks, on a screen and on paper."""

STYLE = """
:root { --ink: #1d2733; --soft: #5b6876; --line: #d9dfe6; --accent: #0f5c6e; --wash: #f4f7f9; }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 3rem 1.5rem 4rem; max-width: 52rem; color: var(--ink);
  font: 16px/1.55 "Source Sans 3", "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
header { border-bottom: 3px solid var(--accent); padding-bottom: 1rem; }
h1 { margin: .1em 0 .4em; font-size: 2rem; line-height: 1.2; }
h2 { margin: 2.4rem 0 .7rem; font-size: 1.15rem; color: var(--accent); }
.kind { margin: 0; color: var(--soft); font-size: .85rem; letter-spacing: .08em;
  text-transform: uppercase; }
header p:last-child { margin: 0; color: var(--soft); max-width: 42rem; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(10rem, 1fr)); gap: .8rem;
  margin-top: 1.6rem; }
.facts div { background: var(--wash); border-radius: .4rem; padding: .8rem 1rem; }
.facts b { display: block; font-size: 1.15rem; font-variant-numeric: tabular-nums; }
.facts span { color: var(--soft); font-size: .85rem; }
dl { display: grid; grid-template-columns: 11.5rem 1fr; margin: 0; }
dt, dd { margin: 0; padding: .5rem 0; border-top: 1px solid var(--line); }
dt { color: var(--soft); padding-right: 1rem; }
dd { overflow-wrap: anywhere; }
td { overflow-wrap: break-word; }
dd { white-space: pre-line; }
ul { margin: 0; padding-left: 1.1rem; }
table { width: 100%; margin-top: 1rem; border-collapse: collapse; font-size: .94rem; }
th, td { padding: .5rem .8rem .5rem 0; border-top: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { border-top: 0; color: var(--soft); font-weight: 600; }
.signs { display: grid; grid-template-columns: repeat(3, 1fr); gap: 2rem; padding-top: 3.5rem; }
.signs div { border-top: 1px solid var(--ink); padding-top: .3rem; }
.signs span { color: var(--soft); font-size: .85rem; }
footer { margin-top: 3rem; color: var(--soft); font-size: .8rem; }
code { font: .8rem/1.6 ui-monospace, Consolas, monospace; overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  dl { grid-template-columns: 1fr; }
  dd { border-top: 0; padding-top: 0; }
  td { overflow-wrap: anywhere; }
  .signs { grid-template-columns: 1fr; gap: 3rem; }
}
@media print {
  @page { margin: 18mm 16mm; }
  body { padding: 0; max-width: none; font-size: 10.5pt; }
  h2 { margin: 1.3rem 0 .4rem; break-after: avoid; }
  dt, dd, th, td { padding-top: .3rem; padding-bottom: .3rem; }
  .facts { grid-template-columns: repeat(4, 1fr); }
  dt, dd, tr, .last, .facts { break-inside: avoid; }
  .facts div { border: 1px solid var(--line); padding: .5rem .7rem; }
  .facts b { font-size: 1rem; }
}
"""
