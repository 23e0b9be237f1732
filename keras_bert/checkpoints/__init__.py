"""Checkpoints of every BERT, in and out.

The interface for the packages after this one:

    checkpoint = open_source(SOURCE, strict=True)
        .format             "keras_bert", "huggingface", "google",
                            "model_garden", "keras_hub"
        .backbone_config    keyword arguments of BertBackbone
        .task               "BertTextClassifier", ... or None
        .task_arguments(T)  keyword arguments that the source gives to the
                            task model T (num_classes, labels, dropout; or
                            pooling_mode, normalize); {} when it has none
        .task_config        the same for the source's own task
        .preprocessor_arguments(T)  the same for T's preprocessor
        .tokenizer_arguments    keyword arguments of BertTokenizer
                            (vocabulary, lowercase, strip_accents,
                            special_tokens_in_strings) or None
        .vocabulary, .tokenizer_config
        .names(), .shape(n), .dtype(n), .read(n), .foreign_names(n), .unused

    report = load_weights(model, checkpoint, strict=True)   logged once
    write(model, DIR, format, preprocessor=None, ...)   the rest comes from
                            the model's and the preprocessor's get_config;
        returns a WriteReport (written, dropped, notes); .show() warns
    convert(SOURCE, DIR, format)                    the same, read back

    describe(SOURCE)        plain values for `keras-bert info`

No model class is named here: a model is its variables, found by path.
"""

from keras_bert.checkpoints.checkpoint import Checkpoint as Checkpoint
from keras_bert.checkpoints.convert import convert as convert
from keras_bert.checkpoints.describe import describe as describe
from keras_bert.checkpoints.load import load_weights as load_weights
from keras_bert.checkpoints.report import LoadReport as LoadReport
from keras_bert.checkpoints.source import open_source as open_source
from keras_bert.checkpoints.source import tokenizer_arguments
from keras_bert.checkpoints.write import WriteReport as WriteReport
from keras_bert.checkpoints.write import write as write
from keras_bert.tokenizers.bert_tokenizer import set_source_reader

# BertTokenizer.from_preset(SOURCE)
set_source_reader(tokenizer_arguments)
