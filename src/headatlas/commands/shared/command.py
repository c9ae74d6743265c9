"""Turn a function of an options object into a command with flat keywords: `survey("bert", text="wiki.txt")`."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Collection
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

from cyclopts import Group, Parameter
from docstring_parser import parse_from_object

from headatlas.commands.shared.options import InPython, Option, Options, flag_of, flatten, list_options
from headatlas.progress import showing

_PROMPT, _SHELL, _IN_PYTHON = ">>> ", "    headatlas ", "In Python"
P = ParamSpec("P")
OptionsT = TypeVar("OptionsT", bound=Options)
ResultT = TypeVar("ResultT")


def command(options_class: Callable[P, OptionsT]) -> Callable[[Callable[[OptionsT], ResultT]], Callable[P, ResultT]]:
    """Let callers pass the fields of an options object instead of the object.

    Type checkers see the names, types and defaults, because `options_class` is the dataclass itself. At run time the
    new function carries them as an ordinary function does, in its signature, annotations and docstring. `help()`,
    notebooks and cyclopts need nothing else. `function.options` is the class, and `function.run` takes an instance;
    `function.shell_help` is the docstring as the command line shows it.

    Args:
        options_class: The dataclass that declares the options.

    Returns:
        A decorator for a function that takes one `options_class`. In its docstring, a block that begins with >>> is for
        Python and an indented block of commands for the shell.
    """

    def decorate(function: Callable[[OptionsT], ResultT]) -> Callable[P, ResultT]:
        @functools.wraps(function)
        def flat(*args: P.args, **kwargs: P.kwargs) -> ResultT:
            options = options_class(*args, **kwargs)
            with showing(getattr(options, "progress", True)):
                return function(options)

        declared = cast(type[Options], options_class)
        signature = _plain_signature(declared, function)
        flat.__annotations__ = annotate(declared)
        flat.__doc__ = python_help(function, declared)
        vars(flat).update(
            __signature__=signature, options=declared, run=function, shell_help=shell_help(function, declared)
        )
        return flat

    return decorate


def annotate(*options_classes: type[Options]) -> dict[str, Any]:
    """Add to every option its panel in --help, in the order of declaration."""
    options = [option for options_class in options_classes for option in list_options(options_class)]
    titles = list(dict.fromkeys(option.group.panel or "Options" for option in options))
    panels = {title: Group(title, sort_key=order) for order, title in enumerate(titles)}
    return {
        option.name: Annotated[option.hint, Parameter(group=panels[option.group.panel or "Options"])]
        for option in options
    }


def shell_help(function: Callable[..., Any], options_class: type[Options]) -> str:
    """The docstring that cyclopts shows: everything but the examples in Python, then every option."""
    paragraphs = [block for block in _paragraphs(function) if not block.startswith(_PROMPT)]
    return "\n\n".join([*paragraphs, f"Args:\n{explain(options_class)}"])


def explain(options_class: type[Options]) -> str:
    """Write an Args section from the docstrings below the fields, or the help that a type brings."""
    return "\n".join(_entry(name, text) for name, text in help_texts(options_class).items())


def python_help(function: Callable[..., Any], options_class: type[Options]) -> str:
    """The docstring for `help()`: what the function does, an example, and every option under the heading of its group.

    What can be given in Python alone, choices and defaults are added, and options are called by their keywords.
    """
    paragraphs = _paragraphs(function)
    examples = [block for block in paragraphs if block.startswith(_PROMPT)]
    plain = [block for block in paragraphs if not block.startswith((_PROMPT, _SHELL))]
    said = [block for block in plain if not (examples and block.startswith(_IN_PYTHON))]
    texts, defaults = help_texts(options_class), inspect.signature(options_class).parameters
    groups: dict[str, list[str]] = {}
    for option in list_options(options_class):
        text = f"{texts[option.name]}{_only_in_python(option, texts[option.name], defaults[option.name].default)}"
        groups.setdefault(option.group.panel or "Args", []).append(_entry(option.name, _as_keywords(text, texts)))
    sections = [f"{title}:\n" + "\n".join(entries) for title, entries in groups.items()]
    shown = [f"Example:\n{textwrap.indent(block, ' ' * 4)}" for block in examples]
    return "\n\n".join([*said, *shown, *sections])


def help_texts(options_class: type[Options]) -> dict[str, str]:
    """The help of every option: the docstring below its field, or what its type brings, completed by its group."""
    bases = [base for base in reversed(options_class.__mro__) if issubclass(base, Options)]
    below = {field.arg_name: field.description for base in bases for field in parse_from_object(base).params}
    texts = {option.name: below.get(option.name) or _help_of(option) for option in list_options(options_class)}
    return {name: " ".join(options_class.help_of(name, text).split()) for name, text in texts.items()}


def _paragraphs(function: Callable[..., Any]) -> list[str]:
    return (inspect.getdoc(function) or "").split("\n\n")


def _entry(name: str, text: str) -> str:
    return textwrap.fill(f"{name}: {text}", width=100, initial_indent=" " * 4, subsequent_indent=" " * 8)


def _only_in_python(option: Option, text: str, default: Any) -> str:
    """What Python callers have to know besides: further types; choices and default unless the text has them."""
    parts = flatten(option.hint)
    more = [part.text for part in parts if isinstance(part, InPython)]
    choices = [choice for part in parts if get_origin(part) is Literal for choice in get_args(part)]
    if choices and not all(str(choice) in text for choice in choices):
        more.append(f"One of: {', '.join(map(str, choices))}.")
    if "Default" not in text and isinstance(default, str | int | float) and default != "" and default is not False:
        more.append(f"Default: {default}.")
    return "".join(f" {sentence}" for sentence in more)


def _as_keywords(text: str, names: Collection[str]) -> str:
    """Write --max-tokens as max_tokens, where that is an option."""
    keywords = {flag_of(name): name for name in names}
    return re.sub(r"--[a-z][a-z-]*", lambda flag: keywords.get(flag[0], flag[0]), text)


def _help_of(option: Option) -> str:
    texts = [part.help for part in flatten(option.hint) if isinstance(part, Parameter) and part.help]
    if not texts:
        raise TypeError(f"{option.group.__name__}.{option.name} has no help. Write a docstring below it.")
    return texts[0]


def _plain_signature(options_class: type[Options], function: Callable[..., Any]) -> inspect.Signature:
    """Return the signature that people see: plain types, in the order of --help."""
    hints, signature = get_type_hints(options_class), inspect.signature(options_class)
    names = [option.name for option in list_options(options_class)]
    parameters = [signature.parameters[name].replace(annotation=hints[name]) for name in names]
    return _ShortSignature(parameters, return_annotation=function.__annotations__["return"])


class _ShortSignature(inspect.Signature):
    """A signature that `help()` prints as names and defaults in lines of a page; with all types it is one long line."""

    def __str__(self) -> str:
        shown = [str(parameter.replace(annotation=inspect.Parameter.empty)) for parameter in self.parameters.values()]
        kinds = [parameter.kind for parameter in self.parameters.values()]
        if inspect.Parameter.KEYWORD_ONLY in kinds:
            shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
        lines = textwrap.wrap(", ".join(shown), width=96, break_long_words=False, break_on_hyphens=False)
        arguments = lines[0] if len(lines) == 1 else "\n    " + "\n    ".join(lines) + "\n"
        return f"({arguments}) -> {self.return_annotation}"

    def format(self, **_options: Any) -> str:
        """The same, as newer versions of Python ask for it."""
        return str(self)
