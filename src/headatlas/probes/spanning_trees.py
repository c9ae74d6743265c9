"""The dependency tree with the highest score: Chu and Liu's and Edmonds' maximum spanning arborescence.

One word, and one only, hangs on ROOT: its candidates' scores are lowered by more than all others together can make up.
"""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from headatlas.corpora.treebanks.sentence import ROOT


def best_tree(scores: NDArray[np.floating]) -> NDArray[np.int64]:
    """Each word's head, or ROOT, in the tree of the highest sum. scores: [W, W + 1], dependent, candidate, ROOT last.

    A word's score for itself is not looked at; the others must be finite.
    """
    words = len(scores)
    table = np.full((words + 1, words + 1), -np.inf)
    table[:words] = scores
    np.fill_diagonal(table, -np.inf)
    spread = np.ptp(np.where(np.isfinite(table[:words]), table[:words], 0.0)) + 1.0
    table[:words, words] -= 2 * spread * (words + 1)
    heads: NDArray[np.int64] = _arborescence(table)
    return np.where(heads == words, ROOT, heads)


@njit(cache=True)  # type: ignore[untyped-decorator]
def _arborescence(table: NDArray[np.float64]) -> NDArray[np.int64]:
    """The best head of every node but the last, which is the root. table: [dependent, head].

    While the best heads of all nodes have a cycle, it becomes one node, named by its first member; the edges into it
    count as what they gain over the edge they replace. At the end every cycle is opened where its edge comes in.
    """
    count = table.shape[0]
    root = count - 1
    scores = table.copy()
    from_node = np.empty((count, count), np.int64)  # the true ends of the edge between two nodes
    to_node = np.empty((count, count), np.int64)
    for node in range(count):
        from_node[:, node] = node
        to_node[node, :] = node
    alive = np.ones(count, np.bool_)
    part_of = np.arange(count)
    best = np.full(count, -1, np.int64)
    members = np.zeros((count, count), np.bool_)  # of each cycle, in the order they are found
    cycle_node = np.empty(count, np.int64)
    edge_from = np.empty((count, count), np.int64)
    edge_to = np.empty((count, count), np.int64)
    part_then = np.empty((count, count), np.int64)
    cycles = 0
    while True:
        for node in range(root):
            if alive[node]:
                best[node] = _best_head(scores, alive, node)
        start = _on_a_cycle(best, alive, root)
        if start < 0:
            break
        node = start
        while not members[cycles, node]:
            members[cycles, node] = True
            edge_from[cycles, node], edge_to[cycles, node] = from_node[node, best[node]], to_node[node, best[node]]
            node = best[node]
        inside = members[cycles]
        cycle_node[cycles] = start
        part_then[cycles] = part_of
        for other in range(count):
            if not alive[other] or inside[other]:
                continue
            entry = exit_ = -1
            gain = leave = -np.inf
            for node in range(root):
                if not inside[node]:
                    continue
                here = scores[node, other] - scores[node, best[node]]
                if entry < 0 or here > gain:
                    entry, gain = node, here
                if exit_ < 0 or scores[other, node] > leave:
                    exit_, leave = node, scores[other, node]
            into = (from_node[entry, other], to_node[entry, other])
            out = (from_node[other, exit_], to_node[other, exit_])
            scores[start, other], from_node[start, other], to_node[start, other] = gain, into[0], into[1]
            scores[other, start], from_node[other, start], to_node[other, start] = leave, out[0], out[1]
        for node in range(root):
            if inside[node] and node != start:
                alive[node] = False
        for node in range(root):
            if inside[part_of[node]]:
                part_of[node] = start
        cycles += 1
    heads = np.full(root, -1, np.int64)
    entered = np.full(count, -1, np.int64)  # the true dependent by which each node is entered
    for node in range(root):
        if alive[node]:
            entered[node] = to_node[node, best[node]]
            heads[entered[node]] = from_node[node, best[node]]
    for cycle in range(cycles - 1, -1, -1):
        dependent = entered[cycle_node[cycle]]
        opened = part_then[cycle, dependent]
        for node in range(root):
            if members[cycle, node] and node != opened:
                entered[node] = edge_to[cycle, node]
                heads[edge_to[cycle, node]] = edge_from[cycle, node]
        entered[opened] = dependent
    return heads


@njit(cache=True)  # type: ignore[untyped-decorator]
def _best_head(scores: NDArray[np.float64], alive: NDArray[np.bool_], node: int) -> int:
    found = -1
    for other in range(len(alive)):
        if alive[other] and other != node and (found < 0 or scores[node, other] > scores[node, found]):
            found = other
    return found


@njit(cache=True)  # type: ignore[untyped-decorator]
def _on_a_cycle(best: NDArray[np.int64], alive: NDArray[np.bool_], root: int) -> int:
    """The first node found that comes back to itself over best heads, or -1."""
    seen = np.full(root + 1, -1, np.int64)
    for start in range(root):
        node = start
        while alive[start] and node != root and seen[node] < 0:
            seen[node] = start
            node = best[node]
        if alive[start] and node != root and seen[node] == start:
            return int(node)
    return -1
