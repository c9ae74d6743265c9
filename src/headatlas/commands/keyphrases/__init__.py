"""Find the keyphrases of documents by the attention that their words receive.

`documents` and `candidates` say what may be found, `word_weights` what each word receives, `choosing` from which heads;
`evaluation` compares with other methods; `run` ties them together.
"""

from headatlas.commands.shared.entry import Entry

ENTRY = Entry(
    "Survey", 4, "keyphrases.report:report_keyphrases", printing="shared.printing:DrawingOptions", resumes=True
)
ADDS = {
    "headatlas.corpora": {"keyphrases": "headatlas.commands.keyphrases.corpus:KeyphraseCorpus"},
}
