"""Ablation tasks of other packages: listed, run end to end, recorded, and named if they fail."""

from __future__ import annotations

import importlib
import sys
from textwrap import dedent

import pytest

from headatlas import plugins
from headatlas.commands.ablate.options import AblateOptions, ablate
from headatlas.commands.ablate.tasks import NEEDS, TASKS, needs_of
from headatlas.corpora.sample import sample_text
from headatlas.errors import PluginError, SettingError
from headatlas.views.figures.write import write_figures

QUICK = {"max_tokens": 32, "bootstrap": 20, "steps": 2, "random_orders": 1, "device": "cpu", "progress": False}
TASK = '''
    import torch
    from torch.nn.functional import log_softmax

    from headatlas.commands.ablate.task import ExampleBatch, Needs, Task


    class Copying(Task):
        """How likely is each token at its own place?"""

        name = "copying"
        needs = Needs(("text",))
        measures = ("log_likelihood", "accuracy")
        like_loss = "log_likelihood"

        @classmethod
        def read(cls, model, files, options, scratch):
            lines = [line for path in files["text"] for line in path.read_text().splitlines() if line.strip()]
            batches = []
            for number, line in enumerate(lines[: options.examples]):
                encoded = model.tokenizer(line, return_tensors="pt", truncation=True, max_length=options.max_tokens)
                batches.append(ExampleBatch((str(number),), dict(encoded), torch.zeros(1, dtype=torch.long), {}))
            return cls(model, batches)

        def losses(self, examples):
            return -self.scores(examples)[:, 0]

        def scores(self, examples):
            wanted = examples.inputs["input_ids"]
            found = log_softmax(self.model.network(**examples.inputs).logits, -1)
            likelihood = found.gather(-1, wanted[..., None])[..., 0].mean(1)
            return torch.stack([likelihood, (found.argmax(-1) == wanted).float().mean(1)], -1)
'''


@pytest.fixture
def install(tmp_path, monkeypatch):
    """Install a package of one module that adds the task `copying`; undone after the test."""

    def add(code: str = TASK, name: str = "copying") -> None:
        site = tmp_path / "site"
        about = site / "copying_heads-1.2.dist-info"
        about.mkdir(parents=True)
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: copying-heads\nVersion: 1.2\n", encoding="utf-8")
        (about / "entry_points.txt").write_text(
            f"[headatlas.tasks]\n{name} = copying_heads:Copying\n", encoding="utf-8"
        )
        (site / "copying_heads.py").write_text(dedent(code), encoding="utf-8")
        monkeypatch.syspath_prepend(site)
        forget()

    def forget() -> None:
        importlib.invalidate_caches()
        plugins._find.cache_clear()
        TASKS._loaded.pop("copying", None)
        sys.modules.pop("copying_heads", None)

    yield add
    monkeypatch.undo()
    forget()


def run(tiny_folder, out, **options):
    given = {"task": "copying", "text": sample_text(), "examples": 5} | options
    return ablate(str(tiny_folder("bert")), out=out, **given, **QUICK)


def test_every_task_of_ours_says_what_it_needs():
    for name in TASKS:
        assert TASKS[name].name == name
        assert TASKS[name].needs == needs_of(name)
    assert set(NEEDS) < set(TASKS)


def test_a_task_of_another_package_is_listed_and_runs(install, tiny_folder, tmp_path):
    assert "copying" not in AblateOptions.help_of("task", "")
    install()
    assert AblateOptions.help_of("task", "").endswith("; copying.")
    found = run(tiny_folder, tmp_path / "out", task=["copying", "masked-lm"])
    assert set(found.tables) == {"ablation", "importance", "removal_curve", "removable_heads"}
    for name in found.tables:
        assert list(found.tables[name]["task"].unique()) == ["copying", "masked-lm"], name
    assert found.manifest["plugins"] == {"copying-heads": "1.2"}
    assert found.manifest["corpora"]["copying"]["files"][0]["file"].endswith("sample.txt")
    assert found.manifest["summary"]["copying"]["heads"] == 8
    assert len(write_figures(found, tmp_path, ["svg"])) == 3


def test_options_are_checked_by_what_it_declares(install, tiny_folder, tmp_path):
    with pytest.raises(SettingError, match=r"Unknown task: copying\. Choose from: masked-lm, "):
        run(tiny_folder, tmp_path)
    install()
    with pytest.raises(SettingError, match="The task copying cannot run without --text"):
        run(tiny_folder, tmp_path, text=None)
    with pytest.raises(SettingError, match=r"Unknown task: copy\. Choose from: .*, copying\."):
        run(tiny_folder, tmp_path, task="copy")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import nothing_of_the_sort", "cannot be imported (ModuleNotFoundError"),
        (TASK.replace('needs = Needs(("text",))', ""), "does not say what it needs"),
        (TASK.replace('("text",)', '("video",)'), "needs --video, which `ablate` does not have"),
        (TASK.replace('name = "copying"', 'name = "other"'), "it calls itself 'other'"),
        (TASK.replace("def read", "def made"), "NotImplementedError: Copying has no method `read`"),
        (TASK.replace("[:, 0]\n", "\n"), "its losses have the shape [1, 2] instead of [1]"),
        (TASK.replace("likelihood, (", "likelihood / 0 * 0, ("), "its losses are not all finite numbers"),
        (TASK.replace("wanted = examples", "wanted = nowhere"), "failed (NameError: name 'nowhere' is not defined)"),
    ],
)
def test_a_task_that_fails_is_named(code, said, install, tiny_folder, tmp_path):
    install(code)
    with pytest.raises(PluginError) as failure:
        run(tiny_folder, tmp_path / "out")
    assert said in str(failure.value)
    assert "task 'copying'" in str(failure.value)
    assert "copying-heads 1.2" in str(failure.value)


def test_a_name_that_is_taken_stays_ours(install):
    install(name="masked-lm")
    assert TASKS.is_own("masked-lm")
    assert TASKS.refused == {
        "masked-lm (copying-heads 1.2)": "the task 'masked-lm' exists already; rename it in that package."
    }
