"""`export` for the backbone and the task models."""

import keras

from keras_bert._errors import invalid
from keras_bert.export.by_tensorflow import export_by_tensorflow

# The words of a format, and the arguments that Keras takes for it. Those of
# the JAX backend have no effect where TensorFlow writes.
OPTIONS = {
    "tf_saved_model": {"is_static", "jax2tf_kwargs"},
    "onnx": {"opset_version"},
    "litert": set(),
}
FORMATS = (*OPTIONS, "openvino", "torch")


class Exportable:
    """Mixin of Keras models that are called on a dict with `token_ids`.

    It stands before `keras.Model` in the bases. The model has `input`, a dict
    of int32 `keras.Input`s; they are the inputs of what is exported.
    """

    # Name of the exported output of a model that returns one array.
    _output_name = "logits"

    def _serving_signature(self):
        """The `Signature` of `serving_default`; `None` for ids alone."""
        return None

    def export(
        self,
        filepath,
        format="tf_saved_model",
        verbose=None,
        input_signature=None,
        **kwargs,
    ):
        """Writes the model for serving, without optimizer.

        Args:
            filepath: str or path. A folder, absent or empty, for
                `"tf_saved_model"`; a file for the other formats.
            format: `"tf_saved_model"` (or `"saved_model"`), `"onnx"`,
                `"litert"`, or one of Keras' other words: `"openvino"`,
                `"torch"`. The first three are written by TensorFlow under
                every backend, in a child process where another one runs.
            verbose: bool. Whether to say what was written.
            input_signature: dict of input name -> `keras.InputSpec` or
                `tf.TensorSpec`. The default is int32 with any number of rows
                of any length.
            **kwargs: Keras' further arguments of the format:
                `opset_version` of ONNX. Those of the JAX backend
                (`is_static`, `jax2tf_kwargs`) are accepted and have no
                effect on a SavedModel.

        A SavedModel has two signatures. `serving_default` takes strings when
        the model has a preprocessor; `ids` takes `token_ids`, `segment_ids`
        and `padding_mask` (`model.input`) and refuses ids and lengths out of
        range. To load it, `tensorflow` and `tensorflow_text` must be
        imported, nothing else. TensorFlow Serving warms up with the requests
        in its `assets.extra`. Defaults (`text_pair`, `row_lengths`) are
        filled in by TensorFlow Serving and by `loaded.serve`; Python's
        `loaded.signatures["serving_default"]` wants them spelled out.

        ONNX and LiteRT files take ids alone, with any number of rows of any
        length, and lose the strings and the checks; see `onnx_file.py` and
        `litert_file.py`.

        Raises:
            ValueError: an unknown format, a `filepath` that is taken, or a
                model of half precision for ONNX.
            ImportError: a package of the extra `onnx` is missing.
            RuntimeError: the child process that writes under JAX or PyTorch
                failed; its errors are shown.
        """
        format = "tf_saved_model" if format == "saved_model" else format
        if format not in FORMATS:
            raise invalid("format", f"one of {', '.join(FORMATS)}", format)
        shapes = _shapes(self.input, input_signature)
        if format not in OPTIONS:
            if input_signature is None:
                input_signature = [
                    {
                        name: keras.InputSpec(shape=shape, dtype="int32")
                        for name, shape in shapes.items()
                    }
                ]
            return super().export(
                filepath, format, verbose, input_signature, **kwargs
            )
        unknown = sorted(set(kwargs) - OPTIONS[format])
        if unknown:
            raise TypeError(
                f"export() got unexpected arguments for {format}: {unknown}"
            )
        if format == "tf_saved_model":
            kwargs = {}
        export_by_tensorflow(self, filepath, format, shapes, kwargs)
        if verbose:
            print(f"Saved artifact at '{filepath}'.")


def _shapes(inputs, signature):
    """{name: shape} of the inputs, as the signature narrows it."""
    if isinstance(signature, list | tuple) and len(signature) == 1:
        signature = signature[0]
    if signature is None:
        signature = inputs
    if not isinstance(signature, dict) or "token_ids" not in signature:
        raise invalid(
            "input_signature", f"a dict of {', '.join(inputs)}", signature
        )
    unknown = sorted(set(signature) - set(inputs))
    if unknown:
        raise invalid(
            "input_signature", f"a dict of {', '.join(inputs)}", unknown
        )
    return {name: list(spec.shape) for name, spec in signature.items()}
