"""A workflow as DVC sees it: the text of its dvc.yaml. A test keeps the repository's equal to its workflow."""

from awt.workflows.workflow import CODE, EFFECTIVE, Stage, Workflow

# its script is not code.py: scripts come first on sys.path, and Python has a module `code` of its own
_HEAD = """\
# The {name} workflow, as awt.workflows.pipeline writes it. The stage `code` runs always: it writes the digest of the
# code behind every other stage, and the parameters with everything filled in; the others depend on its entries.

stages:
  code:
    desc: Write the digest of the code behind each stage, and the effective parameters.
    cmd: python ${{root}}/{scripts}/settle.py
    always_changed: true
    outs:
      - {code}
      - {effective}
"""


def dvc_yaml(workflow: Workflow, scripts: str | None = None) -> str:
    """`scripts`: the folder of the stage scripts, from the repository."""
    folder = scripts or ("stages" if workflow.name == "tickets" else f"stages/{workflow.name}")
    parts = [_HEAD.format(name=workflow.name, scripts=folder, code=CODE, effective=EFFECTIVE)]
    parts += [_stage(stage, folder) for stage in workflow.stages]
    if workflow.plots:
        parts.append(workflow.plots.strip() + "\n")
    return "\n".join(parts)


def _stage(stage: Stage, scripts: str) -> str:
    lines = [f"  {stage.name}:", f"    desc: {stage.about}", f"    cmd: python ${{root}}/{scripts}/{stage.name}.py"]
    if stage.reads:
        lines += ["    deps:", *(f"      - {path}" for path in stage.reads)]
    lines += ["    params:", f"      - {CODE}:", f"          - {stage.name}"]
    if stage.params:
        lines += [f"      - {EFFECTIVE}:", *(f"          - {key}" for key in stage.params)]
    lines += ["    outs:", *(f"      - {path}" for path in stage.every_out if path not in stage.metrics)]
    if stage.metrics:
        lines += ["    metrics:", *(f"      - {path}" for path in stage.metrics)]
    return "\n".join(lines) + "\n"
