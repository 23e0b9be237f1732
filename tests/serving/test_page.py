"""The pages in a real browser: a person types and sees the answer."""

import keras
import numpy as np
import pytest

from keras_bert.cli.main import main


@pytest.fixture
def open_page(browser, serve_here):
    """`open_page(model)`: its page; complaints of the browser are errors."""
    complaints, pages = [], []

    def start(model):
        page = browser.new_page()
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda message: (
                message.type == "error"
                and "status of 4" not in message.text
                and complaints.append(message.text)
            ),
        )
        page.goto(serve_here(model))
        page.wait_for_selector("button")
        pages.append(page)
        return page

    yield start
    for page in pages:
        page.close()
    assert not complaints


def ask(page, **fields):
    for name, value in fields.items():
        page.fill(f"#{name}", value)
    page.click("button")
    page.wait_for_function(
        "document.querySelector('button').disabled === false"
    )
    return page.inner_text("#answer")


def test_a_classifier_shows_its_labels_and_keeps_html_as_text(
    models, open_page
):
    model = models["classifier"]
    page = open_page(model)
    assert page.title() == "BertTextClassifier"
    shown = ask(page, text="the fox ran")
    best, *_ = scores = model.classify("the fox ran", top_k=2)
    assert page.inner_text("mark") == best["label"]
    for one in scores:
        assert f"{one['label']}\t\t{100 * one['score']:.1f} %" in shown
    # A pair, and Ctrl+Enter instead of the button.
    page.fill("#text_pair", "a <b>dog</b>")
    page.press("#text_pair", "Control+Enter")
    pair = model.classify(("the fox ran", "a <b>dog</b>"), top_k=2)
    page.wait_for_function(
        "text => document.getElementById('answer').innerText.includes(text)",
        arg=f"{100 * pair[0]['score']:.1f} %",
    )
    assert page.query_selector("b") is None


def test_a_tagger_highlights_entities_and_leaves_the_rest(models, open_page):
    words = ["the", "old", "fox", "ran", "and", "saw", "a", "cat"]
    page = open_page(models["tagger"])
    ask(page, words=" ".join(words))
    labels = models["tagger"].tag(words)
    marked = [
        [word, label]
        for word, label in zip(words, labels, strict=True)
        if label != "O"
    ]
    shown = [
        [mark.evaluate("e => e.firstChild.data"), mark.inner_text()]
        for mark in page.query_selector_all("#answer mark")
    ]
    assert marked
    assert shown == [[word, word + label] for word, label in marked]


def test_an_answer_is_highlighted_where_it_stands(models, open_page):
    # Characters beyond the first plane: two units each in JavaScript.
    context = "😀😀 Élan: the old  fox ran. " * 3
    page = open_page(models["answerer"])
    ask(page, question="a fox", context=context)
    found = models["answerer"].answer("a fox", context)
    assert found["text"]
    assert page.inner_text("mark") == found["text"]
    before = page.evaluate(
        "document.querySelector('mark').previousSibling.textContent"
    )
    assert before == context[: found["start"]]


def test_the_chosen_ending_is_highlighted(models, open_page):
    page = open_page(models["choice"])
    endings = ["ran", "saw a bird", "not"]
    ask(page, context="the fox", endings="\n".join(endings) + "\n\n")
    best = models["choice"].choose("the fox", endings)
    assert page.inner_text("mark") == endings[best]


def test_filled_masks_are_highlighted(models, open_page):
    page = open_page(models["masked"])
    text = "the [MASK] ran and [MASK] ."
    ask(page, text=text)
    found = models["masked"].fill_mask(text)
    marks = [one.inner_text() for one in page.query_selector_all("mark")]
    assert marks == [mask[0]["token"] for mask in found]
    # What the server refuses is shown as it says it.
    shown = ask(page, text="no mask")
    assert shown == "`text` must hold [MASK] at least once"
    assert page.get_attribute("#answer", "class") == "error"


def test_an_embedder_shows_numbers(models, open_page):
    page = open_page(models["embedder"])
    shown = ask(page, text="the fox")
    first = models["embedder"].embed("the fox")[0]
    assert shown.startswith(f"16 numbers: {first:.4f}, ")


def test_the_attention_page_shows_what_a_token_looks_at(
    models, browser, tmp_path, capsys
):
    model, path = models["classifier"], tmp_path / "page.html"
    model.save_to_preset(tmp_path / "preset")
    text = "the <b>fox</b> saw [MASK]"
    words = ["attention", tmp_path / "preset", text, "--text-pair", "a dog"]
    assert main([*map(str, words), "-o", str(path), "--json"]) == 0
    capsys.readouterr()
    page = browser.new_page()
    page.goto(path.as_uri())
    tokens = [
        one.text_content()
        for one in page.query_selector_all("text[data-token]")
    ]
    assert tokens[:3] == ["[CLS]", "the", "[UNK]"]
    assert tokens[-3:] == ["a", "dog", "[SEP]"]
    assert "[MASK]" in tokens
    assert page.inner_text("h1") == text
    # The largest weight of the second token, head 2, from the model itself.
    # By place ("mean" is the first): Playwright takes "1" as a label too.
    page.select_option("#head", index=2)
    page.click("text[data-token='1']")
    tokenizer = model.tokenizer
    ids = [tokenizer.token_to_id(token) for token in tokens]
    split = tokens.index("[SEP]") + 1
    row = {
        "token_ids": np.array([ids], "int32"),
        "segment_ids": np.array([[0] * split + [1] * (len(ids) - split)]),
    }
    scores = model.backbone.attention_scores(row)[0]
    weights = keras.ops.convert_to_numpy(scores)[0, 1, 1]
    best = weights.argmax()
    shown = page.inner_text("#weights")
    assert shown.startswith(
        f"the looks at {tokens[best]} {100 * weights[best]:.1f} %"
    )
    lines = page.query_selector_all("line")
    # Weights under half a hundredth have no line.
    assert len(lines) == int((weights.round(3) >= 0.005).sum())
    page.close()
