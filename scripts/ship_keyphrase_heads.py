"""Make the record of heads that ships for an embedded model from a finished run of `headatlas keyphrases --train`.

    headatlas keyphrases embedded --train Training.zip --data Validation.zip --documents 1000 --out phrases
    python -m scripts.ship_keyphrase_heads phrases "the 1,000 training abstracts of Inspec (Hulth 2003)"

The record takes everything but that description from the manifest of the run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from headatlas.engine.run_folder import read_manifest
from headatlas.files import json_text, write_text

SHIPPED = Path(__file__).parents[1] / "src" / "headatlas" / "commands" / "keyphrases" / "shipped"
DIGITS = 4


def shipped_record(folder: Path, found_on: str) -> dict[str, Any]:
    """What `choosing.shipped` reads: the choice, the weights it is for, and where it was made."""
    manifest = read_manifest(folder, "keyphrases")
    choice: dict[str, Any] = {**manifest["heads_chosen"]}
    del choice["origin"]
    return {
        "model": manifest["model"]["name"],
        "weights_sha256": manifest["model"]["weights_sha256"],
        **_rounded(choice),
        "found_on": found_on,
        "documents": manifest["settings"]["documents"],
        "report_words": manifest["settings"]["report_words"],
        "seed": manifest["settings"]["seed"],
        "corpus_sha256": [record["sha256"] for record in manifest["corpora"]["train"]["files"]],
    }


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(part) for name, part in value.items()}
    return round(value, DIGITS) if isinstance(value, float) else value


if __name__ == "__main__":
    record = shipped_record(Path(sys.argv[1]), sys.argv[2])
    write_text(SHIPPED / f"{record['model']}.json", json_text(record, indent=2) + "\n")
