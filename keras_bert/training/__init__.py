"""Losses, metrics, optimizer, schedule and recipes."""

from keras_bert.training import metrics
from keras_bert.training.accumulation import Accumulation
from keras_bert.training.adamw import AdamW
from keras_bert.training.auto_compile import AutoCompile
from keras_bert.training.best_weights import BestWeights
from keras_bert.training.distribution import distribute
from keras_bert.training.masked_lm_loss import MaskedLMLoss
from keras_bert.training.nan_guard import NanGuard
from keras_bert.training.next_sentence_loss import NextSentenceLoss
from keras_bert.training.progress import Progress
from keras_bert.training.resume import Resume
from keras_bert.training.warmup_decay import WarmupDecay

__all__ = [
    "Accumulation",
    "AdamW",
    "AutoCompile",
    "BestWeights",
    "MaskedLMLoss",
    "NanGuard",
    "NextSentenceLoss",
    "Progress",
    "Resume",
    "WarmupDecay",
    "distribute",
    "metrics",
]
