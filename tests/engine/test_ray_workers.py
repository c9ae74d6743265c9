"""A Ray cluster of several nodes on one machine: equal tables, also when a node is lost in the middle."""

from __future__ import annotations

import os
import signal
import time

import pytest
import ray
from ray.cluster_utils import Cluster

import headatlas as ha
from headatlas.engine.workers import Workers
from headatlas.errors import ModelError
from lives import equal, live, live_on
from whole_runs import run, same

IN_FLOAT32 = 1e-5  # Ray's store places weights elsewhere in memory, where matrix products may round differently


@pytest.fixture(scope="module")
def cluster():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_worker_niceness", "0")  # by default workers wait for all else that runs here
        # A dead node refuses five questions, so it is noticed soon; one that is merely slow has ten seconds for each.
        soon = {"health_check_period_ms": 500}
        head = {"num_cpus": 1, "include_dashboard": False, "_system_config": soon}
        made = Cluster(initialize_head=True, head_node_args=head)
        made.nodes = [made.add_node(num_cpus=1)]
    ray.init(address=made.address, log_to_driver=False)
    yield made
    ray.shutdown()
    made.shutdown()


def test_actors_on_two_nodes_give_the_tables_of_one_process(cluster, bert, segments):
    same(run(bert, segments, workers=Workers(2, cluster.address, threads=1)), run(bert, segments), rtol=IN_FLOAT32)


def test_a_node_lost_in_the_middle_changes_nothing(cluster, bert, segments, monkeypatch):
    from headatlas.engine.ray_workers import RayPool

    receive, replies = RayPool.receive, []

    def losing(self):
        if len(replies) == 1:
            cluster.remove_node(cluster.nodes.pop(), allow_graceful=False)
            cluster.nodes.append(cluster.add_node(num_cpus=1))
        replies.append(receive(self))
        return replies[-1]

    monkeypatch.setattr(RayPool, "receive", losing)
    same(run(bert, segments, workers=Workers(2, cluster.address, threads=1)), run(bert, segments), rtol=IN_FLOAT32)
    assert any(reply.result is None for reply in replies)


def test_a_driver_killed_in_the_middle_resumes_from_its_state(cluster, tiny_folder, tmp_path):
    model, text, out = str(tiny_folder("bert")), ha.sample_text(), tmp_path / "atlas"
    workers = {"workers": 2, "ray": cluster.address}
    driver = live(model, text, out, **workers)
    while driver.is_alive() and not (out / "state" / "text.safetensors").exists():
        time.sleep(0.02)
    os.kill(driver.pid, signal.SIGKILL)
    driver.join()
    assert driver.exitcode == -signal.SIGKILL
    equal(live_on(model, text, out, **workers), live_on(model, text, tmp_path / "undisturbed"))


@pytest.mark.parametrize(("gpus", "use_gpus", "each"), [(2, True, 1), (1, True, 0), (4, False, 0)])
def test_each_worker_gets_a_gpu_if_there_are_enough(cluster, monkeypatch, gpus, use_gpus, each):
    from headatlas.engine.ray_workers import RayPool

    monkeypatch.setattr(ray, "cluster_resources", lambda: {"GPU": float(gpus)})
    assert RayPool(None, 2, cluster.address, use_gpus=use_gpus)._gpus == each


def test_a_worker_that_fits_nowhere_is_refused(cluster, bert, segments, monkeypatch):
    monkeypatch.setattr("headatlas.engine.ray_workers.SECONDS_FOR_A_PLACE", 0.5)
    with pytest.raises(ModelError, match=r"No machine of the Ray cluster has 64 CPUs"):
        run(bert, segments, workers=Workers(1, cluster.address, threads=64))
