"""Networks, posteriors and tables for other programs.

``import skbn`` is enough to use ``skbn.io``. Networks have further formats as methods: `to_json`,
`to_dot`, `to_mermaid`, `to_modelstring` and `to_pgmpy`.
"""

from skbn._interchange.graph_files import to_dagitty, to_gml, to_graphml
from skbn._interchange.models import (
    legal_names,
    to_arviz,
    to_bnlearn,
    to_dowhy,
    to_lavaan,
    to_regressor,
)
from skbn._interchange.tables import to_latex, to_markdown

__all__ = [
    "legal_names",
    "to_arviz",
    "to_bnlearn",
    "to_dagitty",
    "to_dowhy",
    "to_gml",
    "to_graphml",
    "to_latex",
    "to_lavaan",
    "to_markdown",
    "to_regressor",
]
