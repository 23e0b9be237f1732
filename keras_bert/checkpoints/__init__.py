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
        .preprocessor_config    {"sequence_length": ...} or None
        .tokenizer_arguments    keyword arguments of BertTokenizer
                            (vocabulary, lowercase, strip_accents) or None
        .vocabulary, .tokenizer_config
        .names(), .shape(n), .dtype(n), .read(n), .foreign_names(n), .unused

    report = load_weights(model, checkpoint, strict=True);  report.show()
    write(model, DIR, format, tokenizer=None, task=None, labels=None,
          task_config=None, preprocessor_config=None)
    convert(SOURCE, DIR, format)

No model class is named here: a model is its variables, found by path.
"""

from keras_bert.checkpoints.checkpoint import Checkpoint
from keras_bert.checkpoints.load import load_weights
from keras_bert.checkpoints.report import LoadReport
from keras_bert.checkpoints.source import open_source
from keras_bert.checkpoints.write import write
