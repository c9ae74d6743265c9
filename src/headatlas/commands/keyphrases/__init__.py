"""`keyphrases`: which words of a text matter to a model's heads, and the phrases that they make up.

`documents` and `candidates` say what may be found, `word_weights` what each word receives, `choosing` from which heads;
`evaluation` compares with other methods; `run` ties them together.
"""

ADDS = {
    "headatlas.corpora": {"keyphrases": "headatlas.commands.keyphrases.corpus:KeyphraseCorpus"},
}
