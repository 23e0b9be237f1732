"""Whether attention runs through the fused kernel or the plain form."""

import pytest

from keras_bert import _backend


@pytest.fixture(params=["fused", "plain"])
def attention_form(request, monkeypatch):
    if request.param == "plain":
        monkeypatch.setattr(_backend, "_FUSED", {})
    return request.param
