"""`compile("auto")`: what the user leaves open comes from the recipe."""

import warnings

import keras

from keras_bert._errors import invalid
from keras_bert.training._backend import row_gradients
from keras_bert.training.adamw import AdamW
from keras_bert.training.epoch_setter import EpochSetter
from keras_bert.training.recipes import recipe_optimizer
from keras_bert.training.recipes import steps_per_epoch_of
from keras_bert.training.warmup_decay import WarmupDecay


class AutoCompile:
    """Mixin for keras.Model: a model that compiles itself by its recipe.

    It stands before `keras.Model` in the list of bases. The model calls
    `self.compile()` at the end of its constructor and `self._prepare_fit()`
    in its `fit`.

    A subclass may set or override:

        _recipe: "fine_tuning" or "pretraining".
        _auto_loss(): the loss for `loss="auto"`.
        _auto_metrics(): metrics that count every example alike.
        _auto_weighted_metrics(): metrics that take sample weights.

    Loss and metrics are made by the model itself, so a reloaded model makes
    them anew. The optimizer is stored with its state.
    """

    _recipe = "fine_tuning"
    _compiled_with = ()

    def _auto_loss(self):
        return None

    def _auto_metrics(self):
        return None

    def _auto_weighted_metrics(self):
        return None

    def compile(
        self,
        optimizer="auto",
        loss="auto",
        *,
        metrics="auto",
        weighted_metrics="auto",
        learning_rate=None,
        **keras_arguments,
    ):
        """Configures training; what stays "auto" comes from the recipe.

        Args:
            optimizer: "auto" (AdamW with warm-up and linear decay over the
                steps of each `fit`), or as in Keras.
            loss: "auto" or as in Keras.
            metrics: "auto" or as in Keras.
            weighted_metrics: "auto" or as in Keras. "auto" adds nothing where
                `metrics` is given.
            learning_rate: The peak of the recipe's schedule, or a schedule
                that replaces it. Only with optimizer "auto".
            **keras_arguments: `loss_weights`, `jit_compile`,
                `steps_per_execution` and the others of Keras.

        Raises:
            ValueError: If `learning_rate` comes with an own optimizer.
        """
        auto = []
        if _is_auto(optimizer):
            auto.append("optimizer")
            optimizer = recipe_optimizer(self._recipe, learning_rate)
        elif learning_rate is not None:
            raise invalid(
                "learning_rate",
                'None with an own optimizer (only optimizer="auto" takes it)',
                learning_rate,
            )
        if _is_auto(loss):
            auto.append("loss")
            loss = self._auto_loss()
        if _is_auto(weighted_metrics):
            auto.append("weighted_metrics")
            weighted_metrics = None
            if _is_auto(metrics):
                weighted_metrics = self._auto_weighted_metrics()
        if _is_auto(metrics):
            auto.append("metrics")
            metrics = self._auto_metrics()
        super().compile(
            optimizer=optimizer,
            loss=loss,
            metrics=metrics,
            weighted_metrics=weighted_metrics,
            **keras_arguments,
        )
        self._compiled_with = tuple(auto)
        self._jit_compile_asked = keras_arguments.get("jit_compile", "auto")

    def train_step(self, *arguments):
        if type(self.optimizer) is not AdamW or self.jit_compile:
            return super().train_step(*arguments)
        with row_gradients(self.optimizer):
            return super().train_step(*arguments)

    def get_compile_config(self):
        config = super().get_compile_config()
        if not config:
            return config
        for name in self._compiled_with:
            if name != "optimizer":
                config[name] = "auto"
        config["auto_optimizer"] = "optimizer" in self._compiled_with
        config["optimizer_built"] = bool(
            self.optimizer is not None and self.optimizer.built
        )
        # Keras stores its own answer to "auto", which is that of the backend
        # that saved, not of the one that loads.
        config["jit_compile"] = self._jit_compile_asked
        return config

    def compile_from_config(self, config):
        config = keras.saving.deserialize_keras_object(dict(config))
        auto_optimizer = config.pop("auto_optimizer", False)
        optimizer_built = config.pop("optimizer_built", True)
        self.compile(**config)
        if auto_optimizer:
            self._compiled_with += ("optimizer",)
        # The state is read into existing variables. An optimizer that was
        # saved before its first step has none.
        if optimizer_built and self.optimizer is not None and self.built:
            self.optimizer.build(self.trainable_variables)

    @property
    def _schedule(self):
        """The WarmupDecay of the optimizer, or None."""
        optimizer = _inner(getattr(self, "optimizer", None))
        schedule = getattr(optimizer, "_learning_rate", None)
        return schedule if isinstance(schedule, WarmupDecay) else None

    def _prepare_fit(
        self,
        x,
        batch_size=None,
        steps_per_epoch=None,
        epochs=1,
        initial_epoch=0,
        validation_split=0.0,
        lay_schedule=True,
    ):
        """Lays the schedule over this fit; gives the callbacks it needs.

        The arguments are those that `fit` passes to Keras, `x` being the
        very object that it was handed. `lay_schedule=False` goes on with the
        learning rate of a run that was resumed.
        """
        schedule = self._schedule
        if (
            lay_schedule
            and schedule is not None
            and schedule.total_steps is None
        ):
            steps = steps_per_epoch_of(
                x, batch_size, steps_per_epoch, validation_split
            )
            self._lay_schedule(schedule, steps, epochs, initial_epoch)
        epoch_variable = getattr(x, "keras_bert_epoch", None)
        return [] if epoch_variable is None else [EpochSetter(epoch_variable)]

    def _lay_schedule(self, schedule, steps, epochs, initial_epoch):
        optimizer = _inner(self.optimizer)
        every = optimizer.gradient_accumulation_steps or 1
        schedule.batches_per_step = every
        done = int(keras.ops.convert_to_numpy(optimizer.iterations))
        if initial_epoch > 0 and schedule.known_span is not None:
            # A later epoch goes on with the line that its run has begun.
            start, total = schedule.known_span
            if done + (epochs - initial_epoch) * steps // every > start + total:
                warnings.warn(
                    f"initial_epoch={initial_epoch} goes on with the learning "
                    f"rate of a run of {total} steps, which ends before this "
                    "fit does: the rate is 0 from there on. Fit with "
                    "initial_epoch=0 for a new warm-up and decay.",
                    stacklevel=4,
                )
            return
        before = initial_epoch * steps // every
        schedule.set_span(done - before, max(1, epochs * steps // every))
        if not schedule.is_tracked_by(optimizer):
            # The compiled step would keep the old numbers.
            self.train_function = None


def _is_auto(value):
    return isinstance(value, str) and value == "auto"


def _inner(optimizer):
    """The optimizer that a LossScaleOptimizer wraps, or the one given."""
    return getattr(optimizer, "inner_optimizer", optimizer)
