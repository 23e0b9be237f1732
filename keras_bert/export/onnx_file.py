"""An ONNX file, ids in.

What is lost against the model: strings (ONNX has no such tokenizer) and the
checks of ids and lengths; onnxruntime itself refuses a row of a table that
does not exist, but takes -1 for the last one.
"""

import numpy as np

from keras_bert._errors import invalid
from keras_bert._tensorflow import tensorflow
from keras_bert.export.ids_signature import ids_function


def write_onnx(model, target, shapes, opset_version=18):
    """Writes the file `target`; batch and length stay open."""
    if model.compute_dtype != "float32":
        raise invalid(
            "format",
            "a model of dtype float32 for ONNX",
            f"format='onnx' of a {model.compute_dtype} model",
        )
    try:
        import tf2onnx
    except ImportError as error:
        raise ImportError(
            "ONNX files need the extra `onnx`: pip install 'keras3-bert[onnx]'"
        ) from error
    tf = tensorflow()
    concrete = ids_function(model, shapes, model._output_name, checks=False)
    specs = [
        tf.TensorSpec(shape, tf.int32, name=name)
        for name, shape in shapes.items()
    ]
    names = list(shapes)

    def positional(*values):
        return concrete(**dict(zip(names, values, strict=True)))

    tf2onnx.convert.from_function(
        tf.function(positional, input_signature=specs),
        input_signature=specs,
        opset=opset_version,
        custom_op_handlers={"Erfc": (_erfc, [])},
        output_path=str(target),
    )


def _erfc(graph, node, name, args):
    """Erfc, which ONNX lacks and Keras' GELU contains, as 1 - erf."""
    erf = graph.make_node("Erf", node.input)
    one = graph.make_const(f"{name}/one", np.array(1, "float32"))
    outputs = node.output
    graph.remove_node(node.name)
    graph.make_node(
        "Sub", [one.output[0], erf.output[0]], outputs=outputs, name=name
    )
