"""Large batches in parts: the same gradient with less memory."""

from keras_bert._errors import invalid
from keras_bert.training._accumulation import accumulated_step
from keras_bert.training.distribution.multi_worker import with_an_axis


class Accumulation:
    """Mixin for keras.Model: each batch is worked through in equal parts.

    `compile(accumulate=n)` splits every batch of `fit` into n parts. Their
    gradients are summed before the one update. Each loss is divided by the
    weights of the whole batch (for masked tokens: by their number in all
    parts and on all replicas), so the update is that of the undivided batch,
    however unevenly the masked tokens fall; the mean of the means of the
    parts, which Keras' `gradient_accumulation_steps` takes, is not.

    It stands before `AutoCompile` in the list of bases, and needs losses that
    are weighted means, as the automatic ones of the pretraining models are.
    """

    accumulate = 1

    def compile(self, *arguments, accumulate=1, **keras_arguments):
        if (
            isinstance(accumulate, bool)
            or not hasattr(accumulate, "__index__")
            or accumulate < 1
        ):
            raise invalid("accumulate", "an integer from 1", accumulate)
        super().compile(*arguments, **keras_arguments)
        self.accumulate = int(accumulate)
        if accumulate > 1 and "loss" not in self._compiled_with:
            raise invalid(
                "accumulate", '1 with a loss other than "auto"', accumulate
            )

    def get_compile_config(self):
        config = super().get_compile_config()
        if config and self.accumulate > 1:
            config["accumulate"] = self.accumulate
        return config

    def train_step(self, *arguments):
        if self.accumulate == 1:
            return super().train_step(*arguments)
        # `MultiWorker` comes after this class and has not seen the result.
        return with_an_axis(accumulated_step(self, self.accumulate, *arguments))
