"""Readers and official metrics, one module per family of tasks."""

from keras_bert.tasks import glue as glue
from keras_bert.tasks import ner as ner
from keras_bert.tasks import squad as squad
from keras_bert.tasks import swag as swag
from keras_bert.tasks import text as text
