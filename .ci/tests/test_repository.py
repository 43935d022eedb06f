"""What files of the repository say of each other: workflows, pages, license and versions."""

import importlib
import re
import tomllib
from pathlib import Path

import pytest

import skbn

ROOT = Path(__file__).parents[2]
GITHUB = ROOT / ".github"


def test_reference_has_all_public_names():
    listed = re.findall(
        r"^   ([A-Za-z_.]+)$",
        (ROOT / "docs" / "api" / "index.md").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    modules = "compile", "datasets", "exceptions", "io", "paper"
    public = [name for name in skbn.__all__ if name not in modules]
    for name in modules:
        public += [f"{name}.{each}" for each in importlib.import_module(f"skbn.{name}").__all__]
    assert sorted(listed) == sorted(public)


def test_the_workflow_runs_the_test_command_of_the_readme():
    workflow = (GITHUB / "workflows" / "test.yml").read_text(encoding="utf-8")
    (pattern,) = re.findall(r"grep '(.*)' README\.md", workflow)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (_, test_command) = re.search(r"^```sh\n(.*?)^```$", readme, re.DOTALL | re.M)[1].splitlines()
    assert [line for line in readme.splitlines() if re.search(pattern, line)] == [test_command]


def test_what_a_tag_publishes_has_its_version():
    workflow = (GITHUB / "workflows" / "publish.yml").read_text(encoding="utf-8")
    checks = re.findall(r'grep -qxF "(.*)" (\S+)$', workflow, re.MULTILINE)
    assert [path for _, path in checks] == ["skbn/__init__.py", "CITATION.cff"]
    for line, path in checks:
        line = line.replace("\\", "").replace("${GITHUB_REF_NAME#v}", skbn.__version__)
        assert line in (ROOT / path).read_text(encoding="utf-8").splitlines()
    (called,) = re.findall(r"uses: \./(\S+)", workflow)
    assert "workflow_call:" in (ROOT / called).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_links_of_pages_for_github_lead_somewhere(name):
    page = (GITHUB / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\((?!https:)([^)#]+)\)", page):
        assert (GITHUB / target).exists(), target


def test_the_license_has_the_notice_of_borrowed_code():
    path = Path(skbn.__file__).with_name("_core") / "vectors.py"
    source = path.read_text(encoding="utf-8")
    notice = re.search(
        r"^# Copyright \(C\) .*?is preserved\.$",
        source,
        re.DOTALL | re.MULTILINE,
    )
    words = notice.group().replace("#", "").split()
    assert " ".join(words) in " ".join((ROOT / "LICENSE").read_text(encoding="utf-8").split())


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "line"),
    [
        (".zenodo.json", '  "version": "{}",'),
        (".github/conda/recipe.yaml", '  version: "{}"'),
        ("docs/guide/cite.md", "  version = {{{}}},"),
    ],
)
def test_files_that_have_the_version(name, line):
    assert line.format(skbn.__version__) in read(name).splitlines()


def test_the_conda_recipe_needs_what_the_wheel_needs():
    project = tomllib.loads(read("pyproject.toml"))["project"]
    run = re.search(r"^  run:\n((?:    - .*\n)+)", read(".github/conda/recipe.yaml"), re.M)[1]
    python, *needs = [line.removeprefix("    - ") for line in run.splitlines()]
    assert [need.replace(" ", "") for need in needs] == project["dependencies"]
    minimum = re.search(r'python_min: "(.*)"', read(".github/conda/recipe.yaml"))[1]
    assert python == "python >=${{ python_min }}"
    assert project["requires-python"] == f">={minimum}"


def test_the_paper_cites_what_is_in_its_bibliography():
    keys = re.findall(r"^@\w+\{(\w+),$", read("docs/paper/paper.bib"), re.MULTILINE)
    cited = re.findall(r"@(\w+)", read("docs/paper/paper.md"))
    assert sorted(keys) == sorted(set(cited))
