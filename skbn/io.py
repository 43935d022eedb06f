"""Networks, posteriors and tables for other programs.

``import skbn`` is enough to use ``skbn.io``. Networks write and read JSON by
their methods `to_json` and `from_json`.
"""

from skbn._interchange.bnlearn import to_bnlearn
from skbn._interchange.causal_learn import from_causal_learn, to_causal_learn
from skbn._interchange.graph_files import to_dagitty, to_gml, to_graphml
from skbn._interchange.model_strings import from_modelstring, to_modelstring
from skbn._interchange.models import legal_names, to_arviz, to_dowhy, to_lavaan, to_regressor
from skbn._interchange.pgmpy_models import from_pgmpy, to_pgmpy
from skbn._interchange.tables import to_latex, to_markdown
from skbn._interchange.texts import to_dot, to_mermaid
from skbn._interchange.weighted_graphs import to_weighted_graphs, to_weighted_json

__all__ = [
    "from_causal_learn",
    "from_modelstring",
    "from_pgmpy",
    "legal_names",
    "to_arviz",
    "to_bnlearn",
    "to_causal_learn",
    "to_dagitty",
    "to_dot",
    "to_dowhy",
    "to_gml",
    "to_graphml",
    "to_latex",
    "to_lavaan",
    "to_markdown",
    "to_mermaid",
    "to_modelstring",
    "to_pgmpy",
    "to_regressor",
    "to_weighted_graphs",
    "to_weighted_json",
]
