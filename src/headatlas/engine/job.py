"""What is to be done, apart from who does it: a model, studies without sums, and the batches they shall see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass

from headatlas.encoding.batches import make_batch
from headatlas.encoding.kinds import KindTable
from headatlas.encoding.segments import Segment
from headatlas.engine.observer import Observer
from headatlas.models.model import Observable
from headatlas.models.stacks import Stack
from headatlas.studies import Study
from headatlas.studies.study import State


@dataclass(frozen=True)
class Work:
    """Which segments make which batch, and the numbers of the batches that nobody has seen yet."""

    segments: Sequence[Segment]
    plan: Sequence[Sequence[int]]
    left: Sequence[int]
    sizes: Sequence[int]  # tokens of every batch of the plan


@dataclass(frozen=True)
class Job:
    """All that a process needs to turn batches into sums; it can be sent to one."""

    model: Observable
    studies: Mapping[str, Study]  # without sums
    kinds: KindTable
    stack: Stack
    smoothing: float = 0.0
    seed: int = 0

    def observer(self, studies: Mapping[str, Study]) -> Observer:
        """Shows batches to these studies."""
        return Observer(self.model, studies, self.stack, self.smoothing, self.seed)

    def blank(self) -> dict[str, Study]:
        """The studies, started, with nothing seen."""
        studies = deepcopy(dict(self.studies))
        for study in studies.values():
            study.start(self.model.shapes[self.stack])
        return studies

    def sums(self, batches: Sequence[Sequence[Segment]]) -> dict[str, State]:
        """What the studies add up over some batches."""
        studies = self.blank()
        observer = self.observer(studies)
        for segments in batches:
            observer.see(make_batch(segments, self.kinds, self.model.pad_id).to(self.model.device))
        return {name: study.state() for name, study in studies.items()}
