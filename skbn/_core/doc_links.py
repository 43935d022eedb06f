"""Where the documentation of an estimator is, for the links in its HTML."""

from __future__ import annotations

__all__ = ["DocLinkMixin"]


class DocLinkMixin:
    """Links from an estimator's HTML to its page, and from its parameters to their lines.

    Comes first among an estimator's bases. A class derived elsewhere has no page here, and
    gets no links.

    Examples
    --------
    >>> from skbn import BIC
    >>> BIC()._get_doc_link()
    'https://skbn.readthedocs.io/en/latest/api/skbn.BIC.html'
    """

    _doc_link_module = "skbn"
    _doc_link_template = "https://skbn.readthedocs.io/en/latest/api/skbn.{name}.html"

    def _doc_link_url_param_generator(self) -> dict[str, str]:
        return {"name": type(self).__name__}
