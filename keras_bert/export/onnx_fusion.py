"""Chains of small ONNX nodes replaced by the one operator that they spell.

    LayerNormalization (opset 17)   11 nodes     Gelu (20)   6 nodes
    Attention (23)                  8 nodes

onnxruntime has its own search for such chains, which knows those that PyTorch
and old TensorFlow write and finds none of Keras'. These operators are ONNX's
own, so that the file stays readable for every runtime of its opset.
"""

import numpy as np

# The first opset that has the operator.
SINCE = {"LayerNormalization": 17, "Gelu": 20, "Attention": 23}


def fuse(model, opset):
    """Replaces what `opset` has an operator for."""
    graph = _Graph(model)
    for name, find in (
        ("LayerNormalization", _layer_norm),
        ("Gelu", _gelu),
        ("Attention", _attention),
    ):
        if opset < SINCE[name]:
            continue
        for node in list(graph.nodes):
            find(graph, node)
    graph.drop_unused()


class _Graph:
    """A graph with its ways up and down."""

    def __init__(self, model):
        import onnx

        self.onnx = onnx
        self.graph = model.graph
        self.nodes = model.graph.node
        self.constants = {one.name: one for one in model.graph.initializer}
        self.index()

    def index(self):
        self.maker = {name: n for n in self.nodes for name in n.output}
        self.users = {}
        for node in self.nodes:
            for name in node.input:
                self.users.setdefault(name, []).append(node)

    def up(self, name, operator):
        """The node that makes a value, if it is one of this operator."""
        node = self.maker.get(name)
        return node if node is not None and node.op_type == operator else None

    def down(self, node, operator):
        """The nodes of this operator that use a node's first output."""
        users = self.users.get(node.output[0], [])
        return [user for user in users if user.op_type == operator]

    def value(self, name):
        """A constant as an array, or None."""
        one = self.constants.get(name)
        return None if one is None else self.onnx.numpy_helper.to_array(one)

    def split(self, node, test):
        """Inputs of a node of two: the one that passes, and the other."""
        first, second = node.input
        if test(first):
            return first, second
        return (second, first) if test(second) else (None, None)

    def constant(self, name, array):
        one = self.onnx.numpy_helper.from_array(array, name)
        self.graph.initializer.append(one)
        self.constants[name] = one
        return name

    def replace(self, old, operator, inputs, before=(), **attributes):
        """Makes the output of `old` by `operator`, in the place of `old`."""
        make = self.onnx.helper.make_node
        name = old.output[0]
        node = make(
            operator, inputs, [name], f"{name}/{operator}", **attributes
        )
        position = list(self.nodes).index(old)
        del self.nodes[position]
        for new in (node, *before[::-1]):
            self.nodes.insert(position, new)
        self.index()

    def drop_unused(self):
        """Removes what no output needs any more."""
        outputs = {one.name for one in self.graph.output}
        while True:
            used = {name for n in self.nodes for name in n.input} | outputs
            dead = [n for n in self.nodes if not used & set(n.output)]
            if not dead:
                break
            for node in dead:
                self.nodes.remove(node)
        for one in [c for c in self.graph.initializer if c.name not in used]:
            self.graph.initializer.remove(one)


def _layer_norm(graph, node):
    """x * m + (beta - mean * m), m = gamma / sqrt(variance + epsilon)."""
    if node.op_type != "Reciprocal":
        return
    root = graph.up(node.input[0], "Sqrt")
    shifted = root is not None and graph.up(root.input[0], "Add")
    scaled = graph.down(node, "Mul")
    if not shifted or len(scaled) != 1:
        return
    gamma, _ = graph.split(scaled[0], lambda x: x in graph.constants)
    epsilon, variance = graph.split(shifted, lambda x: x in graph.constants)
    products = graph.down(scaled[0], "Mul")
    if gamma is None or epsilon is None or len(products) != 2:
        return
    negative = [
        (one, name)
        for one in products
        for name in one.input
        if graph.up(name, "Neg") is not None
    ]
    if len(negative) != 1:
        return
    shift, name = negative[0]
    mean = graph.up(graph.maker[name].input[0], "ReduceMean")
    straight = products[1] if products[0] is shift else products[0]
    x = next(one for one in straight.input if one != scaled[0].output[0])
    added = graph.down(shift, "Add")
    if mean is None or mean.input[0] != x or len(added) != 1:
        return
    beta, _ = graph.split(added[0], lambda x: x in graph.constants)
    result = added if beta is None else graph.down(added[0], "Add")
    if len(result) != 1 or straight.output[0] not in result[0].input:
        return
    gamma = graph.value(gamma).reshape(-1)
    # tf2onnx leaves a sum with zeros out: the beta of a new model.
    beta = gamma * 0 if beta is None else graph.value(beta).reshape(-1)
    name = result[0].output[0]
    scale, bias = (
        graph.constant(f"{name}/{word}", one)
        for word, one in (("scale", gamma), ("bias", beta))
    )
    graph.replace(
        result[0],
        "LayerNormalization",
        [x, scale, bias],
        axis=-1,
        epsilon=float(graph.value(epsilon).reshape(-1)[0]),
    )


def _gelu(graph, node):
    """0.5 * x * (1 - erf(-x / sqrt(2)))."""
    if node.op_type != "Erf":
        return
    scaled = graph.up(node.input[0], "Mul")
    if scaled is None:
        return
    root, negative = graph.split(scaled, lambda x: x in graph.constants)
    negative = graph.up(negative, "Neg")
    if negative is None or not _is(graph, root, 0.5**0.5):
        return
    x = negative.input[0]
    for one in graph.down(node, "Sub"):
        for product in graph.down(one, "Mul"):
            _, other = graph.split(product, lambda x: x == one.output[0])  # noqa: B023
            half = graph.up(other, "Mul")
            if half is None or x not in half.input:
                continue
            number, _ = graph.split(half, lambda y: y in graph.constants)
            if _is(graph, one.input[0], 1.0) and _is(graph, number, 0.5):
                graph.replace(product, "Gelu", [x])
                return


def _is(graph, name, number):
    value = None if name is None else graph.value(name)
    return value is not None and np.allclose(value, number, rtol=1e-6)


def _attention(graph, node):
    """softmax(scale * q k' + bias) v, of [batch, length, heads, size]."""
    if node.op_type != "Softmax":
        return
    added = graph.up(node.input[0], "Add")
    if added is None:
        return
    logits, bias = graph.split(added, lambda x: graph.up(x, "MatMul"))
    product = graph.down(node, "MatMul")
    if logits is None or len(product) != 1:
        return
    query, key = (
        graph.up(name, "Transpose") for name in graph.maker[logits].input
    )
    value = graph.up(product[0].input[1], "Transpose")
    scaled = query is not None and graph.up(query.input[0], "Mul")
    if not scaled or key is None or value is None:
        return
    scale, query = graph.split(scaled, lambda x: x in graph.constants)
    if scale is None or product[0].input[0] != node.output[0]:
        return
    name = product[0].output[0]
    before = [
        graph.onnx.helper.make_node(
            "Transpose",
            [x],
            [f"{name}/{word}"],
            f"{name}/{word}",
            perm=[0, 2, 1, 3],
        )
        for word, x in (
            ("query", query),
            ("key", key.input[0]),
            ("value", value.input[0]),
        )
    ]
    graph.replace(
        product[0],
        "Attention",
        [*(one.output[0] for one in before), bias],
        before=before,
        scale=float(graph.value(scale).reshape(-1)[0]),
    )
