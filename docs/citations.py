"""The paper, which is written for pandoc, as a page: its title, and citations from `paper.bib`."""

import re
from pathlib import Path


def entries(path):
    """Return the fields of each entry of a BibTeX file that has one field a line."""
    found = re.findall(r"^@\w+\{(\w+),\n(.*?)^\}", path.read_text(encoding="utf-8"), re.M | re.S)
    fields = {key: dict(re.findall(r"^  (\w+) = \{(.*)\},?$", body, re.M)) for key, body in found}
    return {k: {f: re.sub(r"[{}]", "", v) for f, v in each.items()} for k, each in fields.items()}


def cited_authors(entry):
    """Return the authors' names as a citation has them."""
    first, *others = (name.split(",")[0] for name in entry["author"].split(" and "))
    if len(others) == 1 and others[0] != "others":
        return f"{first} & {others[0]}"
    return f"{first} et al." if others else first


def reference(entry):
    """Return the line of an entry in the list of references."""
    authors = ", ".join(entry["author"].replace(",", "").split(" and ")).replace(
        ", others", " et al."
    )
    where = entry.get("journal") or entry.get("booktitle", "arXiv:" + entry.get("eprint", ""))
    numbers = ", ".join(entry[f] for f in ("volume", "pages") if f in entry).replace("--", "-")
    link = f"https://doi.org/{entry['doi']}" if "doi" in entry else entry.get("url")
    link = f" <{link}>" if link else ""
    return (
        f"- {authors} ({entry['year']}). {entry['title']}. *{where}* {numbers}".rstrip()
        + f".{link}"
    )


def read_paper(app, docname, source):
    """Turn the paper's source into a page's; other pages stay as they are."""
    if docname != "paper/paper":
        return
    bibliography = entries(Path(app.srcdir) / "paper" / "paper.bib")
    _, front, text = source[0].split("---\n", 2)
    title = re.search(r'^title: "(.*)"$', front, re.MULTILINE)[1]

    def cite(match):
        keys = re.findall(r"@(\w+)", match[0])
        each = [f"{cited_authors(bibliography[k])}, {bibliography[k]['year']}" for k in keys]
        return f"({'; '.join(each)})"

    def name(match):
        entry = bibliography[match[1]]
        return f"{cited_authors(entry)} ({entry['year']})"

    text = re.sub(r"\[@\w+(; @\w+)*\]", cite, text)
    text = re.sub(r"(?<!\w)@(\w+)", name, text)
    text = re.sub(r"^# ", "## ", text, flags=re.MULTILINE)
    references = "\n".join(sorted(map(reference, bibliography.values())))
    source[0] = f"# {title}\n{text}\n{references}\n"
