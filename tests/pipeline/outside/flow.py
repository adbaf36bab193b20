"""A workflow of a user's own: powers of numbers, by many small steps, and their sum on a page."""

from collections.abc import Mapping
from typing import Annotated, Any

import jax.numpy as jnp
from annotated_types import Ge, MinLen

from awt.artifacts import decode_json, encode_json
from awt.loop import Loop, Watch, run
from awt.options import options
from awt.params.common import Common
from awt.report import css
from awt.report.markup import element, page, section, table
from awt.runtime.cell import Cell
from awt.workflows.workflow import Inputs, Outs, Run, Stage, Workflow

POWERS = "artifacts/powers.json"


@options
class Params(Common):
    numbers: Annotated[tuple[int, ...], MinLen(1)]
    exponent: Annotated[int, Ge(1)] = 2


def power(params: Mapping[str, Any], inputs: Mapping[str, bytes], watch: Watch) -> dict[str, bytes]:
    """Cell: a number to a power, a factor an epoch."""

    def advance(value: Any, epoch: int, start: int, stop: int) -> Any:
        return value

    def close_epoch(value: Any, epoch: int) -> tuple[Any, dict[str, float]]:
        return value * params["number"], {"value": float(value) * params["number"]}

    value, _ = run(Loop(params["exponent"], 1, advance, close_epoch), jnp.ones(()), watch)
    return {"power.json": encode_json({"value": float(value)})}


def powers(run: Run, params: Params, inputs: Inputs) -> Outs:
    asked = {number: {"number": number, "exponent": params.exponent} for number in params.numbers}
    entries = run([Cell("default", f"power of {number}", "flow:power", call) for number, call in asked.items()])

    def rest() -> Mapping[str, bytes]:
        values = [decode_json(entry.read("power.json"), "power.json")["value"] for entry in entries]
        return {POWERS: encode_json(dict(zip(map(str, params.numbers), values, strict=True)))}

    return Outs(rest=rest)


def report(run: Run, params: Params, inputs: Inputs) -> Outs:
    def rest() -> Mapping[str, bytes]:
        values = inputs.json(POWERS)
        rows = [[name, f"{value:g}"] for name, value in values.items()]
        body = section(
            "Powers",
            table(("number", "power"), [rows], class_="results"),
            element("p", f"sum {sum(values.values()):g}"),
        )
        return {"report/index.html": page("Powers", css.CSS, body).encode()}

    return Outs(rest=rest)


WORKFLOW = Workflow(
    "powers",
    Params,
    (
        Stage("powers", "Compute the powers.", "flow:powers", params=("numbers", "exponent"), outs=(POWERS,)),
        Stage("report", "Their page.", "flow:report", params=(), reads=(POWERS,), outs=("report",)),
    ),
)
