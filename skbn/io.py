"""Networks and posteriors for other programs.

``import skbn`` is enough to use ``skbn.io``. Networks have further formats as methods: `to_json`,
`to_dot`, `to_mermaid`, `to_modelstring` and `to_pgmpy`.
"""

from skbn._interchange.arviz import to_arviz
from skbn._interchange.bnlearn import to_bnlearn
from skbn._interchange.dagitty import to_dagitty
from skbn._interchange.dowhy import to_dowhy
from skbn._interchange.exported import legal_names
from skbn._interchange.graph_files import to_gml, to_graphml
from skbn._interchange.lavaan import to_lavaan
from skbn._interchange.regressor import to_regressor

__all__ = [
    "legal_names",
    "to_arviz",
    "to_bnlearn",
    "to_dagitty",
    "to_dowhy",
    "to_gml",
    "to_graphml",
    "to_lavaan",
    "to_regressor",
]
