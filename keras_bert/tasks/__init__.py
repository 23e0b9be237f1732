"""Readers and official metrics, one module per family of tasks."""

from keras_bert.tasks import text as text
