"""The progress display, on a clock of the test's own."""

from __future__ import annotations

import io
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from headatlas import progress
from headatlas.progress import moved, showing, stage


class Clock:
    """A clock that stands still unless it is told to go."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Recorder:
    """A display that remembers what it was told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, str, float]] = []

    def begin(self, stage) -> None:
        self.told.append(("begin", stage.name, stage.completed))

    def update(self, stage) -> None:
        self.told.append(("update", stage.name, stage.completed))

    def end(self, stage, finished) -> None:
        self.told.append(("end" if finished else "stopped", stage.name, stage.completed))


@pytest.fixture
def clock(monkeypatch):
    made = Clock()
    monkeypatch.setattr(progress, "clock", made)
    return made


def test_a_log_has_one_line_per_stage_named_before_it_starts(clock, capsys):
    with showing():
        with stage("Reading") as reading:
            assert capsys.readouterr().err == "Reading"
            clock.now += 3
            reading.advance()
        with stage("Surveying: 10 segments", total=10) as bar:
            for _ in range(10):
                clock.now += 60
                bar.advance()
    out, err = capsys.readouterr()
    assert out == ""
    assert err == " ... 0:00:03\nSurveying: 10 segments ... about 9 minutes left ... 0:10:00\n"


def test_an_estimate_holds_what_follows(clock):
    with showing(Recorder()), stage("Removing heads", total=4, later=("curves", 8)) as bar:
        assert bar.estimate() == ""
        clock.now += 60
        bar.advance()
        assert bar.estimate() == "about 3 minutes left, then curves: about 8 minutes"


def test_work_of_an_earlier_run_is_not_counted_as_speed(clock):
    with showing(Recorder()), stage("Fitting", total=100, done=90) as bar:
        clock.now += 10
        bar.advance(5)
        assert bar.seconds_left == 10


def test_an_error_ends_the_line(clock, capsys):
    def fail():
        with showing(), stage("Reading"):
            clock.now += 1
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert capsys.readouterr().err == "Reading ... stopped after 0:00:01\n"


def test_one_switch_hides_everything_below(capsys):
    with showing(False), showing(), stage("Loading") as bar:
        bar.advance()
        moved()
    with stage("Loading"):  # nobody has asked to see anything
        moved()
    assert capsys.readouterr() == ("", "")


def test_a_stage_within_a_stage_moves_its_bar():
    seen = Recorder()
    with showing(seen), stage("outer", total=2), stage("inner", total=100) as inner:
        inner.advance(50)
    assert {name for _, name, _ in seen.told} == {"outer"}
    assert seen.told[-2][2] > 0


@given(st.lists(st.one_of(st.none(), st.floats(0, 1), st.just("advance")), max_size=30))
def test_a_bar_never_goes_back_nor_past_its_end(reports):
    """None reports work of unknown size, a number a share of the unit, and a unit may end at any time."""
    seen = Recorder()
    with showing(seen), stage("work", total=5) as bar:
        for report in reports:
            if report == "advance":
                bar.advance(0.2)
            else:
                moved(report)
    shown = [completed for _, _, completed in seen.told]
    assert shown == sorted(shown)
    assert shown[0] >= 0
    assert shown[-1] <= 5


def test_every_report_moves_the_bar():
    seen = Recorder()
    with showing(seen), stage("work", total=1):
        for _ in range(50):
            moved()
    shown = [completed for what, _, completed in seen.told if what == "update"]
    assert all(before < after for before, after in pairwise(shown))
    assert shown[-1] < 1


def test_a_terminal_keeps_one_line_per_stage(monkeypatch):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80, color_system=None, legacy_windows=False)
    with showing(progress._Terminal(console)), stage("Surveying a-model-with-a-very-long-name: 129 segments", 4) as bar:
        bar.advance(1, "a note [with] brackets")
        bar.advance(3)
    last = screen.getvalue().split("\n")[-2]
    assert "100%" in last
    assert "[with]" in last


@pytest.mark.parametrize(
    ("width", "news"),
    [(80, "about 30 seconds left"), (160, "about 30 seconds left, then curves: about 60 seconds, a note")],
)
def test_a_narrow_terminal_keeps_bar_and_time_and_drops_whole_parts_of_the_news(clock, width, news):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=width, color_system=None, legacy_windows=False)
    name = "Surveying coreference: 182 segments"
    display = progress._Terminal(console)
    with showing(display), stage(name, 100, later=("curves", 100)) as bar:
        clock.now += 30
        bar.advance(50, "a note")
        display._bar.refresh()
        (line,) = [part for part in screen.getvalue().split("\x1b[2K") if " 50% " in part][-1:]
    assert line.startswith(f"{name} ━")
    assert line.rstrip().endswith(news)


def test_a_notebook_replaces_its_line(clock, monkeypatch):
    shown: list[str] = []

    class Handle:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    def display(data, raw, display_id):
        shown.append(data["text/plain"])
        return Handle()

    fake = type("IPython.display", (), {"display": staticmethod(display)})
    monkeypatch.setattr(progress, "import_module", lambda _name: fake)
    with showing(progress._Notebook()), stage("Surveying", total=10) as bar:
        clock.now += 30
        bar.advance(5)
    assert shown == ["Surveying", "Surveying  50% 0:00:30, about 30 seconds left", "Surveying 0:00:30"]
