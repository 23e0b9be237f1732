"""BERT, end to end, in Keras 3."""

from keras_bert._foreign import refuse_foreign_package

# First of all: another author's package may have installed this module name.
refuse_foreign_package()

from keras_bert import data as data
from keras_bert import layers as layers
from keras_bert import models as models
from keras_bert import tasks as tasks
from keras_bert import tokenizers as tokenizers
from keras_bert.checkpoints import convert as convert
from keras_bert.data import pretraining_dataset as pretraining_dataset
from keras_bert.models import BertBackbone as BertBackbone
from keras_bert.models import BertFeatureTagger as BertFeatureTagger
from keras_bert.models import BertMaskedLM as BertMaskedLM
from keras_bert.models import (
    BertMaskedLMPreprocessor as BertMaskedLMPreprocessor,
)
from keras_bert.models import BertPretrainer as BertPretrainer
from keras_bert.models import (
    BertPretrainerPreprocessor as BertPretrainerPreprocessor,
)
from keras_bert.models import BertTextClassifier as BertTextClassifier
from keras_bert.models import (
    BertTextClassifierPreprocessor as BertTextClassifierPreprocessor,
)
from keras_bert.models import BertMultipleChoice as BertMultipleChoice
from keras_bert.models import (
    BertMultipleChoicePreprocessor as BertMultipleChoicePreprocessor,
)
from keras_bert.models import BertQuestionAnswerer as BertQuestionAnswerer
from keras_bert.models import (
    BertQuestionAnswererPreprocessor as BertQuestionAnswererPreprocessor,
)
from keras_bert.models import BertTextEmbedder as BertTextEmbedder
from keras_bert.models import (
    BertTextEmbedderPreprocessor as BertTextEmbedderPreprocessor,
)
from keras_bert.models import BertTokenClassifier as BertTokenClassifier
from keras_bert.models import (
    BertTokenClassifierPreprocessor as BertTokenClassifierPreprocessor,
)
from keras_bert.models import load as load
from keras_bert.tokenizers import BertTokenizer as BertTokenizer
from keras_bert.training import AdamW as AdamW
from keras_bert.training import MaskedLMLoss as MaskedLMLoss
from keras_bert.training import WarmupDecay as WarmupDecay
from keras_bert.training import distribute as distribute
from keras_bert.training import metrics as metrics

__version__ = "0.1.0"
