"""An ONNX file, ids in.

What is lost against the model: strings (ONNX has no such tokenizer) and the
checks of ids and lengths; onnxruntime itself refuses a row of a table that
does not exist, but takes -1 for the last one.
"""

from importlib.util import find_spec

import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.export.ids_signature import ids_function
from keras_bert.export.onnx_fusion import fuse

# Names of the open sizes, by number of dimensions.
_SIZES = {2: ("batch", "length"), 3: ("batch", "choices", "length")}
# The newest that tf2onnx 1.17 writes. Of the operators in these graphs none
# has changed its meaning since.
_WRITTEN = 18
# The least version of the file format for opset 23.
_FORMAT = 11


def check_onnx(model, opset_version=23):
    """Refuses what `write_onnx` cannot write, before a process is started."""
    if model.compute_dtype != "float32":
        raise invalid(
            "format",
            "a model of dtype float32 for ONNX",
            f"format='onnx' of a {model.compute_dtype} model",
        )
    if opset_version not in range(14, 24):
        raise invalid("opset_version", "an int from 14 to 23", opset_version)
    # Not imported: tf2onnx brings in TensorFlow.
    if not all(map(find_spec, ("onnx", "tf2onnx"))):
        raise ImportError(
            "ONNX files need the extra `onnx`: pip install 'keras3-bert[onnx]'"
        )


def write_onnx(model, target, shapes, opset_version=23):
    """Writes the file `target`; batch and length stay open.

    Attention, LayerNormalization and Gelu are single operators if the opset
    has them (23, 17 and 20).
    """
    import onnx
    import tf2onnx

    tf = tensorflow()
    concrete = ids_function(model, shapes, model._output_name, checks=False)
    specs = [
        tf.TensorSpec(shape, tf.int32, name=name)
        for name, shape in shapes.items()
    ]
    names = list(shapes)

    def positional(*values):
        return concrete(**dict(zip(names, values, strict=True)))

    proto, _ = tf2onnx.convert.from_function(
        tf.function(positional, input_signature=specs),
        input_signature=specs,
        opset=min(opset_version, _WRITTEN),
        custom_op_handlers={"Erfc": (_erfc, [])},
    )
    fuse(proto, opset_version)
    if opset_version > _WRITTEN:
        proto.ir_version = max(proto.ir_version, _FORMAT)
        for one in proto.opset_import:
            if one.domain == "":
                one.version = opset_version
    _name_sizes(proto)
    onnx.checker.check_model(proto)
    onnx.save(proto, str(target))


def _erfc(graph, node, name, args):
    """Erfc, which ONNX lacks and Keras' GELU contains, as 1 - erf."""
    erf = graph.make_node("Erf", node.input)
    one = graph.make_const(f"{name}/one", np.array(1, "float32"))
    outputs = node.output
    graph.remove_node(node.name)
    graph.make_node(
        "Sub", [one.output[0], erf.output[0]], outputs=outputs, name=name
    )


def _name_sizes(proto):
    """Names for the sizes that are open; tf2onnx numbers them."""
    for one in proto.graph.input:
        sizes = one.type.tensor_type.shape.dim
        names = _SIZES.get(len(sizes), ())
        if one.name == "mask_positions":
            names = ("batch", "masks")
        for size, name in zip(sizes, names, strict=False):
            if not size.HasField("dim_value"):
                size.dim_param = name
