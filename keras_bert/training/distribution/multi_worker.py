"""MultiWorkerMirroredStrategy under Keras 3: two overrides.

Keras 3.15 does not work with the strategy
(https://github.com/keras-team/keras/issues/20585, open in 2026), for two
reasons:

1. `_maybe_symbolic_build` hands the whole structure of a batch to
   `strategy.reduce`, which takes one value.
2. The losses and metrics of a step are reduced over axis 0, which a scalar
   does not have.

Both overrides do nothing outside of that strategy. The test
`test_keras_still_needs_the_multi_worker_overrides` fails as soon as Keras can
do without them.
"""

from keras import ops
from keras import tree

from keras_bert.training.distribution._devices import current


class MultiWorker:
    """Mixin for keras.Model, before it in the list of bases."""

    def _maybe_symbolic_build(self, iterator=None, data_batch=None):
        devices = current()
        strategy = devices and devices.strategy
        if strategy is not None and iterator is not None:
            data_batch = next(next(iter(iterator))[-1])
            iterator = None
        if strategy is not None:
            # Of each value the part that the first replica here works on.
            data_batch = tree.map_structure(
                lambda value: strategy.experimental_local_results(value)[0],
                data_batch,
            )
        super()._maybe_symbolic_build(iterator, data_batch)

    def train_step(self, *arguments):
        return with_an_axis(super().train_step(*arguments))

    def test_step(self, *arguments):
        return with_an_axis(super().test_step(*arguments))


def with_an_axis(logs):
    """The results of a step as that strategy can reduce them."""
    devices = current()
    if devices is None or devices.strategy is None or devices.processes == 1:
        return logs
    return tree.map_structure(
        lambda value: ops.reshape(ops.convert_to_tensor(value), (1,)), logs
    )
