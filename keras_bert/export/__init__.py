"""Models on their way out: SavedModel with strings in, and Keras' formats."""

from keras_bert.export.classification import (
    classification_outputs as classification_outputs,
)
from keras_bert.export.exportable import Exportable as Exportable
from keras_bert.export.saved_model import (
    export_saved_model as export_saved_model,
)
from keras_bert.export.text_signature import (
    text_pair_function as text_pair_function,
)
