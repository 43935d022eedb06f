"""Check the links of the built pages, offline: python docs/check_links.py [docs/_build/html].

Fails if

- a link within the pages leads to no page or no anchor;
- the README links to no file;
- a page loads a script, a style or a picture from another site;
- a public name has no page where `skbn._displays.notebook` says it has, or a link that scikit-learn
  makes to a parameter finds no text;
- a word that readers search for finds no page, or not the one that answers it.

Lists the addresses of other sites, which are not asked for, and fails if one is no address.
"""

import inspect
import json
import re
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import networkx
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr
from sphinx.search.en import SearchEnglish

import skbn

ROOT = Path(__file__).parents[1]

# What readers type into the search box, and a page that it must find.
SEARCHES = {
    "batch effects": "guide/environments",
    "invariance": "guide/environments",
    "LiNGAM": "guide/non-gaussian",
    "non-Gaussian": "guide/non-gaussian",
    "adjustment sets": "guide/networks",
    "anomaly": "guide/networks",
    "arc strength": "guide/comparison",
    "arviz": "guide/after-learning",
    "attrition": "guide/time",
    "blacklist": "guide/comparison",
    "boot.strength": "guide/comparison",
    "batches": "guide/genes",
    "bootstrap": "guide/how-sure",
    "boss": "guide/comparison",
    "calibration": "theory/posterior",
    "cite": "guide/cite",
    "clpm": "guide/time",
    "cluster": "guide/larger-than-this-machine",
    "columns lags": "guide/time",
    "confidence": "guide/comparison",
    "counterfactuals": "guide/comparison",
    "cross-lagged": "guide/time",
    "cytoscape": "guide/after-learning",
    "dagitty": "guide/after-learning",
    "dask": "guide/larger-than-this-machine",
    "dowhy": "guide/after-learning",
    "edge probability": "guide/how-sure",
    "false discovery rate": "guide/how-sure",
    "FDR": "guide/how-sure",
    "federated": "guide/covariances",
    "fewer samples": "guide/genes",
    "fges": "guide/comparison",
    "forecast": "guide/time",
    "gene expression": "guide/genes",
    "genes cytoscape": "guide/genes",
    "gephi": "guide/after-learning",
    "granger causality": "guide/index",
    "graphml": "guide/after-learning",
    "instrument": "guide/networks",
    "instrumental variables": "guide/networks",
    "latent variables": "guide/limits",
    "lavaan": "guide/after-learning",
    "likert": "guide/categories",
    "missing values": "guide/missing",
    "near-optimal": "guide/how-sure",
    "ordinal": "guide/categories",
    "outliers": "guide/index",
    "panel": "guide/time",
    "production": "guide/in-production",
    "semopy": "guide/after-learning",
    "slurm": "guide/larger-than-this-machine",
    "small multiples": "guide/pictures",
    "subsampling": "guide/how-sure",
    "survey weights": "guide/index",
    "tetrad": "guide/comparison",
    "transcription factors": "guide/genes",
    "wave": "guide/time",
    "whitelist": "guide/comparison",
    "unknown interventions": "guide/environments",
    "windows": "guide/install",
}


class Page(HTMLParser):
    """The anchors, the links, what is loaded with it, and the text of a page.

    Parameters
    ----------
    path : Path
        Of the HTML file.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = {"", "top"}
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Keep an element's anchors, and where it links to."""
        for name, value in attributes:
            if value is not None and (name == "id" or (tag, name) == ("a", "name")):
                self.anchors.add(value)
            elif value and name in ("href", "src"):
                self.links.append(value)
                if name == "src" or (tag == "link" and ("rel", "stylesheet") in attributes):
                    self.loaded.append(value)

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.text += data


def broken_links(pages: dict[Path, Page]) -> list[str]:
    """Return the links within the pages that lead nowhere, with their page."""
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            anchor = unquote(parts.fragment)
            if not target.is_file() or (target in pages and anchor not in pages[target].anchors):
                broken.append(f"{path.parent.name}/{path.name}: {link}")
    return broken


def other_sites(pages: dict[Path, Page]) -> dict[str, bool]:
    """Return the links to other sites, and whether each is an address."""
    links = {link for page in pages.values() for link in page.links}
    others = sorted(link for link in links if urlsplit(link).scheme or urlsplit(link).netloc)
    fine = re.compile(r"https?://[\w-]+(\.[\w-]+)+(/\S*)?|data:\S+|mailto:\S+@\S+")
    return {link: fine.fullmatch(link) is not None for link in others}


def loaded_from_other_sites(pages: dict[Path, Page]) -> list[str]:
    """Return the files of other sites that pages cannot be shown without."""
    loaded = {link for page in pages.values() for link in page.loaded}
    return [f"loaded from another site: {link}" for link in sorted(loaded) if urlsplit(link).netloc]


def not_found_by_search(folder: Path) -> list[str]:
    """Return the searches of `SEARCHES` that do not find their page.

    A page is found if its text or titles have all words of a search, as the search of the
    pages looks for them: in lower case and without their endings.
    """
    script = (folder / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(script.removeprefix("Search.setIndex(").removesuffix(")"))
    stem, missed = SearchEnglish({}).stem, []
    for query, expected in SEARCHES.items():
        found = set(range(len(index["docnames"])))
        for word in re.findall(r"\w+", query.lower()):
            hits = [index[where].get(stem(word), []) for where in ("terms", "titleterms")]
            found &= {page for hit in hits for page in ([hit] if isinstance(hit, int) else hit)}
        if expected not in {index["docnames"][page] for page in found}:
            missed.append(f"searching for {query!r} does not find {expected}")
    return missed


def broken_in_readme() -> list[str]:
    """Return the README's links to files that do not exist."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)\s]+)\)|src=\"([^\"]+)\"", text)
    paths = [(a or b).partition("#")[0] for a, b in links if not urlsplit(a or b).scheme]
    return [f"README.md: {path}" for path in paths if path and not (ROOT / path).exists()]


def missing_in_reference(folder: Path, pages: dict[Path, Page]) -> list[str]:
    """Return the names without a page, and the parameters that links to them do not find."""
    missing = []
    for name in sorted({*skbn.__all__} - {"datasets", "exceptions", "io"}):
        public = getattr(skbn, name)
        page = pages.get(folder / "api" / f"skbn.{name}.html")
        if page is None:
            missing.append(f"{name}: no page api/skbn.{name}.html")
        elif is_estimator(public):
            text = "".join(page.text.split())
            linked = texts_linked_to(public)
            if len(linked) < len(inspect.signature(public).parameters):
                missing.append(f"{name}: a parameter has no link")
            missing += [f"{name}: no text for the link to {t}" for t in linked if t not in text]
    return missing


def is_estimator(public: object) -> bool:
    """Whether this is a class of estimators that can be made."""
    is_class = isinstance(public, type) and issubclass(public, BaseEstimator)
    return is_class and not inspect.isabstract(public)


def texts_linked_to(estimator: type) -> list[str]:
    """Return the texts on its page to which an estimator's HTML links its parameters, unspaced."""
    arguments: list[object] = []
    if issubclass(estimator, skbn.GaussianBayesianNetwork):
        arguments = [networkx.DiGraph([("a", "b")])]
    links = re.findall(r"#:~:text=([^\"]*)\"", estimator_html_repr(estimator(*arguments)))
    return ["".join(unquote(unescape(t)).replace(",-", "", 1).split()) for t in links]


def main() -> None:
    """Check the built pages, and exit with 1 if something is wrong."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "docs" / "_build" / "html").resolve()
    pages = {
        path: Page(path)
        for path in sorted(folder.rglob("*.html"))
        if "_static" not in path.parts  # the theme's own
    }
    addresses = other_sites(pages)
    wrong = broken_links(pages) + broken_in_readme() + missing_in_reference(folder, pages)
    wrong += loaded_from_other_sites(pages) + not_found_by_search(folder)
    wrong += [f"no address: {link}" for link, is_fine in addresses.items() if not is_fine]
    for link in addresses:
        print(link[:100])
    n_links = sum(len(page.links) for page in pages.values())
    print(
        f"{len(pages)} pages, {n_links} links, {len(addresses)} of other sites; {len(wrong)} wrong"
    )
    if wrong or not pages:
        sys.exit("\n".join(wrong) or f"no pages in {folder}")


if __name__ == "__main__":
    main()
