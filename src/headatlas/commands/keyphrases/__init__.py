"""Keyphrases by attention: which words of a text matter to a model's heads, and the phrases that they make up.

`documents` and `candidates` say what may be found, `word_weights` what each word receives, `choosing` from which heads;
`extraction` ranks, `baselines` rank otherwise, `evaluation` compares; `run` ties them together.
"""
