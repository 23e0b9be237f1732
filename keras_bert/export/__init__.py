"""Models on their way out: SavedModel with strings in, ONNX, LiteRT."""

from keras_bert.export.answer_signature import (
    answer_signature as answer_signature,
)
from keras_bert.export.choice_signature import (
    choice_signature as choice_signature,
)
from keras_bert.export.classification import (
    classification_outputs as classification_outputs,
)
from keras_bert.export.exportable import Exportable as Exportable
from keras_bert.export.mask_signature import mask_signature as mask_signature
from keras_bert.export.signature import Signature as Signature
from keras_bert.export.text_signature import (
    text_pair_signature as text_pair_signature,
)
from keras_bert.export.text_signature import text_signature as text_signature
from keras_bert.export.word_signature import word_signature as word_signature
