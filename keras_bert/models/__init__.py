"""Backbone, pretrainer and task models with their preprocessors."""

from keras_bert.models.bert_backbone import BertBackbone as BertBackbone
from keras_bert.models.bert_masked_lm import BertMaskedLM as BertMaskedLM
from keras_bert.models.bert_masked_lm_preprocessor import (
    BertMaskedLMPreprocessor as BertMaskedLMPreprocessor,
)
from keras_bert.models.bert_pretrainer import BertPretrainer as BertPretrainer
from keras_bert.models.bert_pretrainer_preprocessor import (
    BertPretrainerPreprocessor as BertPretrainerPreprocessor,
)
from keras_bert.models.bert_text_classifier import (
    BertTextClassifier as BertTextClassifier,
)
from keras_bert.models.bert_text_classifier_preprocessor import (
    BertTextClassifierPreprocessor as BertTextClassifierPreprocessor,
)
from keras_bert.models.load import load as load
from keras_bert.tokenizers import BertTokenizer as BertTokenizer
