"""A task: batches of examples, a score for each example, and a loss that can be differentiated.

Removing heads needs nothing but this interface. A new task of headatlas is a new file in `tasks` and a line in its
`TASKS` and `NEEDS`. Another package adds one by an entry point:

    [project.entry-points."headatlas.tasks"]
    copying = "my_package.copying:Copying"
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from headatlas.commands.ablate.tasks import Needs as Needs
from headatlas.encoding.unknown import UnknownCounts, add_up, count_in_rows
from headatlas.models.gates import Gates
from headatlas.models.model import Model
from headatlas.models.stacks import Stack
from headatlas.statistics.resampling import FEWEST_DOCUMENTS

if TYPE_CHECKING:
    from headatlas.commands.ablate.options import AblateOptions

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class ExampleBatch:
    """E examples as R rows of network input. An example has one row, or several (a minimal pair)."""

    ids: tuple[str, ...]  # E, unique within the task
    inputs: dict[str, Any]  # of the network; tensors are [R, ...]
    rows: Tensor  # [R], which example a row belongs to
    targets: dict[str, Tensor]  # what is to be predicted, [R, ...] or [E, ...]
    documents: tuple[str, ...] = ()  # E, the document of each example, if the data has documents

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def size(self) -> int:
        """Tokens, padding included."""
        return int(self.inputs["input_ids"].numel())

    def to(self, device: torch.device) -> ExampleBatch:
        """The same batch on another device."""
        return self._with(lambda tensor: tensor.to(device, non_blocking=True))

    def repeated(self, copies: int) -> ExampleBatch:
        """Copies of the batch, one after the other, as one batch."""
        if copies == 1:
            return self
        larger = self._with(lambda tensor: torch.cat([tensor] * copies))
        shift = torch.arange(copies, device=self.rows.device).repeat_interleave(len(self.rows)) * len(self)
        return replace(larger, ids=self.ids * copies, documents=self.documents * copies, rows=larger.rows + shift)

    def _with(self, change: Any) -> ExampleBatch:
        def changed(parts: dict[str, Any]) -> dict[str, Any]:
            return {name: change(part) if isinstance(part, Tensor) else part for name, part in parts.items()}

        return replace(self, inputs=changed(self.inputs), rows=change(self.rows), targets=changed(self.targets))


@dataclass(frozen=True)
class Units:
    """What is resampled."""

    name: Literal["document", "example"]
    of_examples: list[str]  # the unit of each example

    @property
    def count(self) -> int:
        """How many units there are."""
        return len(set(self.of_examples))


class Task(ABC):
    """Something a model does, more or less well, on examples.

    Attributes:
        name: What `--task` and the tables call it.
        needs: The options with its data, and the head that the model needs.
        measures: Names of the scores, higher is better; the first one decides the order of heads.
        like_loss: The one of them that falls as the loss rises, with which importance is compared.
        replayable: Whether its scores come from one pass of the network over its inputs. Then the layers below a
            removed head are run once.
        why_not_replayable: Why they do not, for the manifest.
        copyable: Whether a task that is not replayable can score copies of a batch together, each without another head.
    """

    name: ClassVar[str]
    needs: ClassVar[Needs]
    measures: ClassVar[tuple[str, ...]]
    like_loss: ClassVar[str]
    replayable: ClassVar[bool] = True
    why_not_replayable: ClassVar[str] = "its scores come from many passes, not from one"
    copyable: ClassVar[bool] = False

    @classmethod
    def read(cls, model: Model, files: Mapping[str, list[Path]], options: AblateOptions, scratch: Path) -> Task:
        """Make the task from files.

        Args:
            model: The model whose heads are removed.
            files: The files of every option that was given; those of `needs` exist.
            options: How many examples to score, the seed, and all other options of `ablate`.
            scratch: A folder for what training leaves behind; it is deleted when the run is complete.

        Returns:
            The task with its batches. `about` goes into the manifest, `left_out` counts what was not scored.

        Raises:
            CorpusError: A file is malformed, or nothing is left to score.
            ModelError: The model cannot do the task.
        """
        raise NotImplementedError(f"{cls.__name__} has no method `read`")

    def __init__(self, model: Model, batches: Sequence[ExampleBatch], **left_out: int) -> None:
        self.model = model
        self.batches = batches
        self.about: dict[str, Any] = {"examples": len(self.ids), "unknown": self._unknown()}  # for the manifest
        self.left_out = {reason: count for reason, count in left_out.items() if count}
        self.title = self.name  # what the tables call it: the task, or task:name of another set of examples

    @property
    def ids(self) -> list[str]:
        """All examples, batch after batch."""
        return [name for batch in self.batches for name in batch.ids]

    @property
    def units(self) -> Units:
        """What is resampled and divided into halves: documents, if there are enough of them, else examples."""
        documents = [document for batch in self.batches for document in batch.documents]
        many = len(documents) == len(self.ids) and len(set(documents)) >= FEWEST_DOCUMENTS
        of_examples = documents if many else self.ids
        if self.title != self.name:  # examples of two sets are resampled independently
            of_examples = [f"{self.title} {unit}" for unit in of_examples]
        return Units("document" if many else "example", of_examples)

    def again(self, files: Mapping[str, list[Path]], options: AblateOptions, scratch: Path) -> Task:
        """Make the same task from other files; a task that was trained keeps what it has learnt."""
        return type(self).read(self.model, files, options, scratch)

    def _unknown(self) -> UnknownCounts:
        """What of the inputs the tokenizer does not know."""
        inputs = ((batch.inputs["input_ids"], batch.inputs["attention_mask"]) for batch in self.batches)
        tokenizer = self.model.tokenizer
        return add_up(count_in_rows(ids.cpu().numpy(), mask.cpu().numpy() > 0, tokenizer) for ids, mask in inputs)

    def tokens_read(self, examples: ExampleBatch) -> Tensor | None:
        """Which tokens' states are read after the last layer, for losses and scores: [R, T] bool; None if all are."""
        return None

    @contextmanager
    def replaying(self, gates: Gates) -> Iterator[None]:
        """Within this context only the layers from a removed head on run, on copies of the batch that ran before."""
        yield

    @contextmanager
    def removing(self, gates: Gates, stack: Stack) -> Iterator[None]:
        """Within this context the heads of one stack are gated."""
        with self.model.changing_outputs(gates, stack):
            yield

    def commonest_answer(self) -> Tensor | None:
        """Each example's accuracy if the commonest answer were always given: [E]; None if that has no meaning here.

        A model that is no better needs no head: an untrained one has heads that move its losses, to no purpose.
        """
        return None

    @abstractmethod
    def losses(self, examples: ExampleBatch) -> Tensor:
        """Return each example's own loss, in nats and differentiable: [E]."""

    @abstractmethod
    def scores(self, examples: ExampleBatch) -> Tensor:
        """Return each example's scores, higher is better: [E, measures]; or what `pooled` makes scores of."""

    def pooled(self, scores: Floats, plain: Floats | None = None) -> Floats:
        """Return what the means over examples are taken of: by default the scores themselves.

        A measure of the corpus that is not a mean, such as BLEU, is divided among the examples here.

        Args:
            scores: What `scores` returned for all examples: [E, columns]; beside plain ones, under each of several
                conditions: [E, conditions, columns].
            plain: What it returned with all heads in place. An example whose scores are the same keeps its value.

        Returns:
            Values whose means over examples are the measures: [E, measures] or [E, conditions, measures].
        """
        return scores


def check_contract(task: Task, name: str) -> None:
    """Try a task of another package on its first batch, so that a mistake is found early and said in words."""
    if task.name != name or task.like_loss not in task.measures:
        raise ValueError(f"it calls itself '{task.name}', or its like_loss is not one of its measures")
    examples = task.batches[0].to(task.model.device)
    with torch.inference_mode():
        made = (
            ("losses", task.losses(examples), [len(examples)]),
            ("scores", task.scores(examples), [len(examples), len(task.measures)]),
        )
    for what, numbers, shape in made:
        if list(numbers.shape) != shape:
            raise ValueError(f"its {what} have the shape {list(numbers.shape)} instead of {shape}")
        if not numbers.isfinite().all():
            raise ValueError(f"its {what} are not all finite numbers")
