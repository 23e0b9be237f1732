"""Tells the data which epoch begins."""

import keras


class EpochSetter(keras.callbacks.Callback):
    """Writes the number of each epoch into a holder that the data reads.

    `pretraining_dataset` draws other pairs and masks in every epoch. Its
    order must follow the epochs of `fit` even when `initial_epoch` is not 0,
    or the run that goes on would repeat the first epochs.

    Args:
        holder: Object with an attribute `value`.
    """

    def __init__(self, holder):
        super().__init__()
        self.holder = holder

    def on_epoch_begin(self, epoch, logs=None):
        self.holder.value = epoch
