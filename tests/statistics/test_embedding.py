"""Plane pictures: exact where one exists, the same for the same seed, and honest about what they lose."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform
from sklearn.manifold import smacof

from headatlas.statistics.embedding import (
    MOST_STEPS,
    SMALLEST_GAIN,
    clouds,
    comparable,
    distances_of,
    embed,
    runs_for,
    scaled,
    stress,
)
from headatlas.statistics.kernels.scaling import guttman_step


def points(number, dimensions, seed=0):
    return np.random.default_rng(seed).normal(size=(number, dimensions))


def distances(number, dimensions, seed=0):
    return squareform(pdist(points(number, dimensions, seed)))


@settings(max_examples=15)
@given(number=st.integers(2, 12), seed=st.integers(0, 99))
def test_points_of_the_plane_are_found_again(number, seed):
    true = distances(number, 2, seed)
    found = embed(true, runs=1)
    np.testing.assert_allclose(squareform(pdist(found.points)), true, atol=1e-2 * true.max())
    assert found.stress < 0.005


def test_stress_against_a_loop():
    given_distances, drawn = distances(7, 4), points(7, 2, seed=1)
    wrong = total = 0.0
    for i in range(7):
        for j in range(i):
            length = math.dist(drawn[i], drawn[j])
            wrong += (length - given_distances[i, j]) ** 2
            total += length**2
    assert stress(drawn, given_distances) == pytest.approx(math.sqrt(wrong / total))


def test_the_kept_run_is_the_best():
    many = distances(30, 6)
    alone, among = embed(many, runs=1), embed(many, runs=6)
    assert among.stress <= alone.stress
    assert among.stress == pytest.approx(stress(among.points, many))
    assert math.isnan(alone.disparity)


def test_disparity_tells_stable_pictures_from_arbitrary_ones():
    flat = embed(distances(20, 2))
    equal = embed(np.ones((20, 20)) - np.eye(20))  # no picture is better than another
    assert flat.disparity < 0.05 < 0.2 < equal.disparity


@pytest.mark.parametrize("number", [2, 3, 20, 100, 600])
def test_points_equally_far_apart_have_a_picture(number):
    equal = np.ones((number, number)) - np.eye(number)
    found = embed(equal, runs=2)
    assert found.points.shape == (number, 2)
    assert np.isfinite(found.points).all()
    assert 0 <= found.stress < 1


@pytest.mark.parametrize(("pairs", "places"), [((4, 4), (4, 0)), ((4, 4), (3, 2)), ((4, 3), (4, 2))])
def test_a_step_refuses_points_that_do_not_fit_the_distances(pairs, places):
    with pytest.raises(ValueError, match="cannot have distances"):
        guttman_step(np.ones(pairs), np.ones(places))


def test_the_same_seed_the_same_points():
    many = distances(15, 4)
    assert embed(many, seed=3).points.tobytes() == embed(many, seed=3).points.tobytes()


def test_the_picture_stands_upright():
    turned = points(12, 2) @ np.array([[0.6, -0.8], [0.8, 0.6]]) + 5
    found = embed(squareform(pdist(turned)), runs=1).points
    np.testing.assert_allclose(found.mean(0), 0, atol=1e-9)
    assert found[:, 0].std() >= found[:, 1].std()
    assert found[:, 0] @ found[:, 1] == pytest.approx(0, abs=1e-8)
    assert (found.max(0) >= -found.min(0)).all()


def test_units_do_not_matter():
    many = distances(14, 3)
    np.testing.assert_allclose(embed(1e3 * many).points, 1e3 * embed(many).points, rtol=1e-6, atol=1e-3)


@pytest.mark.parametrize("number", [0, 1, 2, 5])
def test_no_distance_at_all(number):
    found = embed(np.zeros((number, number)))
    assert found.points.shape == (number, 2)
    assert not found.points.any()
    assert found.stress == 0


def test_two_points_have_a_distance_and_no_shape():
    found = embed(np.array([[0, 3.0], [3.0, 0]]))
    assert math.dist(*found.points) == pytest.approx(3, rel=1e-3)
    assert math.isnan(found.disparity)


def test_what_lacks_distances_is_left_out_and_no_more():
    given_distances = distances(6, 2)
    assert comparable(given_distances).all()
    given_distances[2, :] = given_distances[:, 2] = np.nan
    given_distances[4, 5] = given_distances[5, 4] = np.nan
    kept = comparable(given_distances)
    assert kept.tolist() in ([True, True, False, True, False, True], [True, True, False, True, True, False])
    assert not comparable(np.full((3, 3), np.nan)).any()


def test_clouds_are_spread_as_widely_as_the_points():
    """Points of unequal spread: the mean squared distance of many clouds is that of the points."""
    points = np.random.default_rng(3).normal(size=(30, 3)) * [5.0, 2.0, 0.5]
    distances = squareform(pdist(points))
    drawn = [distances_of(cloud) for cloud in clouds(distances, 300, seed=1)]
    assert np.mean([np.mean(cloud**2) for cloud in drawn]) == pytest.approx(np.mean(distances**2), rel=0.03)
    assert all(cloud.shape == (30, 30) and (np.diag(cloud) == 0).all() for cloud in drawn)
    np.testing.assert_array_equal(distances_of(next(clouds(distances, 1, seed=1))), drawn[0])


@pytest.mark.parametrize("number", [3, 40])
def test_a_run_is_that_of_scikit_learn(number):
    given_distances, start = distances(number, 5), points(number, 2, seed=1)
    expected, _ = smacof(given_distances, init=start, n_init=1, max_iter=MOST_STEPS, eps=SMALLEST_GAIN)
    np.testing.assert_allclose(scaled(given_distances, start), expected, rtol=1e-9, atol=1e-9)


def test_points_in_one_place_are_moved_as_by_scikit_learn():
    given_distances, start = distances(6, 3), points(6, 2, seed=1)
    start[4] = start[1]
    expected, _ = smacof(given_distances, init=start, n_init=1, max_iter=MOST_STEPS, eps=SMALLEST_GAIN)
    np.testing.assert_allclose(scaled(given_distances, start), expected, rtol=1e-9, atol=1e-9)


def test_a_step_against_a_loop():
    given_distances, drawn = distances(9, 3), points(9, 2, seed=1)
    moved, error, squares = guttman_step(given_distances, drawn)
    expected, wrong, total = np.zeros((9, 2)), 0.0, 0.0
    for i in range(9):
        for j in range(9):
            if i != j:
                length = math.dist(drawn[i], drawn[j])
                expected[i] += given_distances[i, j] / length * (drawn[i] - drawn[j]) / 9
                wrong += (length - given_distances[i, j]) ** 2
                total += length**2
    np.testing.assert_allclose(moved, expected, rtol=1e-12)
    assert (error, squares) == pytest.approx((wrong, total))


def test_fewer_runs_for_more_points_but_always_two():
    assert [runs_for(number) for number in (0, 144, 512, 724, 1024, 5120)] == [8, 8, 8, 4, 2, 2]


def test_the_classical_picture_of_many_points_is_that_of_all_eigenvectors():
    """Beyond some hundred points, eigenvectors are found by iteration."""
    true = points(520, 2) * [3.0, 1.0]
    found = embed(squareform(pdist(true)), runs=1)
    np.testing.assert_allclose(squareform(pdist(found.points)), squareform(pdist(true)), atol=1e-3)


def test_the_distances_of_a_cloud_are_those_of_its_points():
    given_distances = squareform(pdist(points(4, 3)))
    values = np.linalg.eigvalsh(-(centred := np.eye(4) - 1 / 4) @ given_distances**2 @ centred / 2)
    spread = np.sqrt(np.maximum(values, 0) / 3)
    drawn = np.random.default_rng(5).standard_normal((4, 4)) * spread
    cloud = next(clouds(given_distances, 1, seed=5))
    np.testing.assert_allclose(distances_of(cloud), squareform(pdist(drawn)), atol=1e-7)
