"""The number of the next epoch, outside of the data pipeline."""


class EpochCell:
    """Holds the epoch that the next iteration of a dataset will be.

    Every iteration of a `pretraining_dataset` takes the number and adds one,
    so that no two epochs are alike. Keras looks at one batch before it trains
    and takes a number by that; training code therefore sets the number at the
    start of every epoch:

    ```python
    dataset = keras_bert.pretraining_dataset(files, tokenizer)
    dataset.keras_bert_epoch.value = 3  # the next iteration is epoch 3
    ```

    Args:
        value: integer, the first epoch.
    """

    def __init__(self, value=0):
        self.value = value

    def __repr__(self):
        return f"EpochCell({self.value})"
