"""An exported network as an ONNX graph: from whole images [n, height, width, channels] in [0, 1] to logits."""

from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from awt.export.files import Exported

OPSET = 17
IR_VERSION = 8  # of ONNX's format, the one that came with the opset: older runtimes refuse newer ones


def encode(exported: Exported, shape: tuple[int, int, int], classes: int) -> bytes:
    """The bytes of a checked model, with inputs `images` and outputs `logits`."""
    graph = _Graph()
    convolves = any(layer["kind"] == "conv" for layer in exported.layers)
    for layer in exported.layers:
        kind = layer["kind"]
        if kind == "normalise":
            graph.add("Sub", graph.constant("mean", np.asarray(layer["mean"], np.float32)))
            graph.add("Div", graph.constant("std", np.asarray(layer["std"], np.float32)))
            if convolves:
                graph.add("Transpose", perm=[0, 3, 1, 2])  # ONNX convolves [n, channels, height, width]
        elif kind == "flatten":
            if convolves:
                graph.add("Transpose", perm=[0, 2, 3, 1])
            graph.add("Flatten", axis=1)
        elif kind == "select":
            graph.add("Gather", graph.constant(layer["index"], exported.arrays[layer["index"]]), axis=1)
        elif kind == "relu":
            graph.add("Relu")
        elif kind == "maxpool":
            graph.add("MaxPool", kernel_shape=[2, 2], strides=[2, 2])
        else:
            kernel, bias = (exported.arrays[layer[part]] for part in ("kernel", "bias"))
            if kind == "dense":
                graph.add("Gemm", graph.constant(layer["kernel"], kernel), graph.constant(layer["bias"], bias))
            else:
                before = (layer["size"] - 1) // 2
                after = layer["size"] - 1 - before
                graph.add(
                    "Conv",
                    graph.constant(layer["kernel"], np.ascontiguousarray(kernel.transpose(3, 2, 0, 1))),
                    graph.constant(layer["bias"], bias),
                    pads=[before, before, after, after],
                )
    return graph.encode(shape, classes)


class _Graph:
    """A chain of nodes, each on the output of the one before it."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.last = "images"

    def constant(self, name: str, array: np.ndarray) -> str:
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def add(self, operator: str, *constants: str, **attributes: Any) -> None:
        output = f"{operator.lower()}{len(self.nodes) + 1}"
        self.nodes.append(helper.make_node(operator, [self.last, *constants], [output], name=output, **attributes))
        self.last = output

    def encode(self, shape: tuple[int, int, int], classes: int) -> bytes:
        self.nodes[-1].output[0] = "logits"
        images = helper.make_tensor_value_info("images", TensorProto.FLOAT, ["n", *shape])
        logits = helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", classes])
        graph = helper.make_graph(self.nodes, "awt", [images], [logits], self.constants)
        opsets = [helper.make_opsetid("", OPSET)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="awt")
        onnx.checker.check_model(model, full_check=True)
        return bytes(model.SerializeToString(deterministic=True))
