"""Files are complete, the same for the same data, and indifferent to the user's own matplotlib settings."""

import warnings
from xml.etree import ElementTree

import matplotlib
import pytest
from matplotlib.figure import Figure

from headatlas.errors import SettingError
from headatlas.views.figures import fonts
from headatlas.views.figures.fonts import families_for
from headatlas.views.figures.lines import attention_lines_figure
from headatlas.views.figures.style import applied, drawable, picture_file, save_figure
from tests.views.synthetic_tables import maps


def small_figure() -> Figure:
    return attention_lines_figure(["[CLS]", "a", "b", "[SEP]"], [("Head 1-1", maps(4, 4))])


def test_every_format_is_written_in_the_order_asked(tmp_path):
    paths = save_figure(small_figure(), tmp_path / "new" / "figure.v1", formats=("svg", "png", "pdf"))
    assert [path.name for path in paths] == ["figure.v1.svg", "figure.v1.png", "figure.v1.pdf"]
    starts = (b"<?xml", b"\x89PNG", b"%PDF")
    assert all(path.read_bytes().startswith(start) for path, start in zip(paths, starts, strict=True))
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in paths)


@pytest.mark.parametrize("form", ["svg", "png", "pdf"])
def test_same_data_same_bytes(tmp_path, form):
    (first,) = save_figure(small_figure(), tmp_path / "first", (form,))
    with matplotlib.rc_context({"svg.hashsalt": "other", "text.usetex": True}):
        (second,) = save_figure(small_figure(), tmp_path / "second", (form,))
    assert first.read_bytes() == second.read_bytes()


def test_no_date_is_written(tmp_path):
    svg, pdf = save_figure(small_figure(), tmp_path / "figure", ("svg", "pdf"))
    assert b"dc:date" not in svg.read_bytes()
    assert b"CreationDate" not in pdf.read_bytes()


def test_an_unknown_format_is_refused_before_anything_is_written(tmp_path):
    with pytest.raises(SettingError, match="gif"):
        save_figure(small_figure(), tmp_path / "figure", ("svg", "gif"))
    assert not list(tmp_path.iterdir())


def test_settings_are_left_as_they_were(tmp_path):
    before = dict(matplotlib.rcParams)
    save_figure(small_figure(), tmp_path / "figure", ("svg",))
    assert dict(matplotlib.rcParams) == before


@pytest.mark.parametrize(
    ("token", "shown"),
    [
        ("$x_1^2$", "$x_1^2$"),
        ("##ing", "##ing"),
        ("Ġhello", "Ġhello"),
        ("▁world", "▁world"),
        (" spaced", "spaced"),
        ("", "␣"),
        ("  ", "␣␣"),
        ("\n", "⏎"),
        ("a\tb", "a⇥b"),
        ("\x00", "\\x00"),
        ("\ud800", "\ufffd"),
        ("\uffff", "\ufffd"),
        ("\u202eevil", "\ufffdevil"),
        ("Donaudampfschifffahrt", "Donaudampfsc…"),
    ],
)
def test_tokens_become_drawable(token, shown):
    assert drawable(token, 13) == shown


def test_fallback_fonts_only_where_needed():
    with applied():
        assert families_for(["plain", "Ġ", "שלום"]) == ["DejaVu Sans"]
        assert families_for(["中"])[0] == "DejaVu Sans"
    assert families_for(["plain"], ["serif"]) == ["serif", "DejaVu Sans"]


@pytest.mark.parametrize(("name", "form"), [("a.png", "png"), ("v1.2 b.SVG", "svg"), ("c.pdf", "pdf")])
def test_a_picture_file_has_a_known_suffix(tmp_path, name, form):
    assert picture_file(tmp_path / name) == ((tmp_path / name).with_suffix(""), form)


@pytest.mark.parametrize("name", ["a", "a.gif", ".png", "nowhere/a.png"])
def test_a_picture_that_cannot_be_written_is_refused(tmp_path, name):
    with pytest.raises(SettingError):
        picture_file(tmp_path / name)


def test_what_xml_forbids_is_replaced_in_every_svg(tmp_path):
    figure = Figure(figsize=(2, 2))
    axes = figure.add_subplot()
    axes.set_title("a\ufffeb\x01c\x0bd\uffffe <&>")
    axes.set_xticks([0, 1], ["\x02", "\ufffe"])
    (path,) = save_figure(figure, tmp_path / "a", ("svg",))
    texts = [text.strip() for text in ElementTree.parse(path).getroot().itertext()]
    assert "a\ufffdb\ufffdc\ufffdd\ufffde <&>" in texts


def test_characters_that_no_font_has_are_told_once(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(fonts, "_warned", set())
    monkeypatch.setattr(fonts, "_fallbacks", lambda characters: ((), characters))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        save_figure(titled("plain é"), tmp_path / "a")
        save_figure(titled("中 \U0001f99c"), tmp_path / "b", ("svg",))
        assert not caplog.messages
        save_figure(titled("中 \U0001f99c"), tmp_path / "b")
        save_figure(titled("中"), tmp_path / "c")
    (message,) = caplog.messages
    assert message.startswith("No installed font has 中 \U0001f99c: boxes are drawn in their place. Install one")


def test_any_installed_font_that_has_the_glyphs_is_chosen(monkeypatch):
    glyphs = {"Noto Sans CJK SC": {"中"}, "Some Emoji": {"\U0001f99c"}, "Useless": {"a"}}
    monkeypatch.setattr(fonts, "_fallbacks", fonts._fallbacks.__wrapped__)
    monkeypatch.setattr(fonts.font_manager, "get_font_names", lambda: ["DejaVu Sans", *reversed(glyphs)])
    monkeypatch.setattr(fonts, "_characters_of", lambda name: {ord(letter) for letter in glyphs[name]})
    assert families_for(["中 \U0001f99c"], ["DejaVu Sans"]) == ["DejaVu Sans", "Noto Sans CJK SC", "Some Emoji"]
    assert fonts._fallbacks(frozenset("中क")) == (("Noto Sans CJK SC",), frozenset("क"))


def test_the_font_of_boxes_is_never_chosen():
    assert not any(name.startswith("Last Resort") for name in families_for(["\U000f0000"]))


def titled(text):
    figure = Figure(figsize=(2, 1))
    figure.suptitle(text)
    return figure
