"""What a tokenizer does not know is counted, added up and, where it is much, said."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from headatlas.commands.keyphrases.phrases import split_words
from headatlas.commands.keyphrases.segments import text_windows
from headatlas.corpora.text import TextLine
from headatlas.encoding.segments import sample_segments
from headatlas.encoding.unknown import add_up, count_in_rows, count_unknown, much_unknown, unknown_share

SNOWMAN = "\u2603"


def given_words(text, tokenizer):
    return list(text_windows(["0"], [split_words(text)], tokenizer, 64, Counter()))


def plain_text(text, tokenizer):
    return sample_segments(
        [TextLine(Path("a"), 1, 0, text)], tokenizer, count=1, max_tokens=64, seed=0, style="single"
    ).segments


def test_tokens_and_words_are_counted_without_special_tokens(tokenizer_of):
    segments = given_words(f"the dog saw {SNOWMAN} and {SNOWMAN}", tokenizer_of("wordpiece"))
    assert count_unknown(segments, tokenizer_of("wordpiece")) == {
        "tokens": 2,
        "of_tokens": 6,
        "words": 2,
        "of_words": 6,
    }


def test_plain_text_has_no_words_of_its_own(tokenizer_of):
    segments = plain_text(f"the dog saw {SNOWMAN}.", tokenizer_of("wordpiece"))
    assert count_unknown(segments, tokenizer_of("wordpiece")) == {"tokens": 1, "of_tokens": 5}


@pytest.mark.parametrize("style", ["gpt2", "roberta"])
def test_byte_level_tokenizers_know_everything(style, tokenizer_of):
    segments = given_words(f"the dog saw {SNOWMAN}", tokenizer_of(style))
    counts = count_unknown(segments, tokenizer_of(style))
    assert counts["tokens"] == counts["words"] == 0 < counts["of_tokens"]
    assert much_unknown(unknown_share(counts), "the text", "m", "it is of no use") == []


def test_an_unknown_token_that_also_frames_the_text_is_not_counted(tokenizer_of):
    """GPT-2's one special token has all roles."""
    tokenizer = tokenizer_of("gpt2")
    end = tokenizer.eos_token_id
    assert count_in_rows(np.array([[end, 5, 6, end]]), np.ones((1, 4), bool), tokenizer) == {
        "tokens": 0,
        "of_tokens": 2,
    }


def test_padded_rows(tokenizer_of):
    tokenizer = tokenizer_of("wordpiece")
    ids = np.array([[2, tokenizer.unk_token_id, 40, 3, 0], [2, 40, 4, 41, 3]])  # [MASK] is special, too
    assert count_in_rows(ids, ids > 0, tokenizer) == {"tokens": 1, "of_tokens": 4}


def test_counts_add_up_and_shares_follow():
    total = add_up([{"tokens": 1, "of_tokens": 4, "words": 1, "of_words": 2}, {"tokens": 0, "of_tokens": 6}])
    assert total == {"tokens": 1, "of_tokens": 10, "words": 1, "of_words": 2}
    assert unknown_share(total) == 0.1
    assert unknown_share(total, "words") == 0.5
    assert unknown_share(add_up([])) == unknown_share(None) == 0


@pytest.mark.parametrize(("share", "warned"), [(0.049, False), (0.05, True), (1, True)])
def test_a_warning_from_five_percent_on(share, warned):
    found = much_unknown(share, "the treebank", "bert", "it is of no use")
    assert bool(found) == warned
    assert not warned or "of the tokens of the treebank are unknown to the tokenizer of bert: it is of" in found[0]
