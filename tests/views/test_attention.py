"""The attention of every head on a text: the network's own maps, whatever form the model comes in."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import headatlas as ha
from headatlas.encoding.token_texts import token_texts
from headatlas.errors import SettingError
from headatlas.models.model import Model
from headatlas.views import attention as module

TEXT = "the oldest dog saw a cat."


def own_maps(model: Model, text: str, stack: str = "encoder", **more: str) -> np.ndarray:
    """[L, H, n, n], as the network returns them itself."""
    inputs = model.tokenizer(text, **more, return_token_type_ids="text_pair" in more, return_tensors="pt")
    if model.is_encoder_decoder:
        inputs["decoder_input_ids"] = inputs["input_ids"]
    with torch.no_grad():
        outputs = model.network(**inputs, output_attentions=True)
    attentions = outputs[f"{stack}_attentions"] if model.is_encoder_decoder else outputs.attentions
    return torch.stack(attentions)[:, 0].numpy()


@pytest.mark.parametrize(
    ("family", "stack"), [("bert", "encoder"), ("gpt2", "decoder"), ("bart", "encoder"), ("bart", "decoder")]
)
def test_maps_are_those_of_the_network(load_tiny, family, stack):
    model = load_tiny(family)
    seen = ha.attention(model, TEXT, stack=stack)
    expected = own_maps(model, TEXT, stack)
    np.testing.assert_allclose(np.asarray(seen.maps), expected, atol=1e-6)
    assert seen.maps.shape == expected.shape
    np.testing.assert_array_equal(seen.maps[1, 2], np.asarray(seen.maps)[1, 2])
    np.testing.assert_array_equal(seen.maps[:, 0], np.asarray(seen.maps)[:, 0])
    np.testing.assert_array_equal(seen.maps[-1], list(seen.maps)[-1])
    frame = seen.head("2-3")
    assert list(frame.index) == list(frame.columns) == list(seen.tokens)
    np.testing.assert_allclose(frame.to_numpy(), expected[1, 2], atol=1e-6)


def test_a_pair_of_texts(load_tiny):
    model = load_tiny("bert")
    seen = ha.attention(model, TEXT, "she ran.")
    np.testing.assert_allclose(np.asarray(seen.maps), own_maps(model, TEXT, text_pair="she ran."), atol=1e-6)
    assert seen.tokens.count("[SEP]") == 2
    assert seen.words[-3:] == ("she", "ran", ".")


def test_words_sum_what_their_tokens_receive_and_average_what_they_give(load_tiny):
    seen = ha.attention(load_tiny("bert"), "the oldest dog")
    frame, tokens = seen.head("1-1", words=True), seen.head("1-1").to_numpy()
    assert list(frame.columns) == ["[CLS]", "the", "oldest", "dog", "[SEP]"]
    assert len(seen.tokens) > len(frame)
    members = {"[CLS]": [0], "[SEP]": [len(seen.tokens) - 1]}
    members |= {word: [p for p, of in enumerate(seen.word_of) if of == n] for n, word in enumerate(seen.words)}
    for start, sources in members.items():
        for end, targets in members.items():
            expected = np.mean([sum(tokens[source, target] for target in targets) for source in sources])
            assert frame.loc[start, end] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("room", [2**29, 0])
def test_layers_are_computed_when_they_are_used(load_tiny, monkeypatch, room):
    monkeypatch.setattr(module, "MOST_KEPT", room)
    model, passes = load_tiny("bert"), []
    observe = Model.observe
    monkeypatch.setattr(Model, "observe", lambda *args: (passes.append(1), observe(*args))[1])
    seen = ha.attention(model, TEXT)
    assert not passes
    first = [seen.maps[0], seen.maps[0], seen.maps[1]]
    assert len(passes) == (1 if room else 2)
    np.testing.assert_array_equal(first[2], np.asarray(seen.maps)[1])


def test_networks_and_folders_give_the_same(load_tiny, tiny_folder):
    model = load_tiny("bert")
    forms = [model, (model.network, model.tokenizer), tiny_folder("bert"), str(tiny_folder("bert"))]
    maps = [np.asarray(ha.attention(form, TEXT).maps) for form in forms]
    maps.append(np.asarray(ha.attention(model.network, TEXT, tokenizer=model.tokenizer).maps))
    for other in maps[1:]:
        np.testing.assert_array_equal(maps[0], other)


def test_the_repr_says_what_to_do_next(load_tiny):
    said = repr(ha.attention(load_tiny("bert"), TEXT))
    assert all(name in said for name in (".tokens", ".maps", ".head('1-1')", ".show('1-1')", "2 layers x 4 heads"))


# --- maps of others -----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def shown(load_tiny):
    """The maps of a network, its tokens and the page of the same model."""
    model = load_tiny("bert")
    tokens = model.tokenizer(TEXT).tokens()
    return own_maps(model, TEXT), tokens, ha.attention(model, TEXT).show("2-1").html


FORMS = {
    "what a network returns": lambda maps: tuple(torch.from_numpy(layer)[None] for layer in maps),
    "with gradients": lambda maps: [torch.from_numpy(layer)[None].requires_grad_() for layer in maps],
    "layers": list,
    "an array": lambda maps: maps,
    "a tensor": torch.from_numpy,
    "half precision": lambda maps: torch.from_numpy(maps).to(torch.bfloat16),
}


@pytest.mark.parametrize("form", FORMS)
def test_any_maps_can_be_shown(shown, form):
    maps, tokens, html = shown
    seen = module.attention_of_maps(FORMS[form](maps), tokens)
    np.testing.assert_allclose(np.asarray(seen.maps), maps, atol=0.005 if form == "half precision" else 0)
    assert seen.word_of[0] == seen.word_of[-1] == -1
    page = ha.head_view(FORMS[form](maps), tokens, head="2-1")
    assert abs(len(page.html) - len(html)) < 2000


def test_one_layer_and_one_map_can_be_shown(shown):
    maps, tokens, _ = shown
    assert module.attention_of_maps(maps[0], tokens).maps.shape == (1, *maps.shape[1:])
    assert module.attention_of_maps(maps[0, 0], tokens).maps.shape == (1, 1, *maps.shape[2:])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda _: None, 'attn_implementation="eager"'),
        (lambda _: (None, None), 'attn_implementation="eager"'),
        (lambda maps: np.stack([maps, maps], 1), "a batch of 2 texts"),
        (lambda maps: maps[..., :-1], r"layer 1 have the shape \[4, \d+, \d+\]"),
        (lambda maps: maps - 0.5, "not between 0 and 1"),
        (lambda maps: maps * np.nan, "not between 0 and 1"),
    ],
)
def test_what_is_not_attention_is_refused(shown, change, problem):
    maps, tokens, _ = shown
    with pytest.raises(SettingError, match=problem):
        ha.head_view(change(maps), tokens)


def test_arguments_that_do_not_go_together_are_refused(shown, load_tiny):
    maps, tokens, _ = shown
    for arguments in ((maps, TEXT), (maps, tokens, "pair"), (load_tiny("bert"), tokens)):
        with pytest.raises(SettingError, match="tokens"):
            ha.head_view(*arguments)
    with pytest.raises(SettingError, match="Cross attention"):
        ha.attention(load_tiny("bart"), TEXT, stack="cross")


def test_tokens_are_shown_as_text(tokenizer_of):
    tokenizer = tokenizer_of("gpt2")
    for text in ("the old dog saw a house.", "déjà 猫 the\ncat"):
        tokens = tokenizer.tokenize(text)
        texts = token_texts(tokens, tokenizer)
        assert not any("Ġ" in piece for piece in texts)
        whole = "".join(texts)
        assert whole == text if text.isascii() else whole.endswith("the\ncat")
    assert token_texts(["##s", "[CLS]", "Ġ"], tokenizer_of("wordpiece")) == ["##s", "[CLS]", "Ġ"]
