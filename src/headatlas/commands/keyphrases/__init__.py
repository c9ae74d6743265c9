"""Find the keyphrases of documents by the attention that their words receive.

`reading`, `phrases` and `segments` make inputs of documents with keyphrases. `candidates` says what may
be found, `word_weights` what each word receives, `choosing` and `combination` from which heads; `evaluation` compares
with other methods; `run` ties them together.

The folder also adds a kind of corpus, a study, an ablation task and a span task. Nothing outside it needs it: without
the folder, headatlas works as before and knows no keyphrases.
"""

from headatlas.commands.ablate.tasks import Needs
from headatlas.commands.shared.entry import Entry

ENTRY = Entry(
    "Survey", 3, "keyphrases.report:report_keyphrases", printing="shared.printing:FigureOptions", resumes=True
)
ADDS = {
    "headatlas.corpora": {"keyphrases": f"{__name__}.corpus:KeyphraseCorpus"},
    "headatlas.studies": {"keyphrases": f"{__name__}.study:Keyphrases"},
    "headatlas.tasks": {"keyphrases": f"{__name__}.task:KeyphraseTagging"},
    "headatlas.spans": {"keyphrases": f"{__name__}.spans:KEY_WORDS"},
}
FILES = "Inspec or SemEval folders or zip files, or JSON lines"
NEEDS = {"keyphrases": Needs(("data",), head="token-classification", folders=True, files=FILES)}
