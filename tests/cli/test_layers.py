"""`headatlas layers` as it is typed: findings, figures and page at the end, and errors without a traceback."""

from tests.commands.layers.span_corpora import write_entities
from typed import typed

QUICK = "--seeds 1 --updates 200 --width 8 --bootstrap 40 --max-tokens 20 --device cpu"


def test_layers_end_with_findings_figures_and_page(tiny_folder, tmp_path):
    train, scored = write_entities(tmp_path / "a.bio", 40, 0), write_entities(tmp_path / "b.bio", 20, 1)
    files = ["--train", str(train), "--eval", str(scored), "--out", str(tmp_path / "out")]
    done = typed("layers", str(tiny_folder("bert")), *files, *QUICK.split())
    assert done.exit_code == 0, done.output
    assert "entities, mix of layers: micro F1" in done.output
    assert "40 texts (160 tokens; targets: 40 of entities) of a.bio" in done.output
    assert (tmp_path / "out" / "index.html").exists()
    assert (tmp_path / "out" / "figures" / "layers_figure2_mix.svg").exists()
    beside = typed("figures", tmp_path / "out", "--beside", tmp_path / "out", "--quiet")
    assert beside.exit_code == 0, beside.output
    assert "layers_figureA3_beside.svg" in beside.output
    table = typed("table", tmp_path / "out", "layer_order")
    assert "no layers were probed" in table.output  # one task has no order


def test_a_task_that_is_not_there(tiny_folder, tmp_path):
    train = write_entities(tmp_path / "a.bio", 4, 0)
    done = typed(
        "layers", str(tiny_folder("bert")), "--task", "verbs", "--train", str(train), "--eval", str(train), "--out", "o"
    )
    assert done.exit_code == 1
    assert "is also a training file" in done.output
