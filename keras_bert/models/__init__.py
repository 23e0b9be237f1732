"""Backbone, pretrainer and task models with their preprocessors."""

from keras_bert.models.bert_backbone import BertBackbone as BertBackbone
from keras_bert.models.bert_feature_tagger import (
    BertFeatureTagger as BertFeatureTagger,
)
from keras_bert.models.bert_masked_lm import BertMaskedLM as BertMaskedLM
from keras_bert.models.bert_masked_lm_preprocessor import (
    BertMaskedLMPreprocessor as BertMaskedLMPreprocessor,
)
from keras_bert.models.bert_multiple_choice import (
    BertMultipleChoice as BertMultipleChoice,
)
from keras_bert.models.bert_multiple_choice_preprocessor import (
    BertMultipleChoicePreprocessor as BertMultipleChoicePreprocessor,
)
from keras_bert.models.bert_pretrainer import BertPretrainer as BertPretrainer
from keras_bert.models.bert_pretrainer_preprocessor import (
    BertPretrainerPreprocessor as BertPretrainerPreprocessor,
)
from keras_bert.models.bert_question_answerer import (
    BertQuestionAnswerer as BertQuestionAnswerer,
)
from keras_bert.models.bert_question_answerer_preprocessor import (
    BertQuestionAnswererPreprocessor as BertQuestionAnswererPreprocessor,
)
from keras_bert.models.bert_text_classifier import (
    BertTextClassifier as BertTextClassifier,
)
from keras_bert.models.bert_text_classifier_preprocessor import (
    BertTextClassifierPreprocessor as BertTextClassifierPreprocessor,
)
from keras_bert.models.bert_text_embedder import (
    BertTextEmbedder as BertTextEmbedder,
)
from keras_bert.models.bert_text_embedder_preprocessor import (
    BertTextEmbedderPreprocessor as BertTextEmbedderPreprocessor,
)
from keras_bert.models.bert_token_classifier import (
    BertTokenClassifier as BertTokenClassifier,
)
from keras_bert.models.bert_token_classifier_preprocessor import (
    BertTokenClassifierPreprocessor as BertTokenClassifierPreprocessor,
)
from keras_bert.models.load import load as load
from keras_bert.models.with_vocabulary import with_vocabulary as with_vocabulary
from keras_bert.tokenizers import BertTokenizer as BertTokenizer
