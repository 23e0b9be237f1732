"""A small local HTTP server for one model; `keras-bert serve` starts it."""

from keras_bert.serving.app import make_app as make_app
from keras_bert.serving.batcher import Batcher as Batcher
from keras_bert.serving.worker import Worker as Worker
