"""Keeps the weights of the epoch with the best score on held-out data."""

import keras


class BestWeights(keras.callbacks.Callback):
    """Measures after every epoch, stops early, puts the best weights back.

    Unlike `keras.callbacks.EarlyStopping` it takes any measure, such as an
    official metric over whole texts, and it puts the best weights back even
    if the run goes on to its last epoch.

    Args:
        measure: callable without arguments that gives a number; greater is
            better. It may call `predict`.
        patience: int or None. Training stops after so many epochs without a
            better score; with None it never does.
        name: key of the score in the logs.

    Attributes:
        scores: the score of every epoch.
        best_epoch: number of the best one, from 0.
    """

    def __init__(self, measure, patience=None, name="dev_score"):
        super().__init__()
        self.measure = measure
        self.patience = patience
        self.name = name

    def on_train_begin(self, logs=None):
        self.scores = []
        self.best_epoch = None
        self._weights = None

    def on_epoch_end(self, epoch, logs=None):
        score = float(self.measure())
        if logs is not None:
            logs[self.name] = score
        if self.best_epoch is None or score > self.scores[self.best_epoch]:
            self.best_epoch = len(self.scores)
            self._weights = self.model.get_weights()
        self.scores.append(score)
        waited = len(self.scores) - 1 - self.best_epoch
        if self.patience is not None and waited >= self.patience:
            self.model.stop_training = True

    def on_train_end(self, logs=None):
        if self._weights is not None:
            self.model.set_weights(self._weights)
            self._weights = None
