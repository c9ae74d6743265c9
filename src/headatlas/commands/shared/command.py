"""Turn a function of an options object into a command with flat keywords: `survey("bert", text="wiki.txt")`."""

from __future__ import annotations

import functools
import inspect
import textwrap
from collections.abc import Callable
from typing import Annotated, Any, ParamSpec, TypeVar, cast, get_type_hints

from cyclopts import Group, Parameter
from docstring_parser import parse_from_object

from headatlas.commands.shared.options import Option, Options, flatten, list_options
from headatlas.progress import showing

P = ParamSpec("P")
OptionsT = TypeVar("OptionsT", bound=Options)
ResultT = TypeVar("ResultT")


def command(options_class: Callable[P, OptionsT]) -> Callable[[Callable[[OptionsT], ResultT]], Callable[P, ResultT]]:
    """Let callers pass the fields of an options object instead of the object.

    Type checkers see the names, types and defaults, because `options_class` is the dataclass itself. At run time the
    new function carries them as an ordinary function does, in its signature, annotations and docstring. `help()`,
    notebooks and cyclopts need nothing else. `function.options` is the class, and `function.run` takes an instance.

    Args:
        options_class: The dataclass that declares the options.

    Returns:
        A decorator for a function that takes one `options_class`.
    """

    def decorate(function: Callable[[OptionsT], ResultT]) -> Callable[P, ResultT]:
        @functools.wraps(function)
        def flat(*args: P.args, **kwargs: P.kwargs) -> ResultT:
            options = options_class(*args, **kwargs)
            with showing(getattr(options, "progress", True)):
                return function(options)

        declared = cast(type[Options], options_class)
        flat.__annotations__ = annotate(declared)
        flat.__doc__ = f"{inspect.getdoc(function)}\n\nArgs:\n{explain(declared)}"
        vars(flat).update(__signature__=_plain_signature(declared, function), options=declared, run=function)
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


def explain(options_class: type[Options]) -> str:
    """Write the Args section from the docstrings below the fields, or the help that a type brings."""
    options = list_options(options_class)
    bases = [base for base in reversed(options_class.__mro__) if issubclass(base, Options)]
    below = {field.arg_name: field.description for base in bases for field in parse_from_object(base).params}
    texts = {option.name: below.get(option.name) or _help_of(option) for option in options}
    paragraphs = [" ".join(f"{name}: {options_class.help_of(name, text)}".split()) for name, text in texts.items()]
    wrap = functools.partial(textwrap.fill, width=100, initial_indent=" " * 4, subsequent_indent=" " * 8)
    return "\n".join(map(wrap, paragraphs))


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
    return signature.replace(parameters=parameters, return_annotation=function.__annotations__["return"])
