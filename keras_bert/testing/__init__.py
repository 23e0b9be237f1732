from keras_bert.testing.check_layer import check_layer
from keras_bert.testing.check_model import check_model
from keras_bert.testing.check_packing import check_fully_padded_row
from keras_bert.testing.check_packing import check_packing_invariance
from keras_bert.testing.check_packing import check_padding_invariance
from keras_bert.testing.gradients import gradients
from keras_bert.testing.reloading import check_recorded
from keras_bert.testing.reloading import expect
from keras_bert.testing.reloading import record
from keras_bert.testing.tiny_vocabulary import tiny_vocabulary

__all__ = [
    "check_fully_padded_row",
    "check_layer",
    "check_model",
    "check_packing_invariance",
    "check_padding_invariance",
    "check_recorded",
    "expect",
    "gradients",
    "record",
    "tiny_vocabulary",
]
