"""`export` for the backbone and the task models."""

import keras

from keras_bert._errors import invalid
from keras_bert.export.saved_model import export_saved_model

FORMATS = ("tf_saved_model", "onnx", "openvino", "litert", "torch")


class Exportable:
    """Mixin of Keras models that are called on a dict with `token_ids`.

    It stands before `keras.Model` in the bases. The model has `input`, a dict
    of int32 `keras.Input`s; they are the inputs of what is exported.
    """

    # Name of the exported output of a model that returns one array.
    _output_name = "logits"

    def _serving_function(self):
        """The tf.function of `serving_default`; `None` for ids alone."""
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
            format: `"tf_saved_model"` (or `"saved_model"`), or one of Keras'
                other words: `"onnx"`, `"openvino"`, `"litert"`, `"torch"`.
            verbose: bool. Whether to say what was written.
            input_signature: dict of input name -> `keras.InputSpec` or
                `tf.TensorSpec`. The default is int32 with any number of rows
                of any length.
            **kwargs: Keras' further arguments of the format. Those of the JAX
                backend (`is_static`, `jax2tf_kwargs`) are accepted and have
                no effect on a SavedModel, which TensorFlow itself writes
                under every backend.

        A SavedModel has two signatures. `serving_default` takes strings when
        the model has a preprocessor; `ids` takes `token_ids`, `segment_ids`
        and `padding_mask` (`model.input`) and refuses ids and lengths out of
        range. To load it, `tensorflow` and `tensorflow_text` must be
        imported, nothing else.

        Raises:
            ValueError: an unknown format, or a `filepath` that is taken.
            RuntimeError: the child process that writes a SavedModel under
                JAX or PyTorch failed; its errors are shown.
        """
        format = "tf_saved_model" if format == "saved_model" else format
        if format not in FORMATS:
            raise invalid("format", f"one of {', '.join(FORMATS)}", format)
        shapes = _shapes(self.input, input_signature)
        if format != "tf_saved_model":
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
        unknown = sorted(set(kwargs) - {"is_static", "jax2tf_kwargs"})
        if unknown:
            raise TypeError(
                f"export() got unexpected arguments for {format}: {unknown}"
            )
        export_saved_model(
            self,
            filepath,
            shapes,
            self._serving_function,
            self._output_name,
        )
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
