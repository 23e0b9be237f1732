"""The model that a folder holds, whatever its class."""

import keras

from keras_bert import checkpoints
from keras_bert.models.bert_backbone import BertBackbone
from keras_bert.models.bert_feature_tagger import BertFeatureTagger
from keras_bert.models.bert_masked_lm import BertMaskedLM
from keras_bert.models.bert_multiple_choice import BertMultipleChoice
from keras_bert.models.bert_pretrainer import BertPretrainer
from keras_bert.models.bert_question_answerer import BertQuestionAnswerer
from keras_bert.models.bert_text_classifier import BertTextClassifier
from keras_bert.models.bert_text_embedder import BertTextEmbedder
from keras_bert.models.bert_token_classifier import BertTokenClassifier

MODELS = {
    model.__name__: model
    for model in (
        BertFeatureTagger,
        BertMaskedLM,
        BertMultipleChoice,
        BertPretrainer,
        BertQuestionAnswerer,
        BertTextClassifier,
        BertTextEmbedder,
        BertTokenClassifier,
    )
}


def load(source, **kwargs):
    """Loads a checkpoint as the class that it was saved from.

    Args:
        source: a `.keras` file, or what `BertBackbone.from_preset` reads.
            For folders of Google and Hugging Face the class is the one that
            the head or the config names, else the backbone.
        **kwargs: handed to the class's `from_preset`.
    """
    if str(source).endswith(".keras"):
        return keras.saving.load_model(source, **kwargs)
    checkpoint = checkpoints.open_source(source)
    model = MODELS.get(checkpoint.task, BertBackbone)
    return model.from_preset(source, **kwargs)
