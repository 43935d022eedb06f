"""How Sphinx builds the documentation: sphinx-build -W --keep-going -n docs docs/_build/html."""

import inspect
import os
import re
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import skbn

DOCS = Path(__file__).parent

os.environ.setdefault("MPLBACKEND", "Agg")
sys.path.insert(0, str(DOCS))  # gallery.py too
from dependencies_figure import draw_dependencies  # noqa: E402

draw_dependencies(DOCS / "_build" / "figures" / "dependencies.svg")


def reference(entry):
    """Return an item of a Markdown list from an entry in BibTeX, a field a line."""
    of = dict(re.findall(r"^  (\w+) = \{(.*?)\},?$", entry, re.MULTILINE))
    *others, last = re.sub("[{}]", "", of["author"]).split(" and ")
    authors = " & ".join([", ".join(others), last]) if others else last
    place = {"journal": "*{}*", "booktitle": "In *{}*", "edition": "{} edition", "note": "{}"}
    where = "".join(f" {text.format(of[name])}." for name, text in place.items() if name in of)
    return f"- {authors} ({of['year']}). {of['title']}.{where}"


entries = (DOCS / "theory/references.bib").read_text(encoding="utf-8").split("\n\n")
written = "\n".join(map(reference, entries)) + "\n"
(DOCS / "_build/references.txt").write_text(written, encoding="utf-8")

project = "skbn"
author = "the skbn developers"
project_copyright = author
release = version = skbn.__version__

extensions = [
    "matplotlib.sphinxext.plot_directive",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = [
    "_build",
    "benchpress",
    "paper",
    "auto_examples/**.ipynb",
    "auto_examples/**.py",
]
templates_path = ["_templates"]
default_role = "autolink"
nitpicky = True
smartquotes = False  # scikit-learn's links to parameters search for text as it is in docstrings
show_warning_types = True

# Markdown

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4


# The reference, from docstrings


def members_of(public):
    """Return the names of a class's own methods and properties, not those of scikit-learn."""
    members = {"methods": [], "properties": []}
    for name in sorted(dir(public)) if inspect.isclass(public) else []:
        definition = inspect.getattr_static(public, name)
        function = getattr(definition, "__func__", definition)
        module = getattr(function, "__module__", "")
        if name.startswith("_"):
            continue
        if isinstance(definition, property):
            members["properties"].append(name)
        elif inspect.isfunction(function) and (module[:4] == "skbn" or name == "set_callbacks"):
            members["methods"].append(name)
    return members


classes = [each for name in skbn.__all__ if inspect.isclass(each := getattr(skbn, name))]
parameters = {name for each in classes for name in inspect.signature(each).parameters}
nitpick_ignore_regex = [
    ("py:.*", r"(sklearn|networkx|numpy|pandas|pgmpy)\..*"),
    ("py:obj", "|".join(parameters)),  # attributes of classes that are dataclasses, without a page
]
autosummary_generate = True
autosummary_context = {
    "own_members": {
        name: members_of(getattr(module, name))
        for module in (skbn, skbn.exceptions)
        for name in module.__all__
    }
}
autodoc_typehints = "none"  # docstrings have them
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False  # the template lists them
numpydoc_class_members_toctree = False
numpydoc_validation_checks = {
    "all",
    "ES01",  # a summary may say all there is
    "EX01",  # methods are shown by their class's example
    "GL01",  # ruff decides where a docstring starts
    "GL02",
    "GL08",  # ruff requires docstrings; overriding methods inherit them
    "PR03",  # by topic; dataclasses that derive from others have the fields of these first
    "PR07",  # a parameter's name and type may say all there is: "X : array-like of shape (n, m)"
    "PR09",  # a phrase may do, without a full stop
    "RT02",  # results have names, as parameters have
    "RT03",  # the summary says what is returned
    "RT05",
    "SA01",  # not every object has a relative
}
numpydoc_validation_exclude = {r"\.set_callbacks$"}  # scikit-learn's

# Figures: of the theory, each a script, and of the guide, drawn by the code beside them

plot_formats = ["svg"]
plot_html_show_formats = False
plot_html_show_source_link = False
plot_include_source = False

# The gallery, from a copy of the examples: they write pictures beside themselves.

examples = DOCS / "_build" / "examples"
shutil.rmtree(examples, ignore_errors=True)
shutil.copytree(DOCS.parent / "examples", examples, ignore=shutil.ignore_patterns("__pycache__"))
sphinx_gallery_conf = {
    "examples_dirs": str(examples),
    "gallery_dirs": "auto_examples",
    "filename_pattern": "plot_",
    "copyfile_regex": r".*\.json",  # what an example reads, for download
    "capture_repr": ("_repr_html_",),
    "ignore_repr_types": r"skbn\..*Display|matplotlib\.",
    "abort_on_example_error": False,
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "reset_modules": ("matplotlib",),
    "within_subsection_order": "gallery.reading_order",
    "thumbnail_size": (640, 448),
    "doc_module": ("skbn",),
    "backreferences_dir": "_build/backreferences",
    "inspect_global_variables": False,
}

# Pages

# MathJax is one file among the pages, so that formulas are drawn without a network. It has all
# extensions and draws glyphs itself: browsers refuse to load its fonts from pages on a disk.
MATHJAX = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static/mathjax/tex-svg-full.js"
mathjax_path = MATHJAX.name
html_theme = "pydata_sphinx_theme"
html_title = "skbn"
html_static_path = ["_static", str(MATHJAX)]
html_css_files = ["skbn.css"]
html_copy_source = False
html_use_index = False  # the search finds names, and the reference lists them
html_show_sphinx = False
html_theme_options = {
    "logo": {"text": "skbn"},
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "show_prev_next": True,
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"benchmarks": [], "changelog": [], "contributing": [], "index": []}
